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
    main_waker::MainIsReady,
    pool::Pool,
    tasks::Key,
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
        self.steps_until(limit, || true)
    }

    /// Runs steps until this is true after one of them.
    #[inline]
    pub(super) fn steps_until(&self, limit: Option<u64>, is_enough: impl Fn() -> bool) -> Step {
        loop {
            if self.failure.borrow().is_some() {
                return Step::Failed;
            }
            if let Some(due) = self.choose() {
                match self.run_due(due) {
                    Ok(()) if is_enough() => return Step::Ran,
                    Ok(()) => continue,
                    Err(Abandoned) => return Step::Abandoned,
                }
            }
            // Woken by another thread, or not polled yet.
            if self.wake_main() || self.end_closed() {
                continue;
            }
            if let Some(step) = self.let_time_pass(limit) {
                return step;
            }
        }
    }

    /// Goes on to the next timer or event. Returns what the step has done, if that is all.
    #[inline(never)]
    fn let_time_pass(&self, limit: Option<u64>) -> Option<Step> {
        let now = self.now.get();
        match (self.next_event(), limit) {
            (Some(next), limit) if limit.is_none_or(|limit| next <= limit) => {
                self.pass_to(next.max(now));
                (self.depth.get() > 0).then_some(Step::TimePassed)
            }
            (_, Some(limit)) => {
                self.pass_to(limit.max(now));
                Some(Step::AtLimit)
            }
            // The waits of polls that are blocked beneath the end of the main future.
            (_, None) if self.main_is_over.get() => Some(Step::Failed),
            (_, None) => {
                let kind = self.held_up();
                self.fail(kind.unwrap_or_else(|| Kind::Deadlock(self.deadlock())));
                None
            }
        }
    }

    /// Queues the main future if it has been woken. Returns whether it has.
    #[inline(always)]
    pub(super) fn wake_main(&self) -> bool {
        self.main.is_ready() && self.queue_main()
    }

    #[cold]
    fn queue_main(&self) -> bool {
        if self.poll_main.get().is_none() {
            return false;
        }
        let by = match self.main.take() {
            MainIsReady::New => Actor::OUTSIDE,
            MainIsReady::Woken => self.acting.get(),
        };
        let (actor, work) = (Actor::MAIN, Work::Main);
        self.note_woken(actor, by);
        self.enqueue(Due { actor, by, work });
        true
    }

    /// Takes what is to run next.
    #[inline(always)]
    fn choose(&self) -> Option<Due> {
        let mut due = self.due.borrow_mut();
        if due.is_empty() {
            return None;
        }
        let chosen = match self.depth.get() {
            0 => self.choose_of(&due),
            _ => self.choose_inside(&mut due)?,
        };
        // The first one takes the place of the chosen one.
        let first = due.pop_front()?;
        Some(match chosen {
            0 => first,
            _ => mem::replace(&mut due[chosen - 1], first),
        })
    }

    #[inline(always)]
    fn choose_of(&self, due: &VecDeque<Due>) -> usize {
        let mut chooser = self.chooser.borrow_mut();
        chooser.choose(due, &mut self.chance.borrow_mut())
    }

    /// Chooses while polls are blocked on the stack. Their workers run nothing.
    #[cold]
    fn choose_inside(&self, due: &mut VecDeque<Due>) -> Option<usize> {
        let pools = self.pools.borrow();
        let can_run = |due: &Due| match &due.work {
            Work::Main => self.poll_main.get().is_some() && !pools[0].busy[0].get(),
            Work::Task { pool, task, .. } => pools[usize::from(*pool)].free_worker(task).is_some(),
            Work::Call(_) | Work::Resume(_) => true,
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

    #[inline(always)]
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
        self.watched.step(steps, actor);
        self.note_here(actor, What::Ran { by: due.by });
        let before = self.acting.replace(actor);
        let place = self.place.get();
        self.depth.set(self.depth.get() + 1);
        match due.work {
            Work::Task { pool, key, task } => self.run_task(actor, due.by, pool, key, task),
            Work::Main => self.run_main_once(),
            Work::Call(call) => self.begin_call(actor, call.0, call.1)?,
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

    #[inline(always)]
    fn run_task(&self, actor: Actor, by: Actor, number: u16, key: Key, task: Task) {
        let pool = self.pools.borrow()[usize::from(number)].clone();
        let (mut manner, mut woken) = (Manner::Usual, None);
        if let Some(live) = self.tasks.borrow_mut().by_key(key) {
            live.since = self.now.get();
            live.ran = self.steps.get();
            live.woken = by;
            if let Some(injected) = &self.injected {
                manner = self.manner(injected, live, &task);
            }
        }
        let worker = pool.free_worker(&task);
        let worker = worker.expect("a worker that is free, or the task would not be chosen");
        self.place.set(pool.place);
        pool.busy[worker].set(true);
        pool.busy_with[worker].set(actor);
        match manner {
            Manner::Usual => woken = pool.simulated.run(worker, task, None),
            Manner::Budget(operations) => {
                woken = pool.simulated.run(worker, task, Some(operations));
            }
            Manner::Dropped => pool.simulated.discard(worker, task),
        }
        pool.busy[worker].set(false);
        let woken = woken.map(|task| Work::Task {
            pool: number,
            key,
            task,
        });
        self.collect(number, &pool, worker, woken);
    }

    #[inline(never)]
    fn run_main_once(&self) {
        let Some(poll) = self.poll_main.take() else {
            return;
        };
        let pool = self.pools.borrow()[0].clone();
        self.place.set(Place::MAIN);
        pool.busy[0].set(true);
        pool.busy_with[0].set(Actor::MAIN);
        match self.manner_of_main() {
            Manner::Budget(operations) => budget::refill_to(operations),
            Manner::Usual | Manner::Dropped => budget::refill(),
        }
        // SAFETY: `run_main` has set it, and takes it back before the future goes. It was taken
        // out here, so no other call is under way.
        let polled = pool.simulated.as_worker(0, || unsafe { (*poll)() });
        pool.busy[0].set(false);
        match polled {
            Poll::Pending => self.poll_main.set(Some(poll)),
            Poll::Ready(()) => self.main_is_over.set(true),
        }
        self.collect(0, &pool, 0, None);
    }

    /// Takes over what a worker has queued, and then the task that it has run, if that was woken
    /// meanwhile.
    #[inline(always)]
    pub(super) fn collect(&self, number: u16, pool: &Pool, worker: usize, woken: Option<Work>) {
        pool.simulated
            .take_queued(worker, |task| self.push(number, task));
        if let Some(work) = woken {
            self.queue(self.acting.get(), work);
        }
        if pool.is_closing.get() && !pool.is_busy() {
            self.end(pool);
        }
    }

    /// Takes over what the workers have queued whose polls are under way. They will run nothing
    /// while they are blocked.
    pub(super) fn collect_from_busy(&self) {
        for (number, pool) in (0..).zip(&*self.pools.borrow()) {
            for worker in (0..pool.busy.len()).filter(|&worker| pool.busy[worker].get()) {
                let push = |task| self.push(number, task);
                pool.simulated.take_queued(worker, push);
            }
        }
        self.collect_injected();
    }

    /// Takes over what was queued from elsewhere than the executors' own workers.
    #[inline(always)]
    pub(super) fn collect_injected(&self) {
        for (number, pool) in (0..).zip(&*self.pools.borrow()) {
            pool.simulated.take_injected(|task| self.push(number, task));
        }
    }

    fn push(&self, pool: u16, task: Task) {
        let mut tasks = self.tasks.borrow_mut();
        let known = tasks.key(task.id());
        let key = known.expect("a task is known from its spawn to its end");
        let live = tasks.by_key(key).expect("a key leads to its task");
        let actor = live.actor;
        drop(tasks);
        self.queue(actor, Work::Task { pool, key, task });
    }

    /// Queues what the actor that acts now has made ready.
    #[inline(always)]
    fn queue(&self, actor: Actor, work: Work) {
        let by = self.acting.get();
        self.note_woken(actor, by);
        self.enqueue(Due { actor, by, work });
    }
}
