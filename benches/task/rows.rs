//! The rows of a runtime of one thread: everything happens in a task, through the runtime's queue.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    hint::black_box,
    sync::{Arc, Mutex, mpsc},
    task::{Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use joint_benches::{
    runtime::{Runtime, Yield},
    table::Row,
};

/// How many tasks exist at once.
const TASKS: usize = super::STORM as usize;
/// How often each task is woken.
const ROUNDS: usize = 10;
/// How many tasks yield in turn, and how often each does.
const YIELDS: [usize; 2] = [200, 50];

pub(crate) fn all<R: Runtime>() -> [Row<R>; 3] {
    let [tasks, times] = YIELDS;
    [
        Row::new("spawn 1,000, join them", TASKS, spawn_join_many::<R>),
        Row::new("yield, 200 tasks in turn", tasks * times, yields::<R>),
        Row::new(
            "wake 1,000 from another thread",
            ROUNDS * TASKS,
            wake_from_elsewhere::<R>,
        ),
    ]
}

fn spawn_join_many<R: Runtime>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        let mut handles = Vec::with_capacity(TASKS);
        let start = Instant::now();
        handles.extend((0..TASKS).map(|i| runtime.spawn(async move { black_box(i) })));
        R::join_all(handles).await;
        start.elapsed()
    })
}

fn yields<R: Runtime>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        let [tasks, times] = YIELDS;
        let start = Instant::now();
        let many = (0..tasks).map(|_| {
            runtime.spawn(async move {
                for _ in 0..times {
                    Yield::default().await;
                }
            })
        });
        R::join_all(many.collect()).await;
        start.elapsed()
    })
}

thread_local! {
    /// How many tasks have run since they were woken.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Waits until all have.
    static WAITER: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Counts one task that has run.
fn count() {
    COUNT.set(COUNT.get() + 1);
    if COUNT.get() == TASKS
        && let Some(waker) = WAITER.take()
    {
        waker.wake();
    }
}

/// Waits until all tasks have run.
async fn counted() {
    poll_fn(|cx| {
        if COUNT.get() == TASKS {
            return Poll::Ready(());
        }
        WAITER.set(Some(cx.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// Another thread wakes idle tasks, which run here, until all have run.
///
/// This thread waits until all are woken. On one core the kernel would otherwise switch between the
/// threads whenever this one has had less time, so the more often, the less a run costs: for 1,000
/// tasks, 12 times with joint and once with async-task.
fn wake_from_elsewhere<R: Runtime>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        let wakers = Arc::new(Mutex::new(Vec::new()));
        COUNT.set(0);
        let spawn_one = |_| {
            let mut wakers = Some(wakers.clone());
            runtime.spawn(poll_fn(move |cx| {
                if let Some(wakers) = wakers.take() {
                    wakers.lock().expect("no panics").push(cx.waker().clone());
                }
                count();
                Poll::<()>::Pending
            }))
        };
        let handles: Vec<_> = (0..TASKS).map(spawn_one).collect();
        counted().await;
        let wakers = std::mem::take(&mut *wakers.lock().expect("no panics"));
        let (go, gone) = mpsc::channel();
        let (done, woken) = mpsc::channel();
        let waking = thread::spawn(move || {
            for () in gone {
                wakers.iter().for_each(Waker::wake_by_ref);
                done.send(()).expect("the other thread listens");
            }
        });
        let start = Instant::now();
        for _ in 0..ROUNDS {
            COUNT.set(0);
            go.send(()).expect("the other thread listens");
            woken.recv().expect("the other thread wakes them all");
            counted().await;
        }
        let taken = start.elapsed();
        drop(go);
        waking.join().expect("no panics");
        handles.into_iter().for_each(R::cancel);
        taken
    })
}
