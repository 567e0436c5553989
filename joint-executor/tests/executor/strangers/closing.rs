//! Futures whose drop waits, at the end of an executor.

use crate::prelude::*;

#[test]
fn a_chain_of_drops_that_are_too_late_needs_no_stack() {
    /// Spawns the rest of the chain, on two executors by turns.
    fn spawn(executors: &Arc<[Executor; 2]>, left: usize) {
        let all = executors.clone();
        let then = OnDrop(move || {
            if left > 0 {
                spawn(&all, left - 1);
            }
        });
        executors[left % 2].spawn_detached(async move { drop(then) });
    }
    let ended = || {
        let (executor, worker) = bound();
        drop(worker);
        executor
    };
    let executors = Arc::new([ended(), ended()]);
    spawn(&executors, 100_000);
    assert_eq!(Arc::strong_count(&executors), 1, "a task is left");
}

type Waits = Pin<Box<dyn Future<Output = ()> + Send>>;
type Wakes = Box<dyn FnOnce(&mut Option<JoinHandle<()>>) + Send>;
/// Gets an executor that is not the one of the task.
type Way = fn(&'static Executor) -> (Waits, Wakes);

/// A future that waits, and what uses the waker of its task.
fn with_waker(wakes: fn(Waker, &mut Option<JoinHandle<()>>)) -> (Waits, Wakes) {
    let kept = Arc::new(Mutex::new(None));
    let waits = {
        let kept = kept.clone();
        poll_fn(move |cx| {
            *kept.lock().unwrap() = Some(cx.waker().clone());
            Poll::Pending
        })
    };
    let take = move || kept.lock().unwrap().take().expect("it has waited");
    (
        Box::pin(waits),
        Box::new(move |handle| wakes(take(), handle)),
    )
}

/// Ways to wake a task, some of which use another executor.
const WAYS: [(&str, Way); 10] = [
    ("by value", |_| with_waker(|waker, _| waker.wake())),
    ("by reference", |_| {
        with_waker(|waker, _| waker.wake_by_ref())
    }),
    ("the last waker is dropped", |_| {
        with_waker(|_waker, handle| handle.take().unwrap().detach())
    }),
    ("the handle is dropped", |_| {
        with_waker(|_, handle| drop(handle.take()))
    }),
    ("abort", |_| {
        with_waker(|_, handle| handle.as_ref().unwrap().abort())
    }),
    ("abort handle", |_| {
        with_waker(|_, handle| handle.as_ref().unwrap().abort_handle().abort())
    }),
    ("cancel", |_| {
        with_waker(|_, handle| {
            let mut cancel = pin!(handle.take().unwrap().cancel());
            _ = poll_with(&mut cancel, Waker::noop());
        })
    }),
    ("a oneshot", |_| {
        let (sender, receiver) = oneshot::channel();
        (
            Box::pin(async { _ = receiver.await }),
            Box::new(|_| _ = sender.send(())),
        )
    }),
    ("a task of another executor", |other| {
        let (sender, receiver) = oneshot::channel::<()>();
        let task = other.spawn(async { _ = receiver.await });
        (Box::pin(task), Box::new(|_| _ = sender.send(())))
    }),
    ("a timer of another executor", |other| {
        // It is armed again until it comes due after the poll.
        let mut timer = Box::pin(sleep(MILLI));
        let waits = poll_fn(move |cx| {
            other.enter(|| {
                while timer.as_mut().poll(cx).is_ready() {
                    timer.set(sleep(MILLI));
                }
            });
            Poll::Pending
        });
        (Box::pin(waits), Box::new(|_| ()))
    }),
];

/// Where the task is that is woken too late.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Thread,
    Hosted,
    /// Its worker's end waits for the wake-up.
    Pinned,
    Local,
}

/// Wakes a task under a lock that its drop takes, and ends its executor before the task is queued.
/// Returns whether it was dropped inside the wake-up, where it would wait forever.
fn is_dropped_by_who_wakes(of: Of, way: Way) -> bool {
    static OTHER: OnceLock<Executor> = OnceLock::new();
    let other = OTHER.get_or_init(|| executor(1));
    let (wakes, waking) = mpsc::channel::<ThreadId>();
    let (go_on, goes_on) = mpsc::channel();
    let (home, goes_on) = (Arc::new(OnceLock::new()), Mutex::new(goes_on));
    let on_wake = {
        let home = home.clone();
        move |_: &TaskInfo<'_>| {
            let here = thread::current().id();
            if *home.get().expect("it has run") != here {
                wakes.send(here).unwrap();
                goes_on.lock().unwrap().recv().unwrap();
            }
        }
    };
    let (executor, mut worker) = match of {
        Of::Thread => (built(1, |builder| builder.on_wake(on_wake)), None),
        _ => {
            let (executor, worker) = bound_with(|builder| builder.on_wake(on_wake));
            (executor, Some(worker))
        }
    };

    let (lock, waker): (_, Arc<OnceLock<ThreadId>>) = (Arc::new(Mutex::new(())), Arc::default());
    let (tell, told) = mpsc::channel();
    let held = OnDrop({
        let (lock, waker) = (lock.clone(), waker.clone());
        move || {
            let is_inside = *waker.get().expect("it is woken") == thread::current().id();
            if !is_inside {
                drop(lock.lock());
            }
            tell.send(is_inside).unwrap();
        }
    });
    let (waits, wake) = way(other);
    let future = async move {
        let _held = held;
        home.set(thread::current().id()).unwrap();
        waits.await;
    };
    let task = match of {
        Of::Thread | Of::Hosted => executor.spawn(future),
        Of::Pinned => executor.spawn_on(0, future),
        Of::Local => worker.as_ref().unwrap().enter(|| spawn_local(future)),
    };
    match &mut worker {
        Some(worker) => while worker.step(1, Waker::noop()) == Step::Ready {},
        None => block_on(executor.spawn(async {})),
    }

    let waking_thread = thread::spawn(move || {
        let mut task = Some(task);
        let _locked = lock.lock().unwrap();
        wake(&mut task);
        task
    });
    waker.set(waking.recv().unwrap()).unwrap();
    let end_waits = matches!(of, Of::Pinned | Of::Local);
    if end_waits {
        executor.shutdown_background();
        go_on.send(()).unwrap();
    }
    drop((executor, worker));
    if !end_waits {
        go_on.send(()).unwrap();
    }
    let is_inside = told.recv().unwrap();
    drop(waking_thread.join().unwrap());
    is_inside
}

#[test]
fn a_wake_up_that_is_too_late_leaves_the_drop_to_others() {
    for of in [Of::Thread, Of::Hosted, Of::Pinned, Of::Local] {
        for (how, way) in WAYS {
            let is_inside = ends(move || is_dropped_by_who_wakes(of, way));
            assert!(!is_inside, "{of:?}, {how}: dropped inside the wake-up");
        }
    }
}

#[test]
fn a_drop_at_the_end_may_wait_for_a_task_that_it_spawns() {
    for workers in [1, 2, 8] {
        ends(move || {
            // A task that nobody could wake would be dropped by its first poll.
            let mut senders = Vec::new();
            let executor = executor(workers);
            for depth in 0..20 {
                let handle = executor.handle();
                let waits = OnDrop(move || spawn_and_wait(&handle, depth % 3));
                let (sender, receiver) = oneshot::channel::<()>();
                senders.push(sender);
                let hold = async move {
                    let _waits = waits;
                    let _ = receiver.await;
                };
                match depth % 2 {
                    0 => executor.spawn_detached(hold),
                    _ => executor.spawn_on(depth % workers, hold).detach(),
                }
            }
        });
    }
}

/// Waits by means of std for the drop of a task that it spawns, which does the same.
fn spawn_and_wait(handle: &Handle, deeper: usize) {
    let (tell, told) = mpsc::channel();
    let next = handle.clone();
    let held = OnDrop(move || {
        if deeper > 0 {
            spawn_and_wait(&next, deeper - 1);
        }
        tell.send(()).unwrap();
    });
    let task = async move {
        let _held = held;
        pending::<()>().await
    };
    match deeper % 2 {
        0 => handle.spawn(task).detach(),
        _ => spawn_detached(task),
    }
    told.recv().expect("the task is dropped");
}
