//! The executors of a world: how they are started and ended, and what they tell of their tasks.

use std::{
    io, mem,
    rc::Rc,
    sync::{Arc, OnceLock},
    time::Instant,
};

use super::{
    super::{
        clock,
        record::{Actor, Named, What},
        tasks::{Due, Live, Work},
    },
    World,
    entered::{if_inside, run_apart, with},
    network::Network,
    pool::Pool,
    threads::Abandoned,
};
use joint::task::{Id, TaskEnd};
use joint_executor::{
    Builder, Executor, TaskInfo,
    hosted::{BoundWorker, ExecutorId, HostedWorker, Shutdown},
};

impl World {
    /// Ends an executor none of whose workers is in a poll.
    pub(super) fn end(&self, pool: &Pool) {
        pool.is_closing.set(false);
        pool.has_ended.set(true);
        self.discard(pool, BoundWorker::end);
    }

    /// Lets the workers of an executor drop its tasks.
    fn discard(&self, pool: &Pool, discard: impl Fn(&BoundWorker)) {
        let pools = self.pools.all.borrow();
        let is_own = |due: &Due| match due.work {
            Work::Task { pool: number, .. } => pools[usize::from(number)].id == pool.id,
            _ => false,
        };
        let own = self.withdraw(is_own).into_iter();
        let own: Vec<_> = own.filter_map(Due::into_task).collect();
        drop(pools);
        let place = self.place();
        self.set_place(pool.place);
        pool.discard(own, discard);
        self.set_place(place);
    }

    /// Ends all executors, the last one first, and all calls.
    pub(super) fn end_all(&self) -> Result<(), Abandoned> {
        self.begin_no_call();
        // The tasks go first. A call that waits for them, such as in a scope, must not be unwound
        // before.
        self.end_executors();
        self.end_calls()?;
        self.end_executors();
        Ok(())
    }

    /// Drops the tasks of the other executors, except for those whose polls are under way.
    pub(super) fn discard_busy(&self) {
        let busy: Vec<_> = self.pools.all.borrow().iter().cloned().collect();
        for pool in busy.iter().filter(|pool| !pool.has_ended.get()) {
            run_apart(|| self.discard(pool, BoundWorker::discard_all));
        }
    }

    /// Ends the executors for which this is true, and none of whose workers may be in a poll.
    /// Returns whether there was one.
    pub(super) fn end_each(&self, is_one: impl Fn(&Pool) -> bool) -> bool {
        let mut any = false;
        loop {
            let pools = self.pools.all.borrow();
            let is_one = |pool: &Pool| !pool.has_ended.get() && is_one(pool);
            let one = pools.iter().rev().find(|pool| is_one(pool)).cloned();
            drop(pools);
            match one {
                Some(pool) => run_apart(|| self.end(&pool)),
                None => return any,
            }
            any = true;
        }
    }

    fn end_executors(&self) {
        self.end_each(|_| true);
        // Everything that the hosts and the sockets own.
        drop(self.network(Network::end));
    }

    pub(super) fn introduce(
        &self,
        id: Id,
        executor: Option<ExecutorId>,
        named: Named,
        is_expendable: bool,
    ) -> Actor {
        let actor = self.agenda.borrow_mut().tasks.introduce();
        self.note(actor, What::Spawned { by: self.acting() });
        self.agenda.borrow_mut().record.name(actor, &named);
        let key = self.agenda.borrow_mut().tasks.insert(
            id,
            Live {
                actor,
                named: named.clone(),
                executor,
                since: self.now(),
                ran: 0,
                polls: 0,
                woken: self.acting(),
                is_expendable,
                is_arranged: false,
            },
        );
        self.watched.introduce(key, actor, named);
        actor
    }

    /// Notes that a call has become ready, or has begun to wait.
    pub(super) fn mark(&self, id: Id) {
        if let Some(live) = self.agenda.borrow_mut().tasks.get_mut(id) {
            live.since = self.now();
        }
    }

    pub(super) fn has_ended(&self, id: Id, how: TaskEnd) {
        let live = self.agenda.borrow_mut().tasks.remove(id);
        if let Some(live) = live {
            self.note(live.actor, What::Ended(how));
        }
    }

    pub(super) fn ambient(&self) -> Arc<Executor> {
        let ambient = self.ambient.get().expect("set before anything runs");
        ambient.clone()
    }

    /// Builds an executor of this world, which learns of its tasks and timers before the user's own
    /// hooks do.
    pub(super) fn build(&self, builder: Builder) -> io::Result<Executor> {
        let id = Arc::new(OnceLock::new());
        let number = Arc::new(OnceLock::new());
        let (own_id, owner) = (id.clone(), self.owner.clone());
        let (pushed, armed, starting) = (number.clone(), number.clone(), number.clone());
        let builder = builder
            .host(owner.clone())
            .on_push(move || owner.pushed(pushed.get().copied()))
            .on_timer(move |deadline| {
                if_inside(|world| world.armed(armed.get().copied(), deadline));
            })
            .on_start(move |task, start| {
                with(|world| match world {
                    Some(world) => world.start_task(starting.get().copied(), task, start),
                    None => start(),
                });
            })
            .on_spawn(move |task| {
                if_inside(|world| world.spawned(own_id.get().copied(), task));
            })
            .on_end(|task, how| {
                if_inside(|world| {
                    if how == TaskEnd::Panicked && task.is_detached() {
                        world.detached_panics(task.panic_message());
                    }
                    world.has_ended(task.id(), how);
                });
            });
        let (executor, workers) = builder.build_scheduled()?;
        let _new = id.set(executor.id());
        self.on_own_thread(move |world| world.add(workers));
        let _new = number.set(self.pools.number_of(executor.id()));
        Ok(executor)
    }

    fn add(&self, workers: Vec<HostedWorker>) {
        let pool = Rc::new(Pool::new(workers, self.stage.place.get()));
        let mut pools = self.pools.all.borrow_mut();
        // One that has ended makes room. The first one is the main executor's place.
        let ended = pools.iter_mut().skip(1).find(|pool| pool.has_ended.get());
        let ended = match ended {
            Some(ended) => Some(mem::replace(ended, pool)),
            None => {
                assert!(
                    pools.len() < usize::from(u16::MAX),
                    "fewer executors at one time"
                );
                pools.push(pool);
                None
            }
        };
        drop(pools);
        drop(ended);
    }

    /// Ends an executor, or has it end once none of its workers is in a poll.
    pub(super) fn shut_down(&self, executor: ExecutorId) -> Shutdown {
        self.on_own_thread(move |world| world.shut_down_here(executor))
    }

    fn shut_down_here(&self, executor: ExecutorId) -> Shutdown {
        let pools = self.pools.all.borrow();
        let pool = pools.iter().find(|pool| pool.id == executor).cloned();
        drop(pools);
        let Some(pool) = pool.filter(|pool| !pool.has_ended.get()) else {
            return Shutdown::Complete;
        };
        if pool.is_busy() {
            pool.is_closing.set(true);
            pool.first().worker.close();
            return Shutdown::Later;
        }
        self.end(&pool);
        Shutdown::Complete
    }

    fn spawned(&self, executor: Option<ExecutorId>, task: &TaskInfo<'_>) {
        let injected = self.injected.as_ref();
        let given = self.starts();
        let may_cancel = injected.is_some_and(|injected| injected.may_cancel(task.name()));
        // Whoever cancels the main future of a host kills the host.
        let is_expendable = may_cancel && given.is_none();
        let named = self.named(task.name(), given.unwrap_or_else(|| task.spawned()));
        self.introduce(task.id(), executor, named, is_expendable);
    }

    /// Makes the first poll of a task, or leaves it to a step of its own.
    fn start_task(&self, pool: Option<u16>, task: Id, start: &mut dyn FnMut()) {
        let (by, place) = (self.acting(), self.place());
        let Some(actor) = self.begin_task(task, by) else {
            return;
        };
        let own = |pool| self.pools.all.borrow()[usize::from(pool)].place;
        self.set_place(pool.map_or(place, own));
        self.stage.actor.set(actor);
        start();
        self.stage.actor.set(by);
        self.set_place(place);
    }

    /// Decides whether a task starts inside the poll of another one. Returns the actor that it is.
    fn begin_task(&self, task: Id, by: Actor) -> Option<Actor> {
        let agenda = &mut *self.agenda.borrow_mut();
        if agenda.chooser.starts_late(&mut agenda.chance) {
            return None;
        }
        let live = agenda.tasks.get_mut(task)?;
        (live.polls, live.ran) = (1, self.steps());
        let actor = live.actor;
        agenda.record.add(self.event(actor, What::Ran { by }));
        Some(actor)
    }

    fn armed(&self, pool: Option<u16>, deadline: Instant) {
        let of = |pool| self.pools.all.borrow()[usize::from(pool)].place;
        let host = pool.map_or(self.place(), of).host;
        let deadline = self.world_time(host, clock::nanos(deadline));
        if let Some(pool) = pool {
            self.pools.armed(pool, deadline);
        }
        let until = self.time.since_start(deadline);
        let event = self.event(self.acting(), What::Armed { until });
        self.agenda.borrow_mut().record.keep(event);
    }
}
