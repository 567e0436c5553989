//! While all workers are busy with tasks of their own, no cache line is written by two of them.
//! The test compares the memory of an executor, allocated until each worker has done everything
//! once, before and after each of many steps of one worker, while the others are blocked. It does
//! not see a write that is taken back before the next comparison, nor writes to statics.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    ptr::null_mut,
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicPtr, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
        mpsc,
    },
    task::Poll,
    time::Duration,
};

use joint::{block_on, oneshot};
use joint_executor::{Executor, join, spawn, spawn_detached, time::sleep, yield_now};

/// The size of a cache line.
const LINE: usize = 64;
/// The least distance between the beginnings of two allocations, so that they share no line.
const APART: usize = 128;
/// The tasks here are not larger.
const LARGEST_TASK: usize = 128;
const ROOM: usize = 16 << 20;
const WORKERS: usize = 3;
const ROUNDS: usize = 200;

/// The system's allocator, which hands out one stretch of memory while it is told to.
struct Stretch;

#[global_allocator]
static HEAP: Stretch = Stretch;

/// Whether the stretch is for everything, as long as the executor is being built.
static IS_BUILDING: AtomicBool = AtomicBool::new(false);
/// Whether it is for what the workers allocate that is too large for a task, such as a queue.
static IS_GROWING: AtomicBool = AtomicBool::new(false);
static START: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

impl Stretch {
    fn open() {
        let layout = Layout::from_size_align(ROOM, APART).unwrap();
        // SAFETY: the layout is not empty.
        let start = unsafe { System.alloc_zeroed(layout) };
        assert!(!start.is_null());
        START.store(start, Release);
    }

    fn is_for(layout: Layout) -> bool {
        let is_growth = || IS_WORKER.get() && layout.size() > LARGEST_TASK;
        IS_BUILDING.load(Acquire) || (IS_GROWING.load(Acquire) && is_growth())
    }

    /// Its words, as far as they are used.
    fn words() -> impl Iterator<Item = u64> {
        let start = START.load(Acquire).cast::<u64>();
        (0..USED.load(Acquire) / size_of::<u64>()).map(move |i| {
            // SAFETY: within the stretch.
            let word = unsafe { start.add(i) };
            // SAFETY: aligned, never freed, and nobody else is running.
            unsafe { AtomicU64::from_ptr(word) }.load(Relaxed)
        })
    }
}

// SAFETY: each block is the system's, or a piece of the stretch that is handed out once.
unsafe impl GlobalAlloc for Stretch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::is_for(layout) && layout.align() <= APART {
            let size = layout.size().next_multiple_of(APART);
            let begin = USED.fetch_add(size, Relaxed);
            assert!(begin + size <= ROOM, "the stretch is used up");
            // SAFETY: within the stretch.
            return unsafe { START.load(Acquire).add(begin) };
        }
        // SAFETY: the caller's promises are those that this needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let start = START.load(Acquire).addr();
        if start == 0 || !(start..start + ROOM).contains(&block.addr()) {
            // SAFETY: the caller's promises are those that this needs; the block came from there.
            unsafe { System.dealloc(block, layout) }
        }
    }
}

/// The changes since the first comparison.
#[derive(Default)]
struct Changes {
    last: Vec<u64>,
    lines: BTreeSet<usize>,
}

impl Changes {
    fn begin() -> Self {
        Self {
            last: Stretch::words().collect(),
            lines: BTreeSet::new(),
        }
    }

    fn compare(&mut self) {
        for (i, (last, now)) in self.last.iter_mut().zip(Stretch::words()).enumerate() {
            if *last != now {
                *last = now;
                self.lines.insert(i * size_of::<u64>() / LINE);
            }
        }
    }
}

/// Those of the worker that runs. `None` before that.
static CHANGES: Mutex<Option<Changes>> = Mutex::new(None);

fn compare() {
    if let Some(changes) = &mut *CHANGES.lock().unwrap() {
        changes.compare();
    }
}

/// Everything that a task does often, on one worker.
async fn everything() {
    for _ in 0..ROUNDS {
        let child = spawn(async {
            compare();
            yield_now().await;
            compare();
        });
        child.await;
        compare();
        let (sender, receiver) = oneshot::channel();
        spawn_detached(async {
            compare();
            sender.send(()).unwrap();
            compare();
        });
        receiver.await.unwrap();
        let cancelled = spawn(std::future::pending::<()>());
        yield_now().await;
        compare();
        drop(cancelled);
        compare();
        join(compare, compare);
        let mut sleep = pin!(sleep(Duration::from_secs(3600)));
        poll_fn(|cx| {
            assert!(sleep.as_mut().poll(cx).is_pending());
            compare();
            Poll::Ready(())
        })
        .await;
        compare();
    }
}

/// Runs something on one worker while all others are blocked, and after this thread has written
/// what it writes to wake that worker.
fn alone<T: Send + 'static>(
    executor: &Executor,
    worker: usize,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    let (begun, has_begun) = mpsc::channel();
    let others = (0..WORKERS).filter(|other| *other != worker);
    let others: Vec<_> = others
        .map(|other| {
            let (end, is_over) = mpsc::channel::<()>();
            let begun = begun.clone();
            let blocked = executor.spawn_on(other, async move {
                begun.send(()).unwrap();
                is_over.recv().unwrap();
            });
            (end, blocked)
        })
        .collect();
    others.iter().for_each(|_| has_begun.recv().unwrap());
    let (spawned, is_spawned) = mpsc::channel();
    let output = executor.spawn_on(worker, async move {
        is_spawned.recv().unwrap();
        future.await
    });
    spawned.send(()).unwrap();
    let output = block_on(output);
    for (end, blocked) in others {
        end.send(()).unwrap();
        block_on(blocked);
    }
    output
}

#[test]
fn no_line_is_written_by_two_busy_workers() {
    Stretch::open();
    IS_BUILDING.store(true, Release);
    let executor = Executor::builder()
        .workers(WORKERS)
        .on_thread_start(|_| IS_WORKER.set(true))
        .build()
        .unwrap();
    IS_BUILDING.store(false, Release);
    IS_GROWING.store(true, Release);
    (0..WORKERS).for_each(|worker| alone(&executor, worker, everything()));
    IS_GROWING.store(false, Release);
    let lines = |worker| {
        alone(&executor, worker, async {
            *CHANGES.lock().unwrap() = Some(Changes::begin());
            everything().await;
            let changes = CHANGES.lock().unwrap().take();
            changes.unwrap().lines
        })
    };
    let written: Vec<_> = (0..WORKERS).map(lines).collect();
    for (worker, lines) in written.iter().enumerate() {
        assert!(!lines.is_empty(), "its counters at least");
        for (other, others) in written.iter().enumerate().skip(worker + 1) {
            let both: Vec<_> = lines.intersection(others).collect();
            assert!(both.is_empty(), "{worker} and {other} write {both:?}");
        }
    }
}
