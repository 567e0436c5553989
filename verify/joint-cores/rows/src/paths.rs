//! The cache lines that each path of joint moves: one path at a time, on cores that take turns.

use std::{
    cell::RefCell,
    fmt::Write as _,
    future::{pending, poll_fn, ready},
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use joint::task::{self, Runnable};
use joint_executor::{Executor, join, spawn, time::sleep, yield_now};
use loom::{
    Counts, counts_here,
    hint::spin_loop,
    simulate,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread, work,
};

use crate::machines;

const TURNS: u64 = 1_000;
/// Long enough that what workers do once in a while does not count.
const BUSY: u64 = 20_000;
const HOUR: Duration = Duration::from_secs(3_600);

type Work = Box<dyn FnOnce()>;

/// A thread that does what it is given.
struct Actor {
    given: Rc<RefCell<Option<Work>>>,
    thread: thread::Thread,
}

thread_local! {
    /// The queue of the tasks that have no executor. It costs nothing.
    static QUEUE: RefCell<Vec<Runnable>> = RefCell::new(Vec::with_capacity(64));
}

fn queue(runnable: Runnable) {
    QUEUE.with_borrow_mut(|queue| queue.push(runnable));
}

fn run_one() {
    let runnable = QUEUE.with_borrow_mut(Vec::pop);
    runnable.expect("a task is queued").run();
}

fn take<T>(handle: joint::JoinHandle<T>) -> T {
    match pin!(handle).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the task has ended"),
    }
}

/// The table, and where it is filled in.
struct Paths {
    actors: Vec<Actor>,
    table: String,
}

impl Paths {
    fn new() -> Self {
        let actor = |_| {
            let given: Rc<RefCell<Option<Work>>> = Rc::default();
            let ours = given.clone();
            let handle = thread::spawn(move || {
                // All at once, so that each has a core of its own, to which it returns.
                work(1e6);
                loop {
                    let work = ours.take();
                    work.map_or_else(thread::park, |work| work());
                }
            });
            let thread = handle.thread().clone();
            Actor { given, thread }
        };
        let actors = (0..4).map(actor).collect();
        thread::sleep(Duration::from_millis(5));
        let table = "| path | lines that move to its core | read-modify-writes | full fences |\n\
                     |---|---|---|---|\n";
        let table = table.to_owned();
        Self { actors, table }
    }

    /// Does something on a core, and returns its result, and what has happened there.
    fn on<T: 'static>(&self, core: usize, f: impl FnOnce() -> T + 'static) -> (T, Counts) {
        let result = Rc::new(RefCell::new(None));
        let (ours, caller) = (result.clone(), thread::current());
        let work = move || {
            let before = counts_here();
            let value = f();
            *ours.borrow_mut() = Some((value, counts_here().since(before)));
            caller.unpark();
        };
        let actor = &self.actors[core];
        *actor.given.borrow_mut() = Some(Box::new(work));
        actor.thread.unpark();
        loop {
            match result.take() {
                Some(result) => return result,
                None => thread::park(),
            }
        }
    }

    fn row(&mut self, path: &str, counts: Counts, operations: u64) {
        let by = |count: u64| (count as f64 / operations as f64 * 100.0).round() / 100.0;
        let Counts {
            moves,
            exchanges,
            fences,
            ..
        } = counts;
        let (moves, exchanges, fences) = (by(moves), by(exchanges), by(fences));
        _ = writeln!(self.table, "| {path} | {moves} | {exchanges} | {fences} |");
    }

    /// Does something that returns a value, and adds a row.
    fn of<T: 'static>(&mut self, path: &str, core: usize, f: impl FnOnce() -> T + 'static) -> T {
        let (value, counts) = self.on(core, f);
        self.row(path, counts, 1);
        value
    }

    fn of_tasks(&mut self) {
        let spawn = || task::spawn(ready(7), queue);
        let add = |(runnable, handle)| {
            queue(runnable);
            handle
        };
        // The first one makes the thread-locals.
        for core in 0..2 {
            _ = self.on(core, move || {
                let handle = add(spawn());
                run_one();
                take(handle)
            });
        }
        self.of("spawn, run and join a task on one core", 0, move || {
            let handle = add(spawn());
            run_one();
            take(handle)
        });
        let handle = self.on(0, move || add(spawn())).0;
        self.of("run a task that another core has spawned", 1, run_one);
        self.of("join it, on the core that spawned it", 0, move || {
            take(handle)
        });
        self.on(0, || queue(task::spawn_detached(ready(()), queue)));
        self.of(
            "run a task without a handle that another core has spawned",
            1,
            run_one,
        );
        let (runnable, handle) = self.on(0, || task::spawn(pending::<()>(), queue)).0;
        let waker = runnable.waker();
        self.on(0, move || _ = runnable.run());
        let waker = self.of("wake a task that has run on another core", 1, move || {
            waker.wake_by_ref();
            waker
        });
        let waker = self.of("wake it again", 1, move || {
            waker.wake_by_ref();
            waker
        });
        self.of("run it where it ran before", 0, run_one);
        self.of("drop its waker and its handle, and end it", 0, move || {
            drop((waker, handle));
            run_one();
        });
        let channel = self.on(0, joint::oneshot::channel::<u32>).0;
        let (sender, receiver) = channel;
        self.of("send a value to a receiver of another core", 1, move || {
            sender.send(7).is_ok()
        });
        self.of("receive it", 0, move || joint::block_on(receiver).is_ok());
    }

    /// Does the same many times on two workers at once.
    fn both<F>(&mut self, path: &str, f: fn() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let executor = Executor::builder().workers(2).build();
        let executor: &Executor = Box::leak(Box::new(executor.expect("threads can be started")));
        let begun = Arc::new(AtomicUsize::new(0));
        let start = move |worker| {
            let begun = begun.clone();
            executor.spawn_on(worker, async move {
                begun.fetch_add(1, SeqCst);
                while begun.load(SeqCst) < 2 {
                    spin_loop();
                }
                for _ in 0..TURNS {
                    f().await;
                }
                let before = counts_here();
                // The other one is still busy when this one ends.
                for _ in 0..BUSY * (1 + worker as u64) {
                    f().await;
                }
                counts_here().since(before)
            })
        };
        // From two cores, so that the tasks do not lie on one line.
        let other_start = start.clone();
        let own = self.on(2, move || start(0)).0;
        let other = self.on(3, move || other_start(1)).0;
        let counts = joint::block_on(own);
        joint::block_on(other);
        self.row(path, counts, BUSY);
    }

    fn of_workers(&mut self) {
        self.both("spawn and join, on each of two workers", || async {
            spawn(ready(7)).await;
        });
        self.both("yield, on each of two workers", || async {
            yield_now().await
        });
        self.both("arm a timer and drop it, on each of two workers", || {
            poll_fn(|cx| {
                let is_armed = pin!(sleep(HOUR)).poll(cx).is_pending();
                assert!(is_armed, "an hour has not passed");
                Poll::Ready(())
            })
        });
        self.both("fork and join, on each of two workers", || async {
            join(|| (), || ());
        });
        let executor = Executor::builder()
            .workers(2)
            .build()
            .expect("threads can be started");
        let executor: &Executor = Box::leak(Box::new(executor));
        let spawn = || (0..TURNS).for_each(|_| executor.spawn_detached(ready(())));
        self.on(0, spawn);
        let (_, counts) = self.on(0, spawn);
        self.row(
            "spawn a task from a thread that is not a worker",
            counts,
            TURNS,
        );
    }
}

/// The table of `docs/executor.md`.
pub fn table() -> String {
    let costs = crate::costs_for::<crate::peers::Joint>(machines::SERVER, 1.0);
    simulate(8, costs, 0, || {
        let mut paths = Paths::new();
        paths.of_tasks();
        paths.of_workers();
        paths.table
    })
}
