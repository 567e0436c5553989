//! Models of a whole executor: two workers as threads of the model, with the loop, the queues, the
//! injector, the sleep protocol, the driver with its timers, and the shutdown of any executor.
//!
//! A run has about a thousand operations, most of them in the start and in the shutdown. Each model
//! therefore explores a window: the operations of all threads from `loom::explore` to
//! `loom::stop_exploring`. Outside of it, each thread runs until it waits.
//!
//! Time passes for a thread only while it is parked with a limit. If a worker is needed and nothing
//! wakes it, that is a deadlock, which loom reports.

use std::task::Wake;

use joint::JoinHandle;
use joint_executor::time::Sleep;
use loom::sync::Mutex;
use loom_tests::Flag;

use crate::prelude::*;

const SOON: Duration = Duration::from_millis(1);

/// Runs `f` with an executor of two workers, which are parked. `f` drops it, which shuts it down.
fn with_parked(preemptions: usize, f: impl Fn(Executor) + Send + Sync + 'static) {
    model_window(preemptions, move || {
        let executor = Executor::builder().workers(2).build().unwrap();
        let_run();
        f(executor);
    });
}

/// Lets the other threads run until they wait, outside of a window.
fn let_run() {
    // The threads take turns in the order in which they were started.
    loom::thread::spawn(|| {}).join().unwrap();
}

fn begin<F: Future>(future: Pin<&mut F>, waker: &Waker) {
    let polled = future.poll(&mut Context::from_waker(waker));
    assert!(polled.is_pending());
}

/// What the other worker does while a task blocks its own.
#[derive(Clone, Copy, PartialEq)]
enum Other {
    IsParked,
    /// It wakes up, finds nothing, and parks again.
    Parks,
}

fn in_a_task(preemptions: usize, other: Other, f: fn()) {
    with_parked(preemptions, move |executor| {
        let event = Event::default();
        let awaited = event.clone();
        let task = executor.spawn(async move {
            if other == Other::Parks {
                awaited.await;
            }
            loom::explore();
            f();
            loom::stop_exploring();
        });
        if other == Other::Parks {
            let_run();
            // The worker that runs this also runs the task, and wakes the other worker before.
            executor.spawn_detached(async move { event.happen() });
        }
        block_on(task);
    });
}

/// Blocks the worker until the task's child has ended, which only the other worker can run.
fn join_a_child() {
    assert_eq!(block_on(spawn(async { 7 })), 7);
}

/// A task awaits two children. The window begins when the other worker is about to steal them.
#[test]
fn a_worker_takes_its_tasks_while_another_steals_them() {
    with_parked(1, |executor| {
        let drops = Drops::default();
        let values = [(); 2].map(|()| drops.value());
        let task = executor.spawn(async move {
            let children = values.map(|value| spawn(async move { value }));
            loom::thread::yield_now();
            loom::explore();
            for child in children {
                child.await.take();
            }
            loom::stop_exploring();
        });
        block_on(task);
        drop(executor);
        drops.assert_all_of(2);
    });
}

#[test]
fn a_wake_up_from_outside_reaches_a_worker_that_parks() {
    with_parked(1, |executor| {
        let event = Event::default();
        let mut own = event.clone();
        let task = executor.spawn(poll_fn(move |cx| {
            let polled = Pin::new(&mut own).poll(cx);
            if polled.is_pending() {
                loom::explore();
            }
            polled
        }));
        loom::thread::yield_now();
        event.happen();
        block_on(task);
        loom::stop_exploring();
    });
}

/// Blocks the worker until the task's timer is due, so the other worker has to keep the driver.
fn wait_for_a_timer() {
    let due = Flag::new();
    let mut sleep = pin!(sleep(SOON));
    begin(sleep.as_mut(), &due.clone().into());
    while !due.is_up() {
        loom::thread::yield_now();
    }
}

/// A stranger: a waker that waits for a task when it is woken, or when it is dropped.
struct Stranger {
    task: Mutex<Option<JoinHandle<()>>>,
    timer: Mutex<Option<Pin<Box<Sleep>>>>,
    is_over: Mutex<Option<oneshot::Sender<()>>>,
}

impl Stranger {
    fn waits_for(&self, task: JoinHandle<()>) {
        *self.task.lock().unwrap() = Some(task);
    }

    /// A child of the current task is what it waits for.
    fn waits_for_child(&self) {
        self.waits_for(spawn(async {}));
    }

    fn wait(&self) {
        let task = self.task.lock().unwrap().take();
        // joint-check has no windows, so the timer may be due before there is a task.
        assert!(cfg!(joint_check) || task.is_some(), "it waits once");
        task.into_iter().for_each(block_on);
        loom::stop_exploring();
        drop(self.is_over.lock().unwrap().take());
    }
}

struct Woken(Arc<Stranger>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.wait();
    }
}

/// The window begins when it is woken.
struct Due(Arc<Stranger>);

impl Wake for Due {
    fn wake(self: Arc<Self>) {
        loom::explore();
        self.0.wait();
    }
}

struct Dropped(Arc<Stranger>);

impl Wake for Dropped {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.wait();
    }
}

type Awaited = Pin<Box<JoinHandle<()>>>;

/// Whatever place a stranger is called in, the other worker runs the task that it waits for.
fn stranger(place: fn(&Executor, &Arc<Stranger>) -> Option<Awaited>) {
    with_parked(1, move |executor| {
        let (sender, is_over) = oneshot::channel();
        let stranger = Arc::new(Stranger {
            task: Mutex::new(None),
            timer: Mutex::new(None),
            is_over: Mutex::new(Some(sender)),
        });
        let _awaited = place(&executor, &stranger);
        assert!(block_on(is_over).is_err());
    });
}

#[test]
fn a_stranger_at_the_end_of_a_task_waits_for_a_task() {
    stranger(|executor, stranger| {
        let own = stranger.clone();
        let (polled, is_polled) = oneshot::channel();
        let mut task = Box::pin(executor.spawn(async move {
            is_polled.await.unwrap();
            loom::explore();
            own.waits_for_child();
        }));
        begin(
            task.as_mut(),
            &Waker::from(Arc::new(Woken(stranger.clone()))),
        );
        polled.send(()).unwrap();
        Some(task)
    });
}

/// The worker parked in the driver wakes up for the timers of the stranger and of the task.
#[test]
fn a_stranger_in_the_driver_waits_for_a_task_that_is_due_too() {
    stranger(|executor, stranger| {
        let own = stranger.clone();
        executor.spawn_detached(async move {
            let mut timer = Box::pin(sleep(SOON));
            begin(timer.as_mut(), &Waker::from(Arc::new(Due(own.clone()))));
            *own.timer.lock().unwrap() = Some(timer);
            own.waits_for(spawn(sleep(SOON)));
        });
        None
    });
}

/// A task that waits, and whose future spawns the stranger's task when it is dropped.
fn cancelled(executor: &Executor, stranger: &Arc<Stranger>) -> JoinHandle<()> {
    struct OnDrop(Arc<Stranger>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            loom::explore();
            self.0.waits_for_child();
        }
    }
    let own = stranger.clone();
    let (begins, has_begun) = oneshot::channel();
    let task = executor.spawn(async move {
        let (_sender, receiver) = oneshot::channel::<()>();
        let mut receiver = pin!(receiver);
        let _spawns = OnDrop(own.clone());
        begin(receiver.as_mut(), &Waker::from(Arc::new(Dropped(own))));
        begins.send(()).unwrap();
        pending().await
    });
    block_on(has_begun).unwrap();
    let_run();
    task
}

#[test]
fn a_strangers_drop_in_a_cancelled_task_waits_for_another() {
    stranger(|executor, stranger| {
        let task = cancelled(executor, stranger);
        task.abort();
        Some(Box::pin(task))
    });
}

/// The executor is shut down while a worker runs a task, which begins to wait. The window ends when
/// the task's future is dropped, before the workers leave.
#[test]
fn the_executor_ends_while_a_task_runs() {
    struct Ends(Value);
    impl Drop for Ends {
        fn drop(&mut self) {
            loom::stop_exploring();
        }
    }
    with_parked(1, |executor| {
        let drops = Drops::default();
        let ends = Ends(drops.value());
        let task = executor.spawn(async move {
            loom::explore();
            ends.0.look();
            pending::<()>().await;
            drop(ends);
        });
        loom::thread::yield_now();
        drop(executor);
        assert!(block_on(task.result()).is_err());
        drops.assert_all_of(1);
    });
}

models! {
    a_task_that_blocks_its_worker_joins_a_child_that_a_parked_worker_runs: in_a_task(2, Other::IsParked, join_a_child);
    a_task_that_blocks_its_worker_joins_a_child_while_the_other_worker_parks: in_a_task(1, Other::Parks, join_a_child);
    a_timer_of_a_blocked_worker_is_due_while_the_other_is_parked: in_a_task(1, Other::IsParked, wait_for_a_timer);
    a_timer_of_a_blocked_worker_is_due_while_the_other_parks: in_a_task(1, Other::Parks, wait_for_a_timer);
}
