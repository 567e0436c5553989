//! Every combination of what a task does, what becomes of its handle, and when: each future and
//! each output is dropped once, the memory is given back, and the result is the one that it must
//! be.

use crate::{
    prelude::*,
    support::{Wakes, poll_with},
};

#[derive(Clone, Copy, Debug)]
enum Handle {
    Joined,
    Dropped,
    Detached,
    NeverMade,
    AbortedAndJoined,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    BeforeTheRun,
    AfterAPendingRun,
    AfterTheEnd,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    ReadyAtOnce,
    PendingOnce,
    PanicsInPoll,
    PanicsInDrop,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Output {
    Fine,
    Panics,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Output,
    Panic,
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    handle: Handle,
    when: When,
    does: Does,
    output: Output,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    polls: Count,
    futures: Count,
    outputs_made: Count,
    outputs: Count,
}

struct Task {
    case: Case,
    pending: usize,
    counts: Counts,
}

impl Future for Task {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Value> {
        self.counts.polls.add();
        if self.pending > 0 {
            self.pending -= 1;
            return Poll::Pending;
        }
        if self.case.does == Does::PanicsInPoll {
            panic!("in poll");
        }
        self.counts.outputs_made.add();
        Poll::Ready(Value {
            panics: self.case.output == Output::Panics,
            dropped: self.counts.outputs.clone(),
        })
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.counts.futures.add();
        if self.case.does == Does::PanicsInDrop {
            panic!("in the future's drop");
        }
    }
}

#[derive(Debug)]
struct Value {
    panics: bool,
    dropped: Count,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.dropped.add();
        if self.panics {
            panic!("in the output's drop");
        }
    }
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        use Does::*;
        use Handle::*;
        use When::*;
        let mut cases = Vec::new();
        for handle in [
            Joined,
            Dropped,
            Detached,
            NeverMade,
            AbortedAndJoined,
            Cancelled,
        ] {
            for when in [BeforeTheRun, AfterAPendingRun, AfterTheEnd] {
                for does in [ReadyAtOnce, PendingOnce, PanicsInPoll, PanicsInDrop] {
                    for output in [Output::Fine, Output::Panics] {
                        cases.push(Self {
                            handle,
                            when,
                            does,
                            output,
                        });
                    }
                }
            }
        }
        // A future and its output that both panic in their drops end the program, as any panic
        // while panicking does.
        cases.retain(|case| case.does != PanicsInDrop || case.output == Output::Fine);
        cases.into_iter()
    }

    fn pending_polls(self) -> usize {
        let own = usize::from(self.does == Does::PendingOnce);
        let idle = usize::from(self.when == When::AfterAPendingRun);
        own + idle
    }

    fn is_cancelled(self) -> bool {
        let keeps = matches!(
            self.handle,
            Handle::Joined | Handle::Detached | Handle::NeverMade
        );
        !keeps && self.when != When::AfterTheEnd
    }

    fn polls(self) -> usize {
        match self.when {
            _ if !self.is_cancelled() => self.pending_polls() + 1,
            When::BeforeTheRun => 0,
            _ => 1,
        }
    }

    fn end(self) -> End {
        match self.does {
            Does::PanicsInDrop => End::Panic,
            _ if self.is_cancelled() => End::Cancelled,
            Does::PanicsInPoll => End::Panic,
            Does::ReadyAtOnce | Does::PendingOnce => End::Output,
        }
    }

    fn check(self) {
        let (queue, counts) = (Queue::new(), Counts::default());
        let future = Task {
            case: self,
            pending: self.pending_polls(),
            counts: counts.clone(),
        };
        let (runnable, handle) = match self.handle {
            Handle::NeverMade => (task::spawn_detached(future, queue.scheduler()), None),
            _ => {
                let (runnable, handle) = queue.spawn(future);
                (runnable, Some(handle))
            }
        };
        let waker = runnable.waker();
        queue.push(runnable);
        let run = |times| {
            for _ in 0..times {
                queue.run();
                waker.wake_by_ref();
            }
            queue.run();
        };
        match self.when {
            When::BeforeTheRun => {}
            When::AfterAPendingRun => {
                queue.run();
            }
            When::AfterTheEnd => run(3),
        }
        let end = match handle {
            Some(handle) => quietly(|| self.part_with(handle, || run(3))),
            None => {
                run(3);
                None
            }
        };
        drop(waker);
        assert_eq!(counts.polls.get(), self.polls(), "polls");
        assert_eq!(counts.futures.get(), 1, "futures dropped");
        assert_eq!(
            counts.outputs.get(),
            counts.outputs_made.get(),
            "outputs dropped"
        );
        if let Some(Some(end)) = end {
            assert_eq!(end, self.end());
        }
        assert_eq!((queue.len(), queue.tasks()), (0, 0));
    }

    /// Does with the handle what the case says, and has the task run to its end.
    fn part_with(self, handle: JoinHandle<Value>, run: impl Fn()) -> Option<End> {
        match self.handle {
            Handle::Joined => Some(end_of(handle.result(), of_result, run)),
            Handle::AbortedAndJoined => {
                handle.abort();
                Some(end_of(handle.result(), of_result, run))
            }
            // The panic of an output that it drops is discarded.
            Handle::Dropped => {
                drop(handle);
                run();
                None
            }
            Handle::NeverMade => unreachable!("it has a handle"),
            Handle::Detached => {
                handle.detach();
                run();
                None
            }
            Handle::Cancelled => Some(end_of(handle.cancel(), of_option, run)),
        }
    }
}

fn of_option(output: Option<Value>) -> End {
    output.map_or(End::Cancelled, |value| {
        quietly(|| drop(value));
        End::Output
    })
}

fn of_result(result: Result<Value, JoinError>) -> End {
    match result {
        Ok(value) => of_option(Some(value)),
        Err(JoinError::Panicked(_)) => End::Panic,
        Err(JoinError::Cancelled(_)) => End::Cancelled,
    }
}

/// Awaits a task while it runs.
fn end_of<F>(mut future: F, end: fn(F::Output) -> End, run: impl Fn()) -> End
where
    F: Future + Unpin,
{
    let wakes = Wakes::new();
    let mut poll = || match quietly(|| poll_with(&mut future, &wakes.waker())) {
        Some(polled) => polled.map(end),
        None => Poll::Ready(End::Panic),
    };
    let mut polled = poll();
    if polled.is_pending() {
        run();
        assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
        polled = poll();
    }
    match polled {
        Poll::Ready(end) => end,
        Poll::Pending => panic!("woken for nothing"),
    }
}

/// `None` when `f` panicked with one of this test's own panics.
fn quietly<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f))
        .map_err(|payload| {
            let text = payload.downcast_ref::<&str>().copied();
            if !text.is_some_and(|text| text.starts_with("in ")) {
                std::panic::resume_unwind(payload);
            }
        })
        .ok()
}

#[test]
fn each_combination_ends_as_it_must() {
    for case in Case::all() {
        if let Err(payload) = catch_unwind(|| case.check()) {
            eprintln!("{case:?}");
            std::panic::resume_unwind(payload);
        }
    }
}
