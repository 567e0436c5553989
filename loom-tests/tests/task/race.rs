//! A race as a row of a table: what each thread does with its part of the task.

use std::ops::RangeInclusive;

use Act::{Abort, Cancel, DropHandle, DropRunnable, DropWaker, Poll as PollHandle, Tell, Wake};
use joint::task::{AbortHandle, JoinError};
use joint_switch::model::set_wake_limit;

use super::{
    register::Register,
    world::{By, Flag, Kept, Schedule, World, explore, explore_bounded, join_all, waker_of},
};
use crate::prelude::*;

/// The limit of wake-ups in a race [at the limit](Race::at_limit).
pub(crate) const WAKE_LIMIT: u8 = 4;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ends {
    AtOnce,
    /// In its second poll.
    Later,
    Never,
    /// Never, and wakes itself in its first poll.
    NeverAfterAYield,
    /// In the poll that sees what each [`Act::Tell`] has told. It wakes itself in so many polls
    /// before it looks.
    Told {
        yields: usize,
    },
}

/// Ends once it is told everything.
pub(crate) const TOLD: Ends = Ends::Told { yields: 0 };
/// The same, and wakes itself in its first poll.
pub(crate) const TOLD_AFTER_A_YIELD: Ends = Ends::Told { yields: 1 };

impl Ends {
    /// Returns whether the future is ready in the poll of this number, from 0 on.
    fn is_ready(self, polls: usize, told: &[Flag], cx: &Context<'_>) -> bool {
        match self {
            Self::AtOnce => true,
            Self::Later => polls > 0,
            Self::Never => false,
            Self::NeverAfterAYield => {
                if polls == 0 {
                    cx.waker().wake_by_ref();
                }
                false
            }
            Self::Told { yields } if polls < yields => {
                cx.waker().wake_by_ref();
                false
            }
            Self::Told { .. } => told.iter().all(Flag::is_up),
        }
    }
}

/// What is done with a part of the task.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Act {
    Run,
    DropRunnable,
    DropHandle,
    Detach,
    /// The output is there, and is taken.
    Join,
    /// Looks whether the task has ended, and takes its output or drops the handle.
    Look,
    /// Polls the handle with the wakers of these numbers, and keeps it.
    Poll(&'static [usize]),
    DropWaker,
    Wake(By),
    /// Writes something that the task's last poll must see, and then wakes so often.
    Tell(usize, By),
    /// Writes something that the drop of the future must see, and then aborts.
    Abort,
    /// Cancels by the task's address.
    Cancel,
}

/// What the drop of a future sees.
struct Watching(Flag, Flag);

impl Drop for Watching {
    fn drop(&mut self) {
        if self.0.is_up() {
            self.1.raise();
        }
    }
}

type Handle = Rc<RefCell<Option<Kept<JoinResult<Value>>>>>;

struct Parts {
    runnable: Option<Kept<Runnable>>,
    handle: Handle,
    wakers: Vec<Kept<Waker>>,
    aborts: Vec<Kept<AbortHandle>>,
    register: Option<Register>,
    /// What is told, for the acts that have not begun.
    told: Vec<Flag>,
    aborted: Flag,
    /// Those with which the handle is polled.
    wakes: [Arc<Wakes>; 2],
}

impl Act {
    /// Takes its part, and returns what it does with it.
    fn with(self, parts: &mut Parts) -> Box<dyn FnOnce()> {
        let (runnable, handle) = (&mut parts.runnable, parts.handle.clone());
        let take = || handle.take().expect("one has it");
        match self {
            Self::Run => {
                let runnable = runnable.take().expect("one runs it");
                Box::new(move || _ = runnable.take().run())
            }
            DropRunnable => Box::new({
                let runnable = runnable.take();
                move || drop(runnable)
            }),
            DropHandle => Box::new({
                let handle = take();
                move || drop(handle)
            }),
            Self::Detach => {
                let handle = take();
                Box::new(move || handle.take().into_handle().detach())
            }
            Self::Join => {
                let mut handle = take();
                Box::new(move || assert!(has_output(&mut handle)))
            }
            Self::Look => {
                let mut result = take();
                Box::new(move || {
                    if result.handle().is_finished() {
                        assert!(has_output(&mut result));
                    }
                })
            }
            PollHandle(with) => {
                let (mut result, wakes) = (take(), parts.wakes.clone());
                Box::new(move || {
                    let poll = |&waker: &usize| poll_with(&mut result, &wakes[waker].waker());
                    let ready = with.iter().map(poll).any(|poll| poll.is_ready());
                    if !ready {
                        *handle.borrow_mut() = Some(result);
                    }
                })
            }
            DropWaker => Box::new({
                let waker = parts.wakers.pop();
                move || drop(waker)
            }),
            Wake(by) => {
                let waker = parts.wakers.pop().expect("there is one for each");
                Box::new(move || by.wake(waker))
            }
            Tell(wakes, by) => {
                let waker = parts.wakers.pop().expect("there is one for each");
                let flag = parts.told.pop().expect("there is one for each");
                Box::new(move || {
                    for _ in 1..wakes {
                        match by {
                            By::Reference => waker.wake_by_ref(),
                            By::Value => Kept::new(waker.clone()).take().wake(),
                        }
                    }
                    flag.raise();
                    by.wake(waker);
                })
            }
            Abort => {
                let abort = parts.aborts.pop().expect("there is one for each");
                let aborted = parts.aborted.clone();
                Box::new(move || {
                    aborted.raise();
                    abort.abort();
                })
            }
            Cancel => {
                let register = parts.register.clone().expect("it is registered");
                Box::new(move || register.cancel())
            }
        }
    }

    fn has_waker(self) -> bool {
        matches!(self, DropWaker | Wake(_) | Tell(..))
    }

    fn cancels(self) -> bool {
        matches!(
            self,
            DropHandle | DropRunnable | Abort | Cancel | Self::Look
        )
    }
}

fn poll_with(result: &mut Kept<JoinResult<Value>>, waker: &Waker) -> Poll<bool> {
    let poll = Pin::new(&mut **result).poll(&mut Context::from_waker(waker));
    poll.map(|ended| match ended {
        Ok(output) => {
            output.look();
            true
        }
        Err(JoinError::Cancelled(_)) => false,
        Err(JoinError::Panicked(panic)) => panic.resume(),
    })
}

/// Returns whether a task that must have ended has an output, which is looked at.
#[track_caller]
pub(crate) fn has_output(result: &mut Kept<JoinResult<Value>>) -> bool {
    match poll_with(result, Waker::noop()) {
        Poll::Ready(has_output) => has_output,
        Poll::Pending => panic!("the task has not ended: a wake-up was lost"),
    }
}

/// A race between the holders of a task's parts.
pub(crate) struct Race {
    ends: Ends,
    is_registered: bool,
    has_handle: bool,
    is_at_limit: bool,
    before: &'static [Act],
    others: &'static [Act],
    here: Act,
    preemptions: Option<usize>,
    runs: RangeInclusive<usize>,
}

/// The model's first thread acts against the others.
pub(crate) fn race(ends: Ends, others: &'static [Act], here: Act) -> Race {
    Race {
        ends,
        is_registered: false,
        has_handle: true,
        is_at_limit: false,
        before: &[],
        others,
        here,
        preemptions: None,
        runs: 0..=usize::MAX,
    }
}

impl Race {
    /// The task's address is known for as long as its future exists.
    pub(crate) fn registered(mut self) -> Self {
        self.is_registered = true;
        self
    }

    /// The task never had a handle.
    pub(crate) fn without_handle(mut self) -> Self {
        self.has_handle = false;
        self
    }

    /// The counter of wake-ups has little room.
    pub(crate) fn at_limit(mut self) -> Self {
        self.is_at_limit = true;
        self
    }

    /// What is done before the race.
    pub(crate) fn after(mut self, before: &'static [Act]) -> Self {
        self.before = before;
        self
    }

    /// At most that many preemptions.
    pub(crate) fn within(mut self, preemptions: usize) -> Self {
        self.preemptions = Some(preemptions);
        self
    }

    /// The task must be polled so often.
    pub(crate) fn runs(mut self, runs: RangeInclusive<usize>) -> Self {
        self.runs = runs;
        self
    }

    pub(crate) fn explore(self, how: Schedule) {
        set_wake_limit(self.is_at_limit.then_some(WAKE_LIMIT));
        let preemptions = self.preemptions;
        let model = move |world: &World| {
            self.run(world, how);
            assert!(self.runs.contains(&world.runs()));
        };
        match preemptions {
            Some(preemptions) => explore_bounded(preemptions, model),
            None => explore(model),
        }
        set_wake_limit(None);
    }

    fn run(&self, world: &World, how: Schedule) {
        let acts = [self.before, self.others, &[self.here]].concat();
        let count = |is_one: fn(&Act) -> bool| acts.iter().filter(|act| is_one(act)).count();
        let told: Vec<_> = (0..count(|act| matches!(act, Tell(..))))
            .map(|_| Flag::new())
            .collect();
        let [aborted, seen] = [Flag::new(), Flag::new()];
        let (ends, outputs) = (self.ends, Arc::new(Counter::new(0)));
        let future = {
            let watching = acts
                .contains(&Abort)
                .then(|| Watching(aborted.clone(), seen.clone()));
            let (told, outputs) = (told.clone(), outputs.clone());
            let (mut polls, mut value) = (0, Some(world.value()));
            poll_fn(move |cx| {
                let _watching = &watching;
                polls += 1;
                if !ends.is_ready(polls - 1, &told, cx) {
                    return Poll::Pending;
                }
                outputs.fetch_add(1, Relaxed);
                Poll::Ready(value.take().expect("polled after it was ready"))
            })
        };
        let register = self.is_registered.then(Register::new);
        let future: Pin<Box<dyn Future<Output = Value> + Send>> = match &register {
            Some(register) => Box::pin(register.watch(future)),
            None => Box::pin(future),
        };
        let (mut runnable, handle) = match self.has_handle {
            true => {
                let (runnable, handle) = world.spawn(how, future);
                (runnable, Some(handle.take()))
            }
            false => (world.spawn_detached(how, future), None),
        };
        if let Some(register) = &register {
            runnable = register.enter(runnable);
        }
        let of_handle = |_| Kept::new(handle.as_ref().expect("it has one").abort_handle());
        let parts = &mut Parts {
            wakers: (0..count(|act| act.has_waker()))
                .map(|_| waker_of(&runnable))
                .collect(),
            aborts: (0..count(|act| *act == Abort)).map(of_handle).collect(),
            runnable: Some(runnable),
            handle: Handle::default(),
            register,
            told,
            aborted,
            wakes: [Wakes::new(), Wakes::new()],
        };
        *parts.handle.borrow_mut() = handle.map(|handle| Kept::new(handle.result()));
        self.before.iter().for_each(|act| act.with(parts)());
        let others: Vec<_> = { self.others.iter() }
            .map(|act| world.start(act.with(parts)))
            .collect();
        self.here.with(parts)();
        world.drain();
        join_all(others);
        self.check(parts, &acts, outputs.load(Relaxed), &seen);
    }

    /// Demands that the task has ended as it must, and that its waiter was woken once.
    fn check(&self, parts: &Parts, acts: &[Act], outputs: usize, seen: &Flag) {
        let is_endless = matches!(self.ends, Ends::Never | Ends::NeverAfterAYield);
        let is_cancelled = acts.iter().any(|act| act.cancels());
        assert!(
            is_cancelled || is_endless || outputs == 1,
            "a wake-up was lost"
        );
        let only_aborts = acts.iter().all(|act| !act.cancels() || *act == Abort);
        if is_endless && is_cancelled && only_aborts {
            assert!(seen.is_up(), "the drop of the future came before the abort");
        }
        let woken: usize = parts.wakes.iter().map(|wakes| wakes.count()).sum();
        let left = parts.handle.take();
        if left.is_some() && acts.iter().any(|act| matches!(act, PollHandle(_))) {
            assert_eq!(woken, 1);
        }
        if let Some(mut result) = left {
            assert_eq!(usize::from(has_output(&mut result)), outputs);
        }
        assert!(woken <= 1);
        assert!(parts.wakes.iter().all(|wakes| wakes.wakers() == 0));
    }
}
