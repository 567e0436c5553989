//! The cache lines that each path moves from one core to another: the table *Cache lines
//! that move* of `docs/executor.md`. Counted here are tasks, the counts of idle workers, the queues
//! and thefts, the injector, the register of waiting tasks, and timers. The rest of the table
//! follows from the source: the counters of a thread, the count of the executor's owners, and the
//! waiters for a descriptor.
//!
//! A line moves if a core accesses it that has no copy, because another core has written it since.
//! The full fences of a join are counted as well.
//!
//! The models here have one thread, which acts for one core after the other, so the count does not
//! depend on a schedule. What one call makes is taken for one line: a task is 48 bytes and a
//! future.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::Wake,
};

use joint_executor::model::Sleep;
use joint_switch::model::observe::{Act, Operation};

use crate::prelude::*;

#[derive(Default)]
struct Cores {
    /// The line of each place.
    lines: BTreeMap<u64, u64>,
    /// The cores that have a copy of each line. One that has just been written has one copy.
    copies: BTreeMap<u64, BTreeSet<usize>>,
    /// The lines for what is being made, one for each place. All further places are on the last of
    /// them. Outside of `on_lines` there are none, and each place has a line of its own.
    next_lines: Vec<u64>,
    core: usize,
    moves: usize,
    fences: usize,
}

thread_local! {
    static CORES: RefCell<Cores> = RefCell::default();
    static QUEUE: RefCell<Vec<Runnable>> = const { RefCell::new(Vec::new()) };
}

impl Cores {
    fn access(&mut self, place: u64, is_write: bool) {
        // Made without an observer, as the model's own counters are.
        let Some(line) = self.lines.get(&place) else {
            return;
        };
        let copies = self.copies.entry(*line).or_default();
        self.moves += usize::from(!copies.contains(&self.core));
        if is_write {
            copies.clear();
        }
        copies.insert(self.core);
    }
}

fn made(_: Made, _: &'static std::panic::Location<'static>) -> u64 {
    CORES.with_borrow_mut(|cores| {
        let place = cores.lines.len() as u64 + 1;
        let line = match cores.next_lines[..] {
            [] => place,
            [last] => last,
            _ => cores.next_lines.remove(0),
        };
        cores.lines.insert(place, line);
        cores.copies.entry(line).or_default().insert(cores.core);
        place
    })
}

fn begins(operation: Operation) {
    let is_write = match operation.act {
        Act::Load | Act::Read => false,
        Act::Fence => {
            let is_full = operation.order == SeqCst;
            return CORES.with_borrow_mut(|cores| cores.fences += usize::from(is_full));
        }
        Act::Park | Act::Unpark(_) => return,
        _ => true,
    };
    CORES.with_borrow_mut(|cores| cores.access(operation.place, is_write));
}

fn count(world: impl Fn() + Send + Sync + 'static) {
    // A wrong count does not say that a change is an error.
    joint_mutants::leave_out();
    model(move || {
        CORES.take();
        set_observer(Some(Observer {
            made,
            begins,
            ended: |_| (),
        }));
        world();
        set_observer(None);
    });
}

/// Makes something whose places lie on these lines, in the order in which they are made.
fn on_lines<T>(lines: &[u64], make: impl FnOnce() -> T) -> T {
    CORES.with_borrow_mut(|cores| {
        let first = cores.lines.len() as u64 + 1;
        cores.next_lines = lines.iter().map(|line| first + line).collect();
    });
    let made = make();
    CORES.with_borrow_mut(|cores| cores.next_lines.clear());
    made
}

fn on_one_line<T>(make: impl FnOnce() -> T) -> T {
    on_lines(&[0], make)
}

fn moves_on(core: usize, f: impl FnOnce()) -> usize {
    let before = CORES.with_borrow_mut(|cores| {
        cores.core = core;
        cores.moves
    });
    f();
    CORES.with_borrow(|cores| cores.moves) - before
}

fn fences_of(f: impl FnOnce()) -> usize {
    let before = CORES.with_borrow(|cores| cores.fences);
    f();
    CORES.with_borrow(|cores| cores.fences) - before
}

fn queue(runnable: Runnable) {
    QUEUE.with_borrow_mut(|queue| queue.push(runnable));
}

fn run_one() {
    let runnable = QUEUE.with_borrow_mut(Vec::pop);
    runnable.expect("a task is queued").run();
}

fn spawn<F>(future: F) -> joint::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (runnable, handle) = on_one_line(|| task::spawn(future, queue));
    queue(runnable);
    handle
}

fn take<T>(handle: joint::JoinHandle<T>) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(handle).poll(&mut cx).is_ready());
}

#[test]
fn a_task_of_one_worker_moves_nothing() {
    count(|| {
        let moved = moves_on(0, || {
            let handle = spawn(ready(7));
            run_one();
            take(handle);
        });
        assert_eq!(moved, 0);
    });
}

#[test]
fn a_stolen_task_moves_to_the_thief_and_back_to_its_joiner() {
    count(|| {
        let mut handle = None;
        assert_eq!(moves_on(0, || handle = Some(spawn(ready(7)))), 0);
        assert_eq!(moves_on(1, run_one), 1);
        assert_eq!(moves_on(0, || take(handle.take().unwrap())), 1);
    });
}

#[test]
fn a_stolen_task_without_a_handle_moves_once() {
    count(|| {
        let detached = || queue(on_one_line(|| task::spawn_detached(ready(()), queue)));
        assert_eq!(moves_on(0, detached), 0);
        assert_eq!(moves_on(1, run_one), 1);
    });
}

/// The waiter runs next where the task ended, which has both lines by then.
#[test]
fn a_task_that_waits_follows_the_stolen_one() {
    count(|| {
        let mut parent = None;
        let moved = moves_on(0, || {
            parent = Some(spawn(async { spawn(ready(7)).await }));
            run_one();
        });
        assert_eq!(moved, 0);
        let moved = moves_on(1, || {
            run_one();
            run_one();
        });
        assert_eq!(moved, 2, "the task that it waited for, and itself");
        assert_eq!(moves_on(0, || take(parent.take().unwrap())), 1);
    });
}

#[test]
fn a_wake_up_by_another_core_moves_the_task_there_and_back() {
    count(|| {
        let (runnable, handle) = on_one_line(|| task::spawn(pending::<()>(), queue));
        let waker = runnable.waker();
        moves_on(0, || _ = runnable.run());
        assert_eq!(moves_on(1, || waker.wake_by_ref()), 1);
        assert_eq!(
            moves_on(1, || waker.wake_by_ref()),
            0,
            "it is there already"
        );
        assert_eq!(moves_on(0, run_one), 1);
        let moved = moves_on(0, || {
            drop(waker);
            drop(handle);
            run_one();
        });
        assert_eq!(moved, 0, "the handle cancels it");
    });
}

/// Each push looks at the counts of sleeping workers, of which each core keeps a copy.
#[test]
fn pushes_move_nothing_while_all_workers_are_active() {
    count(|| {
        let sleep = Sleep::new(2);
        moves_on(1, || sleep.notify());
        for core in [0, 1, 0, 1] {
            assert_eq!(moves_on(core, || sleep.notify()), 0);
        }
    });
}

/// Every worker that begins or ends a search writes the counts, and so moves the line from all that
/// push.
#[test]
fn a_search_moves_the_counts_and_the_next_push_moves_them_back() {
    count(|| {
        let sleep = Sleep::new(2);
        moves_on(1, || sleep.notify());
        moves_on(0, || sleep.notify());
        moves_on(1, || sleep.search());
        moves_on(1, || sleep.found(|| false));
        assert_eq!(moves_on(0, || sleep.notify()), 1);
        assert_eq!(moves_on(1, || sleep.search()), 0, "only read elsewhere");
        assert_eq!(moves_on(0, || sleep.notify()), 1);
        moves_on(1, || sleep.found(|| false));
    });
}

/// The lines of a worker's queues: the rings of spawned tasks, of woken ones and of those of high
/// priority, each with its head, its tail, the head that its owner has seen, and its slots. A unit
/// test of `joint-executor/src/deques` holds where each of them begins.
const QUEUES: [u64; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
/// The number of slots on a line.
const SLOTS: usize = 8;

type Tasks = Deques<usize>;

/// Queues with slots for one kind of tasks, which are all on one line.
fn queues(push: fn(&Tasks, usize)) -> Tasks {
    let queues = on_lines(&QUEUES, Tasks::new);
    on_one_line(|| (0..SLOTS).for_each(|task| push(&queues, task)));
    empty(&queues);
    queues
}

fn empty(queues: &Tasks) {
    let next = || queues.pop_high().or_else(|| queues.pop_woken());
    while next().or_else(|| queues.pop_newest_spawned()).is_some() {}
}

/// The lines that a theft moves to the thief, and those that the owner's next run moves back. The
/// tasks come on top.
fn theft(push: fn(&Tasks, usize)) -> (usize, usize) {
    let moved = Arc::new(Mutex::new((0, 0)));
    let result = moved.clone();
    count(move || {
        let (mut own, mut thief) = (None, None);
        moves_on(0, || own = Some(queues(push)));
        moves_on(1, || thief = Some(queues(push)));
        let (own, thief) = (own.unwrap(), thief.unwrap());
        let stealer = own.stealer();
        // The first theft copies what is only read.
        for _ in 0..2 {
            assert_eq!(moves_on(0, || (0..2).for_each(|task| push(&own, task))), 0);
            let to_thief = moves_on(1, || {
                assert!(!stealer.is_empty());
                assert!(thief.steal_and_pop(&stealer, 1).is_some());
                empty(&thief);
            });
            let back = moves_on(0, || empty(&own));
            *moved.lock().unwrap() = (to_thief, back);
        }
    });
    *result.lock().unwrap()
}

#[test]
fn a_theft_moves_one_line_of_the_queues_and_one_of_the_slots() {
    assert_eq!(theft(Tasks::push_spawned), (2, 1), "the queues, the slots");
    assert_eq!(theft(Tasks::push_woken), (2, 1), "on the same line");
    assert_eq!(theft(Tasks::push_high), (2, 1), "on another one");
}

/// An idle worker reads the ends of the queues, which its owner has written.
#[test]
fn a_look_at_the_queues_of_a_busy_worker_moves_nothing_back() {
    count(|| {
        let own = queues(Tasks::push_spawned);
        let stealer = own.stealer();
        let run = || {
            own.push_spawned(7);
            assert!(own.pop_newest_spawned().is_some());
        };
        for expected in [2, 1] {
            assert_eq!(moves_on(0, run), 0);
            assert_eq!(moves_on(1, || assert!(stealer.is_empty())), expected);
        }
        assert_eq!(moves_on(0, run), 0);
    });
}

/// The last look of an idle worker writes them.
#[test]
fn a_last_look_moves_the_queues_of_a_busy_worker_there_and_back() {
    count(|| {
        let own = queues(Tasks::push_spawned);
        let stealer = own.stealer();
        let run = || {
            own.push_high(7);
            assert!(own.pop_high().is_some());
            own.push_spawned(7);
            assert!(own.pop_newest_spawned().is_some());
        };
        run();
        assert_eq!(moves_on(1, || stealer.meet()), 2);
        assert_eq!(moves_on(0, run), 2);
    });
}

fn injected() -> Runnable {
    on_one_line(|| task::spawn_detached(ready(()), queue))
}

#[test]
fn a_push_from_outside_moves_the_injector_and_the_task_before_it() {
    count(|| {
        let injector = on_one_line(Inbox::new);
        let push = || injector.push(injected());
        let run = |tasks| {
            let mut taken = 0;
            injector.take(usize::MAX, |task| {
                taken += 1;
                task.run();
            });
            assert_eq!(taken, tasks);
        };
        moves_on(0, push);
        moves_on(0, || run(1));
        assert_eq!(moves_on(2, push), 1, "the injector");
        assert_eq!(moves_on(2, push), 0, "the same thread again");
        assert_eq!(moves_on(3, push), 2, "the injector, and the last task");
        assert_eq!(moves_on(0, || run(3)), 4, "the injector, and the tasks");
        assert_eq!(moves_on(3, push), 1);
        assert_eq!(moves_on(0, || run(1)), 2);
    });
}

/// A task that waits in the registry of a worker, on whose core this is called.
fn waiting(registry: &Registry, worker: usize) -> (Event, joint::JoinHandle<()>) {
    let event = Event::default();
    let (task, handle) = on_one_line(|| registry.spawn(false, event.clone()));
    task.run(Some(worker));
    (event, handle)
}

#[test]
fn a_task_that_waits_is_registered_on_its_own_worker() {
    count(|| {
        let registry = Registry::new(2);
        let run = |worker| {
            let (event, handle) = waiting(&registry, worker);
            event.happen();
            registry.woken().expect("it was woken").run(Some(worker));
            take(handle);
        };
        // The first one makes room.
        for worker in [0, 1] {
            moves_on(worker, || run(worker));
        }
        for worker in [0, 1] {
            // The list of woken tasks is the model's own.
            moves_on(worker, || assert!(registry.woken().is_none()));
            assert_eq!(moves_on(worker, || run(worker)), 0);
        }
    });
}

/// The list in which its entry goes back stays with the worker that returns entries, until the
/// worker that they belong to needs room, or a third one returns an entry.
#[test]
fn a_waiting_task_that_ends_elsewhere_moves_itself_and_its_entry() {
    count(|| {
        let registry = Registry::new(2);
        let round = || {
            let mut waits = None;
            moves_on(0, || waits = Some(waiting(&registry, 0)));
            let (event, handle) = waits.take().expect("it waits");
            // The list of woken tasks is the model's own.
            moves_on(1, || assert!(registry.woken().is_none()));
            let moved = moves_on(1, || {
                event.happen();
                registry.woken().expect("it was woken").run(Some(1));
                take(handle);
            });
            moves_on(0, || assert!(registry.woken().is_none()));
            moved
        };
        // The first one makes copies of what is only read.
        round();
        assert_eq!(round(), 2);
    });
}

#[test]
fn a_join_makes_one_read_modify_write_and_no_full_fence() {
    count(|| {
        let forks = Forks::new(4);
        // SAFETY: one thread.
        let join = || _ = unsafe { forks.join(|| (), || ()) };
        assert_eq!(fences_of(join), 0);
        assert_eq!(rmws_of(join), 1);
    });
}

struct Counts(AtomicUsize);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_timer_moves_nothing_on_its_own_worker_and_its_queue_elsewhere() {
    count(|| {
        let timers = on_one_line(Timers::new);
        let counts = Arc::new(Counts(AtomicUsize::new(0)));
        let waker = || Waker::from(counts.clone());
        let fire = || {
            let mut woken = Vec::new();
            timers.fire(10, &mut woken);
            assert_eq!(woken.len(), 1);
            woken.into_iter().for_each(Waker::wake);
        };
        let arm = || assert!(timers.insert(5, waker()).is_some(), "it is open");
        let moved = moves_on(0, || {
            arm();
            fire();
        });
        assert_eq!(moved, 0);
        moves_on(0, arm);
        assert_eq!(moves_on(1, fire), 1);
        assert_eq!(moves_on(0, arm), 1);
        moves_on(0, || drop(timers.close()));
    });
}
