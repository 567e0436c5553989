//! What each path costs in cache lines that move from one core to another: the table *Many cores*
//! of the executor's documentation, as far as its parts are joint's own.
//!
//! A line moves if a core accesses it that has no copy, because another core has written it since.
//! The models here have one thread, which acts for one core after the other, so the count does not
//! depend on a schedule. What one call makes is taken for one line: a task is 48 bytes and a
//! future.
#![cfg(joint_loom)]

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    future::{Future, pending, ready},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use joint::{
    model::{
        Registry, Sleep, Timers,
        observe::{Act, Made, Observer, Operation, set_observer},
    },
    task::{self, Runnable},
};
use loom_tests::model;

#[derive(Default)]
struct Cores {
    /// The line of each place.
    lines: BTreeMap<u64, u64>,
    /// The cores that have a copy of each line. One that has just been written has one copy.
    copies: BTreeMap<u64, BTreeSet<usize>>,
    /// The line for all that is being made, or else each has its own.
    line: Option<u64>,
    core: usize,
    moves: usize,
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
        let line = cores.line.unwrap_or(place);
        cores.lines.insert(place, line);
        cores.copies.entry(line).or_default().insert(cores.core);
        place
    })
}

fn begins(operation: Operation) {
    let is_write = match operation.act {
        Act::Load | Act::Read => false,
        Act::Fence | Act::Park | Act::Unpark(_) => return,
        _ => true,
    };
    CORES.with_borrow_mut(|cores| cores.access(operation.place, is_write));
}

/// Counts in one world.
fn count(world: impl Fn() + Send + Sync + 'static) {
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

/// Makes something that lies on one line.
fn on_one_line<T>(make: impl FnOnce() -> T) -> T {
    let line = CORES.with_borrow(|cores| cores.lines.len() as u64 + 1);
    CORES.with_borrow_mut(|cores| cores.line = Some(line));
    let made = make();
    CORES.with_borrow_mut(|cores| cores.line = None);
    made
}

/// Does something on a core, and returns how many lines moved.
fn moves_on(core: usize, f: impl FnOnce()) -> usize {
    let before = CORES.with_borrow_mut(|cores| {
        cores.core = core;
        cores.moves
    });
    f();
    CORES.with_borrow(|cores| cores.moves) - before
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
fn a_stolen_task_moves_to_the_thief_and_back_to_who_joins_it() {
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

/// What a task waits for. It is no atomic of joint's, and so not counted.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn happen(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let waiter = state.1.take();
        drop(state);
        waiter.expect("a task waits").wake();
    }
}

impl Future for Event {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }
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
fn a_waiting_task_that_ends_elsewhere_moves_itself_alone() {
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
        assert_eq!(round(), 1);
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
