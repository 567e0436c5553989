//! Chooses which thread runs next, and runs it.

use core::mem::ManuallyDrop;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use corosensei::{
    Coroutine, CoroutineResult, Yielder,
    stack::{DefaultStack, Stack},
};

#[cfg(unix)]
use super::overflow;
use super::{
    Attempt, BEAT, Ended, Fault, Lane, Limits, NUMBER, Panic, Phase, Places, REPLAY, RUN, Request,
    Run, STACKS, Site, Status,
    locals::{drop_locals, forget_locals},
    perform,
    unwind::{drop_statics, end_panics},
    with,
};
use crate::{
    graph::{Event, Graph, Id, MAX_THREADS},
    heap,
};

/// The steps of a thread have numbers of 16 bits.
const MOST_STEPS: usize = 65_000;

/// The size of the stack of a thread, of which the system gives what is used.
const STACK: usize = 8 << 20;

/// Runs a model along a graph and on from there. Returns the graphs that are left to explore.
pub(super) fn run(
    graph: Graph,
    limits: Limits,
    ordered: &Places,
    phase: Phase,
    main: impl FnOnce() + 'static,
) -> (Ended, Graph, Vec<Graph>) {
    #[cfg(unix)]
    overflow::watch();
    heap::keep(matches!(phase, Phase::Trying(_)));
    let mut run = Run {
        number: NUMBER.replace(NUMBER.get().wrapping_add(1)),
        graph,
        limits,
        ordered: ordered.clone(),
        phase,
        stacks: STACKS.take(),
        beat: BEAT.with(Arc::clone),
        ..Run::default()
    };
    run.lanes[0].at = run.graph.statics.len() as u16 + 1;
    run.start(0, main);
    RUN.set(Some(run));
    let panicked = drive();
    let panicked = panicked.or(end_panics()).or(drop_statics());
    let mut run = RUN.take().expect("the run is over");
    let ended = run.ended(panicked);
    run.beat.rest();
    for lane in &mut run.lanes {
        if let Some(mut coroutine) = lane.coroutine.take() {
            if coroutine.started() && !coroutine.done() {
                // SAFETY: nobody refers to what is on the stack any more, because all threads of
                // the run end here. What they own is leaked.
                unsafe { coroutine.force_reset() };
            }
            if coroutine.done() {
                run.stacks.push(coroutine.into_stack());
            }
        }
        forget_locals(core::mem::take(&mut lane.locals));
    }
    // Of a blocked run, they are leaked.
    core::mem::forget(core::mem::take(&mut run.statics));
    STACKS.set(core::mem::take(&mut run.stacks));
    heap::free_all();
    (ended, run.graph, run.pending)
}

/// Runs the threads until none can run.
fn drive() -> Option<Panic> {
    let next = |run: &mut Run| {
        run.leave();
        let replayed = run.next_replayed_or_explore();
        let ready = replayed.or_else(|| run.next_ready());
        ready.or_else(|| run.next_on_trial())
    };
    while let Some(next) = with(next) {
        if let Some(panic) = resume(next) {
            return Some(panic);
        }
    }
    None
}

/// The fault of a line that matches no execution of the model.
pub(super) fn lost(why: &str) -> Fault {
    Fault::Limit(format!(
        "{REPLAY} is of another model or another build: it {why}"
    ))
}

pub(super) fn resume(thread: u8) -> Option<Panic> {
    let mut coroutine = with(|run| {
        run.current = thread;
        run.lane().panics = false;
        let lane = run.lane();
        #[cfg(unix)]
        overflow::set(Some(overflow::Running {
            limit: lane.limit,
            thread,
            name: lane.name.as_deref().map(core::ptr::from_ref),
        }));
        let coroutine = lane.coroutine.take();
        coroutine.expect("a ready thread has a stack")
    });
    heap::in_model(true);
    let result = coroutine.resume(());
    heap::in_model(false);
    #[cfg(unix)]
    overflow::set(None);
    with(|run| match result {
        CoroutineResult::Yield(()) => {
            run.lane().coroutine = Some(coroutine);
            None
        }
        CoroutineResult::Return(result) => {
            run.lane().status = Status::Finished;
            run.stacks.push(coroutine.into_stack());
            result.err()
        }
    })
}

impl Run {
    pub(super) fn start(&mut self, thread: u8, body: impl FnOnce() + 'static) {
        let stack = self.stacks.pop().unwrap_or_else(|| {
            DefaultStack::new(STACK).expect("the system has memory for a stack")
        });
        let limit = stack.limit().get();
        // If the thread never runs, what it owns is leaked, as for a thread that never ends.
        let body = ManuallyDrop::new(body);
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with(|run| {
                let lane = &mut run.lanes[usize::from(thread)];
                lane.yielder = Some(yielder.into());
                lane.root = (&raw const yielder).addr();
            });
            catch_unwind(AssertUnwindSafe(|| {
                ManuallyDrop::into_inner(body)();
                drop_locals();
                perform("end", Request::End);
            }))
        });
        let lane = &mut self.lanes[usize::from(thread)];
        lane.coroutine = Some(coroutine);
        lane.status = Status::Ready;
        lane.limit = limit;
    }

    /// A thread that can replay its next step.
    fn next_replayed(&mut self) -> Option<u8> {
        if self.phase.is_over() {
            return None;
        }
        (0..MAX_THREADS).find_map(|thread| {
            let lane = &self.lanes[thread];
            let event = self.graph.threads[thread].get(usize::from(lane.at))?;
            let runs = matches!(lane.status, Status::Ready | Status::Joining(..));
            (runs && self.can_replay(event)).then_some(thread as u8)
        })
    }

    /// A thread that can replay its next step. If none is left, the threads begin to explore. In a
    /// trial, the one that drops begins if it has no step before the drop.
    fn next_replayed_or_explore(&mut self) -> Option<u8> {
        let next = match &self.phase {
            Phase::Replaying => self.next_replayed(),
            Phase::Trying(trial) => {
                let thread = trial.thread();
                let lane = &self.lanes[usize::from(thread)];
                let begins = lane.yielder.is_none() && lane.status == Status::Ready;
                return self.next_replayed().or(begins.then_some(thread));
            }
            _ => return None,
        };
        if next.is_none() {
            self.phase = Phase::Exploring;
            let mut lanes = self.lanes.iter().zip(&self.graph.threads);
            if lanes.any(|(lane, events)| usize::from(lane.at) < events.len()) {
                self.differs("");
            }
        }
        next
    }

    pub(super) fn can_replay(&self, event: &Event) -> bool {
        self.graph
            .comes_after(event.id, |thread| self.lanes[thread].at)
    }

    /// The first thread that can run: the one that keeps spinning, if this graph is for that.
    /// Threads that only count are last, so that the write for which they wait comes before their
    /// next iteration. The others are ordered by who spawned them, not by their numbers, so that
    /// the choice depends on the graph alone, however it was reached.
    fn next_ready(&mut self) -> Option<u8> {
        if self.phase.is_over() || matches!(self.phase, Phase::Trying(_)) {
            return None;
        }
        if let Phase::Following(line) = &self.phase {
            if let Some(&(thread, _)) = line.front() {
                let lane = &self.lanes[usize::from(thread)];
                let can_run = lane.coroutine.is_some() && lane.status != Status::Waiting;
                if !can_run {
                    self.fail(lost("names a thread that cannot go on"));
                }
                return can_run.then_some(thread);
            }
        }
        let threads = (0..MAX_THREADS as u8).filter(|&n| self.can_run(&self.lanes[usize::from(n)]));
        threads.min_by_key(|&thread| {
            let lane = &self.lanes[usize::from(thread)];
            let next = Id {
                thread,
                index: lane.at,
            };
            let goes_on = self.graph.leavers.last() == Some(&next);
            (!goes_on, lane.counted, self.graph.path(thread))
        })
    }

    pub(super) fn can_run(&self, lane: &Lane) -> bool {
        match lane.status {
            Status::Ready => true,
            Status::Joining(child, until) => self.graph.joined(child, until).is_some(),
            _ => false,
        }
    }

    pub(super) fn attempt(&mut self, request: Request, site: Site) -> Attempt {
        if !matches!(request, Request::Dealloc(..)) {
            self.beat.step(site.at);
        }
        if let Some(answer) = self.answer_unwinding(request) {
            return answer;
        }
        match request {
            Request::Again { place } => return self.look_again(place),
            Request::Look { count } => {
                let made = self.lanes[usize::from(count.thread)].sites[usize::from(count.index)];
                return self.fail(Fault::Look(made.at));
            }
            Request::EndOfAccess(begin) => return self.end(begin),
            Request::Free(place) => return self.free(place),
            Request::Dealloc(address, size) => return self.dealloc(address..address + size),
            Request::Discover(key) => {
                self.phase = Phase::Discovered(key);
                return Attempt::Wait;
            }
            _ => {}
        }
        let lane = self.lane();
        let index = usize::from(lane.at);
        lane.idle = 0;
        // An exchange is one operation and two events.
        let before = lane.sites.last().copied().unwrap_or(site);
        lane.sites.resize(index, before);
        lane.sites.push(site);
        if index < self.graph.threads[usize::from(self.current)].len() {
            let id = self.next_step();
            if matches!(&self.phase, Phase::Trying(trial) if trial.asks(id)) {
                self.see_arcs(id);
            }
            let attempt = self.replay(request);
            let at = self.lane().at;
            return match &self.phase {
                Phase::Trying(trial) if trial.stops(&self.graph, self.current, at) => Attempt::Wait,
                _ => attempt,
            };
        }
        if !self.phase.extends() {
            return Attempt::Wait;
        }
        let accesses = self.lane().accesses;
        if accesses >= self.limits.events || index >= MOST_STEPS {
            if self.is_still_spinning(index) {
                return self.give_up();
            }
            return self.fail(Fault::Limit(format!(
                "a thread has more than {accesses} atomic accesses: a loop that waits should call `spin_loop` or \
                 `yield_now`, or the model needs a larger `max_branches`"
            )));
        }
        let mut only = None;
        if let Phase::Following(line) = &mut self.phase {
            match line.front() {
                Some(&(thread, _)) if thread != self.current => return Attempt::Wait,
                _ => only = line.pop_front().map(|(_, choice)| choice),
            }
        }
        self.explore(request, only)
    }
}
