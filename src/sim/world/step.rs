//! The steps of a run.

use alloc::collections::VecDeque;
use core::{mem, task::Poll};

use super::{
    super::{
        failure::Kind,
        host::Place,
        record::{Actor, What},
    },
    Due, Work, World,
    faults::Manner,
    host::Host,
    main_waker::MainIsReady,
    threads::Abandoned,
};
use crate::{executor::simulated::Task, waker::budget};

/// What a step has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ran,
    /// The time went on, which may be all that a blocked poll waits for.
    TimePassed,
    /// Nothing was ready before the limit, which is now.
    AtLimit,
    /// The run has failed.
    Failed,
    /// The run has failed, and nothing of it may be touched: see `threads`.
    Abandoned,
}

/// Up to how many that are ready are all looked at for whether they can run.
const FEW: usize = 64;

impl World {
    /// Runs what is ready. If nothing is, the time goes on, at most to the limit.
    pub(super) fn step(&self, limit: Option<u64>) -> Step {
        loop {
            if self.failure.borrow().is_some() {
                return Step::Failed;
            }
            self.wake_main();
            if let Some(due) = self.choose() {
                return match self.run_due(due) {
                    Ok(()) => Step::Ran,
                    Err(Abandoned) => Step::Abandoned,
                };
            }
            if self.end_closed() {
                continue;
            }
            let now = self.now.get();
            match (self.next_event(), limit) {
                (Some(next), limit) if limit.is_none_or(|limit| next <= limit) => {
                    self.pass_to(next.max(now));
                    if self.depth.get() > 0 {
                        return Step::TimePassed;
                    }
                }
                (_, Some(limit)) => {
                    self.pass_to(limit.max(now));
                    return Step::AtLimit;
                }
                // The waits of polls that are blocked beneath the end of the main future.
                (_, None) if self.main_is_over.get() => return Step::Failed,
                (_, None) => {
                    let kind = self.held_up();
                    self.fail(kind.unwrap_or_else(|| Kind::Deadlock(self.deadlock())));
                }
            }
        }
    }

    /// Queues the main future if it has been woken.
    #[inline]
    pub(super) fn wake_main(&self) {
        if self.poll_main.get().is_none() {
            return;
        }
        if let Some(ready) = self.main.take() {
            let by = match ready {
                MainIsReady::New => Actor::OUTSIDE,
                MainIsReady::Woken => self.acting.get(),
            };
            self.note_woken(Actor::MAIN, by);
            self.enqueue(Due {
                actor: Actor::MAIN,
                by,
                work: Work::Main,
            });
        }
    }

    /// Takes what is to run next.
    #[inline]
    fn choose(&self) -> Option<Due> {
        let mut due = self.due.borrow_mut();
        if due.is_empty() {
            return None;
        }
        let chosen = match self.depth.get() {
            0 => self.choose_of(&due),
            _ => self.choose_inside(&mut due)?,
        };
        due.swap_remove_front(chosen)
    }

    #[inline]
    fn choose_of(&self, due: &VecDeque<Due>) -> usize {
        let mut strategy = self.strategy.borrow_mut();
        strategy.choose(due, self.last.get(), &mut self.chance.borrow_mut())
    }

    /// Chooses while polls are blocked on the stack. Their workers run nothing.
    #[cold]
    fn choose_inside(&self, due: &mut VecDeque<Due>) -> Option<usize> {
        let hosts = self.hosts.borrow();
        let can_run = |due: &Due| match &due.work {
            Work::Main => self.poll_main.get().is_some() && !hosts[0].busy[0].get(),
            Work::Task { host, task, .. } => hosts[*host].free_worker(task).is_some(),
            Work::Call(..) | Work::Resume(_) => true,
        };
        // If there are many, most can run, and it would take long to look at all of them.
        if due.len() > FEW {
            let chosen = self.choose_of(due);
            if can_run(&due[chosen]) {
                return Some(chosen);
            }
        }
        // Those that can run go to the front, in their order.
        let all = mem::take(due);
        let (ready, blocked): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(can_run);
        let chosen = (!ready.is_empty()).then(|| self.choose_of(&ready));
        *due = ready;
        due.extend(blocked);
        chosen
    }

    #[inline]
    fn run_due(&self, due: Due) -> Result<(), Abandoned> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps > self.limits.steps {
            self.fail(Kind::Steps(self.limits.steps));
            // What was taken is dropped with everything else.
            self.due.borrow_mut().push_back(due);
            return Ok(());
        }
        let actor = due.actor;
        self.note(actor, What::Ran { by: due.by });
        let before = self.acting.replace(actor);
        let place = self.place.get();
        self.last.set(actor);
        self.depth.set(self.depth.get() + 1);
        match due.work {
            Work::Task { host, key, task } => self.run_task(host, key, task),
            Work::Main => self.run_main_once(),
            Work::Call(place, call) => self.begin_call(actor, place, call)?,
            Work::Resume(thread) => self.resume_call(thread)?,
        }
        self.depth.set(self.depth.get() - 1);
        self.collect_injected();
        self.wake_main();
        self.acting.set(before);
        self.place.set(place);
        if self.charge > 0 {
            self.pass_to(self.now.get().saturating_add(self.charge));
        }
        Ok(())
    }

    #[inline]
    fn run_task(&self, host: usize, key: usize, task: Task) {
        let (number, host) = (host, self.hosts.borrow()[host].clone());
        let (mut manner, mut woken) = (Manner::Usual, None);
        if let Some(live) = self.tasks.borrow_mut().by_key(key) {
            live.since = self.now.get();
            live.ran = self.steps.get();
            live.is_due = false;
            if let Some(injected) = &self.injected {
                manner = self.manner(injected, live, &task);
            }
        }
        let worker = host.free_worker(&task);
        let worker = worker.expect("a worker that is free, or the task would not be chosen");
        self.place.set(host.place);
        host.busy[worker].set(true);
        host.busy_with[worker].set(self.acting.get());
        match manner {
            Manner::Usual => woken = host.simulated.run(worker, task, None),
            Manner::Budget(operations) => {
                woken = host.simulated.run(worker, task, Some(operations));
            }
            Manner::Dropped => host.simulated.discard(worker, task),
        }
        host.busy[worker].set(false);
        let woken = woken.map(|task| (key, task));
        self.collect(number, &host, worker, woken);
    }

    fn run_main_once(&self) {
        let Some(poll) = self.poll_main.take() else {
            return;
        };
        let host = self.hosts.borrow()[0].clone();
        self.place.set(Place::MAIN);
        host.busy[0].set(true);
        host.busy_with[0].set(Actor::MAIN);
        match self.manner_of_main() {
            Manner::Budget(operations) => budget::refill_to(operations),
            Manner::Usual | Manner::Dropped => budget::refill(),
        }
        // SAFETY: `run_main` has set it, and takes it back before the future goes. It was taken
        // out here, so no other call is under way.
        let polled = host.simulated.as_worker(0, || unsafe { (*poll)() });
        host.busy[0].set(false);
        match polled {
            Poll::Pending => self.poll_main.set(Some(poll)),
            Poll::Ready(()) => self.main_is_over.set(true),
        }
        self.collect(0, &host, 0, None);
    }

    /// Takes over what a worker has queued, and then the task that it has run, if that was woken
    /// meanwhile.
    #[inline]
    pub(super) fn collect(
        &self,
        number: usize,
        host: &Host,
        worker: usize,
        woken: Option<(usize, Task)>,
    ) {
        host.simulated
            .take_queued(worker, |task| self.push(number, task));
        if let Some((key, task)) = woken {
            self.push_known(number, key, task);
        }
        if host.is_closing.get() && !host.is_busy() {
            self.end(host);
        }
    }

    /// Takes over what the workers have queued whose polls are under way. They will run nothing
    /// while they are blocked.
    pub(super) fn collect_from_busy(&self) {
        for (number, host) in self.hosts.borrow().iter().enumerate() {
            for worker in (0..host.busy.len()).filter(|&worker| host.busy[worker].get()) {
                let push = |task| self.push(number, task);
                host.simulated.take_queued(worker, push);
            }
        }
        self.collect_injected();
    }

    /// Takes over what was queued from elsewhere than the executors' own workers.
    #[inline]
    pub(super) fn collect_injected(&self) {
        let hosts = self.hosts.borrow();
        for (number, host) in hosts.iter().enumerate() {
            host.simulated.take_injected(|task| self.push(number, task));
        }
    }

    #[inline]
    fn push(&self, host: usize, task: Task) {
        let key = self.tasks.borrow().key(task.id());
        let key = key.expect("a task is known from its spawn to its end");
        self.push_known(host, key, task);
    }

    #[inline]
    fn push_known(&self, host: usize, key: usize, task: Task) {
        let by = self.acting.get();
        let mut tasks = self.tasks.borrow_mut();
        let live = tasks.by_key(key).expect("a key leads to its task");
        live.is_due = true;
        live.woken = by;
        let actor = live.actor;
        drop(tasks);
        self.note_woken(actor, by);
        let work = Work::Task { host, key, task };
        self.enqueue(Due { actor, by, work });
    }
}
