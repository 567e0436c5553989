//! Executors without threads, for simulations.
//!
//! A simulated executor is a real one: the same queues, registry, timers and hooks, and the same
//! [`Worker`]s. Only their threads are missing. In their place a [`World`] takes what is queued,
//! decides what runs next, and runs it as one of the workers. Spawning, waking, joining, scopes and
//! whatever else goes through the executor is therefore the code that runs outside.
//!
//! A thread is in a world between [`enter`] and the drop of what it returns. The world is looked
//! for where the global executor would be, where an executor is started or shut down, and where
//! [`spawn_blocking`](crate::spawn_blocking) looks for its threads.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{
    cell::Cell,
    future::poll_fn,
    marker::PhantomData,
    task::{Poll, Waker},
};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread_local,
};

use super::{
    Executor, apart,
    builder::Builder,
    driver::{
        clock::{self, NEVER},
        timers::Fired,
    },
    entered,
    fences::Fences,
    hooks::Hooks,
    local,
    task_info::TaskInfo,
    task_local,
    worker::{
        Worker, current,
        shared::{Lanes, Runnable, Shared},
    },
};
use joint::task::{self, Id, TaskEnd};
use joint::waker::clock as time;

pub(crate) use super::worker::{
    current::{ActsAs, Part},
    simulated::{RunBy, Simulation},
};

/// A simulation, as the executor sees it.
pub(crate) trait World {
    /// What its executors know of it.
    fn simulation(&self) -> &Arc<Simulation>;

    /// The executor that takes the place of the global one.
    fn ambient(&self) -> &Executor;

    /// The number of workers of an executor whose builder does not say it.
    fn default_workers(&self) -> usize;

    /// A new executor has been started, with these workers.
    fn started(&self, executor: Simulated, workers: Vec<OwnWorker>);

    /// An executor is to be shut down, and does not take anything new from now on. Returns whether
    /// it has ended, which it cannot while one of its workers is in a poll.
    fn shut_down(&self, executor: ExecutorId) -> Ended;

    /// A function is to be run that may block.
    fn call_blocking(&self, call: task::Runnable);

    /// Such a function has ended, or was dropped.
    fn call_ended(&self, call: Id, how: TaskEnd);

    /// A task was spawned.
    fn spawned(&self, executor: ExecutorId, task: &TaskInfo<'_>);

    /// A timer was armed for this time, in nanoseconds of the clock.
    fn armed(&self, deadline: u64);

    /// A task's future was dropped.
    fn ended(&self, executor: ExecutorId, task: &TaskInfo<'_>, how: TaskEnd);
}

/// What has become of an executor that was to be shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Already,
    Later,
}

/// Names one executor of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExecutorId(usize);

impl ExecutorId {
    fn of(shared: *const Shared) -> Self {
        Self(shared.addr())
    }
}

thread_local! {
    static WORLD: Cell<Option<*const dyn World>> = const { Cell::new(None) };
}

/// Keeps this thread in a world.
pub(crate) struct Inside<'a>(Option<*const dyn World>, PhantomData<&'a ()>);

/// Makes this thread part of a world.
///
/// # Safety
/// All threads of a world take turns: what one of them does happens before or after all that
/// another one does.
pub(crate) unsafe fn enter<'a>(world: &'a (dyn World + 'a)) -> Inside<'a> {
    let world: *const (dyn World + 'a) = world;
    // SAFETY: only the lifetime changes. `world` uses the pointer only while `Inside` is there,
    // which borrows the world.
    let world = unsafe { core::mem::transmute::<*const (dyn World + 'a), *const dyn World>(world) };
    Inside(WORLD.with(|cell| cell.replace(Some(world))), PhantomData)
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        WORLD.with(|cell| cell.set(self.0));
    }
}

/// Returns the world that this thread is in. The reference must not be kept.
pub(super) fn world<'a>() -> Option<&'a dyn World> {
    // A thread whose thread-locals are gone is in no world.
    let world = WORLD.try_with(Cell::get).ok().flatten()?;
    // SAFETY: set by `enter`, and reset before the world goes away. No other thread of the world
    // runs now, by `enter`'s contract.
    Some(unsafe { &*world })
}

/// Whether this thread is in a world.
pub(crate) fn is_inside() -> bool {
    world().is_some()
}

/// Returns the number of the world that this thread is in, and 0 if there is none.
fn number() -> u64 {
    world().map_or(0, |world| world.simulation().number())
}

/// Refuses to use an executor elsewhere than where it belongs: a real one in a simulation, or a
/// simulated one outside or in another simulation. One that has closed may be used anywhere.
pub(super) fn check_place(shared: &Shared) {
    if shared.simulation_number() != number() && !shared.is_closed() {
        refuse(shared.is_simulated());
    }
}

#[cold]
fn refuse(is_simulated: bool) -> ! {
    if is_simulated {
        panic!(
            "this executor belongs to a simulation, and this thread does not, or to another one; \
             in a simulation use `joint_executor::spawn_blocking` instead of `std::thread::spawn`, and let \
             each simulation build its own executors"
        );
    }
    panic!(
        "this executor was made outside of the simulation that uses it, and its threads would not \
         take turns with the simulation; use `joint_executor::spawn`, or build the executor inside"
    );
}

/// Runs a whole world, which sees nothing of the executors and tasks that its thread is in.
pub(crate) fn run_outermost<R>(f: impl FnOnce() -> R) -> R {
    let f = || task_local::without_values(f);
    local::without_current(|| current::without_current(|| entered::without_entered(f)))
}

/// Runs code of other tasks inside a poll. The code sees nothing that is set for the poll, and it
/// is not a worker's.
pub(crate) fn run_apart(f: impl FnOnce()) {
    apart::run_apart(|| current::without_current(|| entered::without_entered(f)));
}

/// The panic by which waits end in a run that is over.
pub(crate) struct RunHasEnded;

/// Calls a function that may block, in a world. If the run ends meanwhile, it is cancelled: it asks
/// to be run again, and what it is then given to drops it.
pub(super) async fn call<T>(f: impl FnOnce() -> T) -> T {
    let called = catch_unwind(AssertUnwindSafe(f));
    let is_over = called
        .as_ref()
        .is_err_and(|payload| payload.is::<RunHasEnded>());
    if !is_over {
        return called.unwrap_or_else(|payload| resume_unwind(payload));
    }
    drop(called);
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Runs a call that may block, which belongs to an executor but to none of its workers.
pub(crate) fn run_call(executor: &Executor, call: task::Runnable) {
    entered::enter(executor, || call.run());
}

/// An executor whose workers have no threads. They belong to the world.
pub(crate) struct Simulated {
    shared: Arc<Shared>,
}

/// A worker without a thread.
pub(crate) struct OwnWorker {
    worker: Worker,
    part: Part,
}

impl OwnWorker {
    /// Runs a task once, with a budget of so many operations if one is given. Returns the task if
    /// it was woken meanwhile.
    ///
    /// This thread goes on to act as the worker, until `acts` acts as another one or is dropped.
    ///
    /// # Safety
    /// This stays where it is until then.
    #[inline(always)]
    pub(crate) unsafe fn run(
        &self,
        acts: &ActsAs,
        task: Task,
        operations: Option<u64>,
    ) -> Option<Task> {
        // SAFETY: the part is the worker's, which stays where it is by this function's contract.
        unsafe { acts.play(&self.worker, self.part) };
        self.worker.run_simulated(task.0, operations).map(Task)
    }

    /// Cancels a task.
    pub(crate) fn discard(&self, task: Task) {
        self.worker.discard_simulated(task.0);
    }

    /// Calls `f` as this worker.
    pub(crate) fn act<R>(&self, f: impl FnOnce() -> R) -> R {
        self.worker.as_current(f)
    }

    /// Takes all that it has queued.
    #[inline(always)]
    pub(crate) fn take_queued(&self, mut take: impl FnMut(Task)) {
        self.worker.take_queued(|runnable| take(Task(runnable)));
    }
}

/// A task of a simulated executor that is ready to run.
pub(crate) struct Task(Runnable);

impl Task {
    #[inline]
    pub(crate) fn id(&self) -> Id {
        self.0.id()
    }

    /// A waker of it.
    pub(crate) fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// Which workers may run it.
    #[inline]
    pub(crate) fn run_by(&self) -> RunBy {
        RunBy::of(&self.0)
    }
}

impl Simulated {
    pub(crate) fn id(&self) -> ExecutorId {
        ExecutorId::of(Arc::as_ptr(&self.shared))
    }

    /// Takes all that was queued by threads that are not its workers.
    pub(crate) fn take_injected(&self, mut take: impl FnMut(Task)) {
        self.shared.take_injected(|runnable| take(Task(runnable)));
    }

    /// The earliest deadline of a timer that has not been given up, in nanoseconds of the clock.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let all = self.shared.driver.all_timers().iter();
        let used = all.filter(|timers| timers.earliest() != NEVER);
        let now = clock::now();
        used.map(|timers| timers.settle(now))
            .min()
            .filter(|&next| next != NEVER)
    }

    /// Takes the wakers of all timers that are due.
    pub(crate) fn fire(&self, now: u64, wakers: &mut Vec<Waker>) {
        for timers in self.shared.driver.all_timers() {
            while timers.fire(now, wakers) == Fired::OneBatch {}
        }
    }

    /// Calls `f` with each task of the executor that is awaited, and with the object that its end
    /// wakes, both by their addresses. That of a task is its [`Id`].
    pub(crate) fn each_joined(&self, mut f: impl FnMut(usize, usize)) {
        self.shared.each_waiting(|task| {
            // SAFETY: an entry in use means that the task is alive.
            if let Some(waiter) = unsafe { Runnable::raw_waiter(task) } {
                f(task.addr().get(), waiter);
            }
        });
    }

    /// Whether no task begins another poll.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Lets no task begin another poll.
    pub(crate) fn close(&self) {
        self.shared.close();
    }

    /// Drops everything that is left. These are the workers, none of which may be in a poll.
    /// `queued` is what was taken from the queues before.
    pub(crate) fn end(&self, workers: &[&OwnWorker], queued: impl IntoIterator<Item = Task>) {
        self.shared.close();
        for task in queued {
            let worker = match task.run_by() {
                RunBy::Any => 0,
                RunBy::Only(worker) => worker,
            };
            workers[worker].worker.give_back(task.0);
        }
        for worker in 0..workers.len() {
            self.shared.arrive(worker);
        }
        for own in workers {
            own.worker.end_simulated();
        }
    }
}

/// The virtual time of a world's threads, in nanoseconds of the clock.
pub(crate) mod virtual_time {
    use core::time::Duration;

    use super::{clock, time};

    /// Sets the time of this thread.
    pub(crate) fn set(nanos: u64) {
        time::set_virtual(Some(clock::base() + Duration::from_nanos(nanos)));
    }

    /// Lets this thread follow the real clock again.
    pub(crate) fn reset() {
        time::set_virtual(None);
    }
}

/// Starts an executor of this thread's world.
pub(super) fn start(world: &dyn World, workers: usize, settings: Builder) -> io::Result<Executor> {
    // One thread is all workers.
    let fences = Fences::ordinary().among(1);
    let lanes = Lanes::of(workers, fences);
    let shared = Arc::new_cyclic(|shared: &alloc::sync::Weak<Shared>| {
        let id = ExecutorId::of(shared.as_ptr());
        let hooks = observed(settings.hooks, id);
        Shared::simulated(&lanes, fences, hooks, world.simulation().clone())
    });
    let workers = (0..).zip(lanes).map(|(index, lanes)| {
        let worker = Worker::new(shared.clone(), index, lanes);
        let part = Part::of(&worker);
        OwnWorker { worker, part }
    });
    let workers: Vec<_> = workers.collect();
    for own in &workers {
        own.worker.begin_simulated();
    }
    let simulated = Simulated {
        shared: shared.clone(),
    };
    world.started(simulated, workers);
    Ok(Executor {
        shared,
        threads: Vec::new(),
    })
}

/// Lets the world know of each task that is spawned or ends, before the user's own hooks do.
fn observed(mut hooks: Hooks, id: ExecutorId) -> Hooks {
    let (on_spawn, on_end) = (hooks.on_spawn.take(), hooks.on_end.take());
    hooks.on_spawn = Some(Box::new(move |task| {
        if let Some(world) = world() {
            world.spawned(id, task);
        }
        if let Some(hook) = &on_spawn {
            hook(task);
        }
    }));
    hooks.on_end = Some(Box::new(move |task, how| {
        if let Some(world) = world() {
            world.ended(id, task, how);
        }
        if let Some(hook) = &on_end {
            hook(task, how);
        }
    }));
    hooks
}

impl Executor {
    /// Shuts down an executor without threads. Returns whether it has ended.
    pub(super) fn shut_down_simulated(&self) -> Ended {
        let id = ExecutorId::of(Arc::as_ptr(&self.shared));
        match world().filter(|world| world.simulation().number() == self.shared.simulation_number())
        {
            Some(world) => world.shut_down(id),
            // Elsewhere than in its world: the world ends it at its next step, or has ended it.
            None => {
                self.shared.close();
                Ended::Later
            }
        }
    }
}
