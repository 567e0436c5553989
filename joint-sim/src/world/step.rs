//! The steps of a run.

use std::task::Poll;

use super::{
    super::{
        failure::Kind,
        machine::Place,
        record::Actor,
        settings::Panics,
        tasks::{Due, Key, Work},
    },
    World,
    acting::Acting,
    agenda::Agenda,
    faults::Manner,
    pool::Pool,
    threads::Abandoned,
};
use joint::budget;
use joint_executor::hosted::{BoundWorker, ReadyTask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ran,
    /// The time advanced, which may be all that a blocked poll waits for.
    TimePassed,
    /// Nothing was ready before the limit, which is now.
    AtLimit,
    /// The run has failed.
    Failed,
    /// The run has failed, and its state must not be touched: see `threads`.
    Abandoned,
}

/// The largest number of ready tasks that are all checked for whether they can run.
const FEW: usize = 64;

impl World {
    /// Runs what is ready. If nothing is, the time goes on, at most to the limit.
    pub(super) fn step(&self, limit: Option<u64>) -> Step {
        self.steps_until(limit, || true)
    }

    /// Runs steps until this is true after one of them.
    #[inline]
    pub(super) fn steps_until(&self, limit: Option<u64>, is_enough: impl Fn() -> bool) -> Step {
        let is_inside = self.stage.depth.get() > 0;
        let mut acting = Acting::begin(self);
        loop {
            if self.stage.steps.get() >= self.ending.next_look.get() {
                acting.leave();
                if self.is_over(is_inside) {
                    return Step::Failed;
                }
            }
            if let Some(due) = self.begin_step(is_inside) {
                match self.run_due(due, &mut acting) {
                    Ok(()) if is_enough() => return Step::Ran,
                    Ok(()) => continue,
                    Err(Abandoned) => return Step::Abandoned,
                }
            }
            acting.leave();
            let is_closed = |pool: &Pool| pool.first().worker.is_closed() && !pool.is_busy();
            // Woken, or closed, by another thread, or not polled yet.
            if self.wake_main() || (self.owner.has_closed() && self.end_each(is_closed)) {
                continue;
            }
            if let Some(step) = self.let_time_pass(limit) {
                return step;
            }
        }
    }

    /// Whether the run has failed. It does at its last step, if something could run after that.
    #[cold]
    fn is_over(&self, is_inside: bool) -> bool {
        if !self.ending.has_failed() && self.stage.steps.get() < self.settings.max_steps {
            self.look_for_stillness();
            return self.ending.has_failed();
        }
        if !self.ending.has_failed() && self.settings.panics == Panics::Any {
            self.judge_panics();
        }
        if !self.ending.has_failed() {
            let mut agenda = self.agenda.borrow_mut();
            let Some(due) = self.choose(&mut agenda, is_inside) else {
                return false;
            };
            // What was taken is dropped with everything else.
            agenda.due.push_back(due);
            drop(agenda);
            self.fail_here(Kind::Steps(self.settings.max_steps));
        }
        true
    }

    /// Goes on to the next timer or event. Returns what the step has done, if that is all.
    #[inline(never)]
    fn let_time_pass(&self, limit: Option<u64>) -> Option<Step> {
        let now = self.now();
        match (self.next_event(), limit) {
            (Some(next), limit) if limit.is_none_or(|limit| next <= limit) => {
                self.pass_to(next.max(now));
                (self.stage.depth.get() > 1).then_some(Step::TimePassed)
            }
            (_, Some(limit)) => {
                self.pass_to(limit.max(now));
                Some(Step::AtLimit)
            }
            (_, None) if self.collect_injected() => None,
            // The waits of polls that are blocked beneath the end of the main future.
            (_, None) if self.main.is_over.get() => Some(Step::Failed),
            (_, None) => {
                let kind = self.held_up();
                self.fail_here(kind.unwrap_or(Kind::Deadlock));
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
        if self.main.poll.get().is_none() {
            return false;
        }
        let by = match self.main.take() {
            true => Actor::OUTSIDE,
            false => self.acting(),
        };
        self.queue(Actor::MAIN, by, Work::Main);
        true
    }

    /// Takes what is to run next, and notes that it runs.
    #[inline(always)]
    fn begin_step(&self, is_inside: bool) -> Option<Due> {
        let mut agenda = self.agenda.borrow_mut();
        let due = self.choose(&mut agenda, is_inside)?;
        let step = self.stage.steps.get() + 1;
        self.stage.steps.set(step);
        let now = self.now();
        agenda.begin(&due, step, now, self.time.passed());
        Some(due)
    }

    /// Takes what is to run next. `is_inside`: polls are blocked on the stack.
    #[inline(always)]
    fn choose(&self, agenda: &mut Agenda, is_inside: bool) -> Option<Due> {
        if agenda.due.is_empty() {
            return None;
        }
        let chosen = match is_inside {
            false => agenda.choose(),
            true => self.choose_inside(agenda)?,
        };
        agenda.take(chosen)
    }

    /// Chooses while polls are blocked on the stack. Their workers run nothing.
    #[cold]
    fn choose_inside(&self, agenda: &mut Agenda) -> Option<usize> {
        let pools = self.pools.all.borrow();
        let can_run = |due: &Due| match &due.work {
            Work::Main => self.main.poll.get().is_some() && pools[0].first().is_free(),
            Work::Task { pool, task, .. } => pools[usize::from(*pool)].free_worker(task).is_some(),
            Work::Call(_) | Work::Resume(_) => true,
        };
        // If there are many, most can run, and it would take long to look at all of them.
        if agenda.due.len() > FEW {
            let chosen = agenda.choose();
            if can_run(&agenda.due[chosen]) {
                return Some(chosen);
            }
        }
        // Those that can run go to the front, in their order.
        let blocked = agenda.remove(|due| !can_run(due));
        let chosen = (!agenda.due.is_empty()).then(|| agenda.choose());
        agenda.due.extend(blocked);
        chosen
    }

    #[inline(always)]
    fn run_due(&self, due: Due, acting: &mut Acting<'_>) -> Result<(), Abandoned> {
        let Due { actor, work, .. } = due;
        self.watched.step(self.stage.steps.get(), actor);
        self.stage.actor.set(actor);
        match work {
            Work::Task { pool, key, task } => self.run_task(actor, pool, key, task, acting),
            other => self.run_other(actor, other)?,
        }
        self.collect_pushed();
        self.wake_main();
        if self.time.passes() {
            acting.leave();
            let taken = self.time.taken();
            if taken > 0 {
                self.pass_to(self.now().saturating_add(taken));
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn run_other(&self, actor: Actor, work: Work) -> Result<(), Abandoned> {
        match work {
            Work::Main => self.run_main_once(),
            Work::Call(call) => self.begin_call(actor, call.0, call.1)?,
            Work::Resume(thread) => self.resume_call(thread)?,
            Work::Task { .. } => unreachable!("`run_task` runs it"),
        }
        Ok(())
    }

    #[inline(always)]
    fn run_task(
        &self,
        actor: Actor,
        number: u16,
        key: Key,
        task: ReadyTask,
        acting: &mut Acting<'_>,
    ) {
        acting.use_pool(number);
        let Acting { pool, .. } = &*acting;
        self.set_place(pool.place);
        let manner = match &self.injected {
            None => Manner::Usual,
            Some(injected) => self.manner(injected, actor, key, &task),
        };
        let slot = pool.free_worker(&task);
        let slot = slot.expect("a worker that is free, or the task would not be chosen");
        let worker = &slot.worker;
        slot.begin(actor);
        let woken = match manner {
            Manner::Usual => {
                budget::refill();
                worker.run_task(task)
            }
            Manner::Budget(operations) => {
                budget::refill_to(operations);
                worker.run_task(task)
            }
            Manner::Dropped => {
                worker.discard(task);
                None
            }
        };
        slot.end();
        self.collect(number, worker);
        if let Some(task) = woken {
            let pool = number;
            self.queue(actor, actor, Work::Task { pool, key, task });
        }
        if pool.is_closing.get() {
            self.end_closing(pool);
        }
    }

    #[inline(never)]
    fn run_main_once(&self) {
        let Some(poll) = self.main.poll.take() else {
            return;
        };
        let pool = self.pools.all.borrow()[0].clone();
        self.set_place(Place::MAIN);
        let slot = pool.first();
        slot.begin(Actor::MAIN);
        self.main.polls.set(self.main.polls.get() + 1);
        self.main.since.set(self.now());
        match self.manner_of_main() {
            Manner::Budget(operations) => budget::refill_to(operations),
            Manner::Usual | Manner::Dropped => budget::refill(),
        }
        // SAFETY: `run_main` has set it, and takes it back before the future goes. It was taken
        // out here, so no other call is under way.
        let polled = slot.worker.enter(|| unsafe { (*poll)() });
        slot.end();
        match polled {
            Poll::Pending => self.main.poll.set(Some(poll)),
            Poll::Ready(()) => self.main.is_over.set(true),
        }
        self.collect(0, &slot.worker);
        self.end_closing(&pool);
    }

    #[inline(always)]
    pub(super) fn collect(&self, number: u16, worker: &BoundWorker) {
        worker.take_queued(|task| self.push(number, task));
    }

    /// Ends an executor that was shut down in a poll, once none of its workers is in one.
    #[cold]
    fn end_closing(&self, pool: &Pool) {
        if pool.is_closing.get() && !pool.is_busy() {
            self.end(pool);
        }
    }

    /// Takes over what the workers have queued whose polls are under way. They will run nothing
    /// while they are blocked.
    pub(super) fn collect_from_busy(&self) {
        for (number, pool) in (0..).zip(&*self.pools.all.borrow()) {
            for (_, worker, _) in pool.busy() {
                self.collect(number, worker);
            }
        }
        self.collect_pushed();
    }

    /// Takes over what was queued from elsewhere than the executors' own workers.
    #[inline(always)]
    pub(super) fn collect_pushed(&self) {
        self.pools
            .each_pushed(|number, pool| pool.take_injected(|task| self.push(number, task)));
    }

    /// Takes over what was queued by threads that are none of the world's. Returns whether there
    /// was anything.
    fn collect_injected(&self) -> bool {
        let mut any = false;
        for (number, pool) in (0..).zip(&*self.pools.all.borrow()) {
            pool.take_injected(|task| {
                any = true;
                self.push(number, task);
            });
        }
        any
    }

    /// Takes over what other threads have queued, if there is something. It may be missed, and is
    /// then found when nothing is ready.
    pub(super) fn collect_foreign(&self) {
        if self.owner.take_pushed() {
            self.collect_injected();
            self.check_wakers();
        }
    }

    /// Fails the run if an executor outside has woken something of it.
    pub(super) fn check_wakers(&self) {
        if let Some(waker) = self.owner.take_waker() {
            self.fail(Kind::WokenOutside(waker));
        }
    }

    fn push(&self, pool: u16, task: ReadyTask) {
        let (key, actor) = self.agenda.borrow_mut().tasks.known(task.id());
        self.queue(actor, self.acting(), Work::Task { pool, key, task });
    }

    /// Queues what `by` has made ready.
    #[inline(always)]
    pub(super) fn queue(&self, actor: Actor, by: Actor, work: Work) {
        self.note_woken(actor, by);
        self.enqueue(Due { actor, by, work });
    }
}
