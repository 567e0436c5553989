//! Models of the local executor: its inbox alone, with a counting waker for the owner that sleeps,
//! and the whole executor, whose thread is one of the model's.

use std::sync::{Mutex, atomic::AtomicUsize};

use joint::waker::ThinWaker;
use joint_executor::model::LocalInbox;
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

type Ran = Arc<AtomicUsize>;

/// A thread that writes a mark and then pushes a task that reads it. The task is made here, because
/// making an atomic is an edge for the model.
fn start_pusher(inbox: &Arc<LocalInbox>, ran: &Ran) -> thread::JoinHandle<()> {
    let (inbox, ran, mark) = (inbox.clone(), ran.clone(), Arc::new(Mark::named("mark")));
    let read = mark.clone();
    let future = async move {
        read.read();
        ran.fetch_add(1, Relaxed);
    };
    let runnable = task::spawn_detached(future, |_| unreachable!("never woken"));
    thread::spawn(move || {
        mark.write();
        inbox.push(runnable);
    })
}

fn run(runnable: Runnable) {
    runnable.run();
}

/// The owner goes to sleep while two threads push: either it finds one of the pushes, or one of
/// them wakes it, once.
#[test]
fn a_push_wakes_the_owner_that_sleeps_once() {
    model_bounded(3, || {
        let inbox = Arc::new(LocalInbox::new());
        let ran = Arc::new(AtomicUsize::new(0));
        let pushers = [(); 2].map(|()| start_pusher(&inbox, &ran));
        let wakes = Wakes::new();
        let slept = inbox.sleep(ThinWaker::from(wakes.waker()));
        join_all(pushers);
        assert_eq!(wakes.count(), usize::from(slept));
        assert_eq!(wakes.wakers(), 0);
        assert!(inbox.rise(run).is_none());
        assert_eq!(ran.load(Relaxed), 2);
    });
}

/// The owner rises by itself while another thread pushes: either it still has the waker, or the
/// push has woken it.
#[test]
fn an_owner_that_rises_has_its_waker_or_was_woken() {
    model(|| {
        let inbox = Arc::new(LocalInbox::new());
        let ran = Arc::new(AtomicUsize::new(0));
        let wakes = Wakes::new();
        assert!(inbox.sleep(ThinWaker::from(wakes.waker())));
        let pusher = start_pusher(&inbox, &ran);
        let own = inbox.rise(run);
        pusher.join().unwrap();
        assert_eq!(wakes.count(), usize::from(own.is_none()));
        inbox.take(run);
        assert_eq!(ran.load(Relaxed), 1);
        drop(own);
        assert_eq!(wakes.wakers(), 0);
    });
}

#[test]
fn a_wake_up_from_elsewhere_runs_a_task_of_a_sleeping_executor() {
    model_bounded(3, || {
        let mark = Arc::new(Mark::named("mark"));
        let executor = LocalExecutor::new();
        let (written, read) = (mark.clone(), mark);
        let task = executor.spawn(async move {
            let local = Rc::new(());
            second_poll(move |waker| {
                thread::spawn(move || {
                    written.write();
                    waker.wake();
                });
            })
            .await;
            drop(local);
            read.read();
        });
        executor.block_on(task);
    });
}

/// The same, driven by another waker.
#[test]
fn a_wake_up_by_another_thread_wakes_the_driver_of_a_run() {
    model_bounded(2, || {
        let executor = LocalExecutor::new();
        let task = executor.spawn(second_poll(|waker| {
            thread::spawn(move || waker.wake());
        }));
        block_on(executor.run(task));
    });
}

/// A waker of the main future, cloned, used and dropped while the executor ends. Its thread is not
/// joined, because loom mistakes a wake-up of a joining thread for the end of the thread that it
/// joins.
#[test]
fn a_waker_of_the_main_future_may_outlive_the_executor() {
    model(|| {
        let executor = LocalExecutor::new();
        let waker = executor.block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
        thread::spawn(move || {
            let second = waker.clone();
            second.wake();
            drop(waker);
        });
        drop(executor);
    });
}

/// Demands to be dropped by the thread that made it.
struct AtHome(thread::ThreadId, Arc<AtomicUsize>);

impl AtHome {
    fn new(drops: &Arc<AtomicUsize>) -> Self {
        Self(thread::current().id(), drops.clone())
    }
}

impl Drop for AtHome {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(
                self.0 == thread::current().id(),
                "a local future, elsewhere"
            );
            self.1.fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn the_end_waits_for_a_task_being_woken_and_drops_it_at_home() {
    model_bounded(3, || {
        let drops = Arc::new(AtomicUsize::new(0));
        let executor = LocalExecutor::new();
        let slot = Arc::new(Mutex::new(None));
        let (guard, keep) = (AtHome::new(&drops), slot.clone());
        let handle = executor.spawn(async move {
            let _guard = guard;
            second_poll(move |waker| *keep.lock().unwrap() = Some(waker)).await;
        });
        assert!(executor.try_tick());
        let waker = slot.lock().unwrap().take().unwrap();
        let waking = thread::spawn(move || {
            waker.wake();
            drop(handle);
        });
        drop(executor);
        assert_eq!(drops.load(Relaxed), 1);
        waking.join().unwrap();
    });
}

#[test]
fn the_end_against_the_drop_of_the_handle() {
    model_bounded(3, || {
        let drops = Arc::new(AtomicUsize::new(0));
        let executor = LocalExecutor::new();
        let guard = AtHome::new(&drops);
        let handle = executor.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        assert!(executor.try_tick());
        let dropping = thread::spawn(move || drop(handle));
        drop(executor);
        assert_eq!(drops.load(Relaxed), 1);
        dropping.join().unwrap();
    });
}

/// No read-modify-write for each yield: those of the whole are the same for one and for four.
#[test]
fn a_yield_takes_none() {
    model(|| {
        let taken = |yields: usize| {
            let executor = LocalExecutor::new();
            let yields = async move {
                for _ in 0..yields {
                    yield_now().await;
                }
            };
            rmws_of(|| executor.block_on(executor.spawn(yields)))
        };
        let [one, four] = [1, 4].map(taken);
        assert_eq!(four, one);
    });
}

/// An await of a task takes the task's own two, and a clone and a drop of the main future's waker.
#[test]
fn a_main_future_that_awaits_a_task_takes_four() {
    model(|| {
        let taken = |tasks: usize| {
            let executor = LocalExecutor::new();
            let awaits = async {
                for _ in 0..tasks {
                    executor.spawn(async {}).await;
                }
            };
            rmws_of(|| executor.block_on(awaits))
        };
        let [none, one, four] = [0, 1, 4].map(taken);
        assert_eq!((none, one, four), (0, 4, 16));
    });
}

#[test]
fn a_detached_task_takes_none() {
    model(|| {
        let executor = LocalExecutor::new();
        let taken = rmws_of(|| {
            executor.spawn_detached(async { Rc::new(7) });
            assert!(executor.try_tick());
        });
        assert_eq!(taken, 0);
    });
}
