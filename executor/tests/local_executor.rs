//! Tasks that stay on one thread: how they run, who wakes them, and what becomes of them.

mod common;

use std::{
    cell::{Cell, RefCell},
    future::{Future, pending, poll_fn},
    marker::PhantomData,
    pin::pin,
    rc::Rc,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::channel,
    },
    task::{Context, Poll, Waker},
    thread::{self, ThreadId},
};

use common::{Panics, counting, panic_text};
use joint::{JoinError, block_on, oneshot};
use joint_executor::{Executor, LocalExecutor, spawn_local, yield_now};

/// The record of the tasks of a test.
type Log<T> = Rc<RefCell<Vec<T>>>;

/// Demands, when it is dropped, to be on the thread that made it; and counts.
struct AtHome {
    home: ThreadId,
    drops: Arc<AtomicUsize>,
    local: PhantomData<Rc<()>>,
}

impl AtHome {
    fn new(drops: &Arc<AtomicUsize>) -> Self {
        Self {
            home: thread::current().id(),
            drops: drops.clone(),
            local: PhantomData,
        }
    }
}

impl Drop for AtHome {
    fn drop(&mut self) {
        if self.home != thread::current().id() {
            eprintln!("a local future was dropped by another thread");
            std::process::abort();
        }
        self.drops.fetch_add(1, Relaxed);
    }
}

/// Gives its waker away at the first poll, and is ready at the second.
async fn give_waker(to: impl FnOnce(Waker)) {
    let mut to = Some(to);
    poll_fn(|cx| match to.take() {
        Some(to) => {
            to(cx.waker().clone());
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
    .await;
}

#[test]
fn local_tasks_may_use_and_return_values_that_are_not_send() {
    let executor = LocalExecutor::new();
    let shared = Rc::new(Cell::new(1));
    let own = shared.clone();
    let task = executor.spawn(async move {
        yield_now().await;
        own.set(2);
        own
    });
    assert!(Rc::ptr_eq(&executor.block_on(task), &shared));
    assert_eq!(shared.get(), 2);
}

#[test]
fn tasks_run_first_in_first_out_and_so_does_the_main_future() {
    let executor = LocalExecutor::new();
    let log = Log::default();
    for i in 0..3 {
        let log = log.clone();
        let future = async move {
            for round in 0..2 {
                log.borrow_mut().push((i, round));
                yield_now().await;
            }
        };
        executor.spawn(future).detach();
    }
    let main = log.clone();
    executor.block_on(async move {
        main.borrow_mut().push((9, 0));
        yield_now().await;
        main.borrow_mut().push((9, 1));
        yield_now().await;
        main.borrow_mut().push((9, 2));
    });
    let expected = [
        (9, 0),
        (0, 0),
        (1, 0),
        (2, 0),
        (9, 1),
        (0, 1),
        (1, 1),
        (2, 1),
        (9, 2),
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn a_task_is_spawned_from_inside() {
    let executor = LocalExecutor::new();
    let sum = executor.block_on(async {
        let task = spawn_local(async {
            let child = spawn_local(async { Rc::new(20) });
            *child.await + 1
        });
        2 * task.await
    });
    assert_eq!(sum, 42);
}

#[test]
fn a_task_without_a_handle_ends_here() {
    let drops = Arc::new(AtomicUsize::new(0));
    let executor = LocalExecutor::new();
    let output = AtHome::new(&drops);
    executor.spawn_detached(async move {
        yield_now().await;
        output
    });
    assert!(executor.try_tick() && executor.try_tick());
    assert_eq!(drops.load(Relaxed), 1);
    assert!(executor.is_empty());
    let wakers = Rc::new(RefCell::new(Vec::new()));
    for _ in 0..2 {
        let (wakers, guard) = (wakers.clone(), AtHome::new(&drops));
        executor.spawn_detached(poll_fn(move |cx| {
            let _ = &guard;
            wakers.borrow_mut().push(cx.waker().clone());
            Poll::<()>::Pending
        }));
    }
    assert!(executor.try_tick(), "one waits, and the other one is due");
    assert!(!executor.is_empty());
    drop(executor);
    assert_eq!(drops.load(Relaxed), 3);
    wakers.take().into_iter().for_each(Waker::wake);
}

#[test]
fn spawn_local_outside_of_a_local_executor_panics_with_advice() {
    let text = panic_text(|| drop(spawn_local(async {})));
    assert!(text.contains("use `LocalExecutor::spawn`"), "{text}");
    LocalExecutor::new().block_on(async {});
    panic_text(|| drop(spawn_local(async {})));
}

#[test]
fn many_tasks_are_joined() {
    let executor = LocalExecutor::new();
    let sum: u64 = executor.block_on(async {
        let tasks: Vec<_> = (0..10_000u64)
            .map(|i| spawn_local(async move { i }))
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await;
        }
        sum
    });
    assert_eq!(sum, 10_000 * 9_999 / 2);
    assert!(executor.is_empty());
}

#[test]
fn tasks_that_have_not_ended_wait_for_the_next_time() {
    let executor = LocalExecutor::new();
    let ran = Rc::new(Cell::new(0));
    let counted = ran.clone();
    let task = executor.spawn(async move {
        loop {
            counted.set(counted.get() + 1);
            yield_now().await;
        }
    });
    executor.block_on(yield_now());
    let first = ran.get();
    assert!(first > 0 && !executor.is_empty());
    executor.block_on(yield_now());
    assert!(ran.get() > first);
    drop(task);
    assert!(executor.try_tick());
    assert!(executor.is_empty());
}

#[test]
fn tick_by_tick() {
    let executor = LocalExecutor::new();
    assert!(!executor.try_tick());
    let task = executor.spawn(async {
        assert!(
            !LocalExecutor::new().try_tick(),
            "another one is another one"
        );
        yield_now().await;
    });
    assert!(!executor.is_empty());
    assert!(executor.try_tick());
    assert!(!task.is_finished() && !executor.is_empty());
    assert!(executor.try_tick());
    assert!(task.is_finished() && executor.is_empty() && !executor.try_tick());
}

#[test]
fn a_task_in_its_first_poll_has_not_ended() {
    let executor = Rc::new(LocalExecutor::new());
    let own = Rc::downgrade(&executor);
    let task = executor.spawn(async move { own.upgrade().unwrap().is_empty() });
    assert!(!executor.block_on(task));
    assert!(executor.is_empty());
}

#[test]
fn another_thread_wakes_a_task_and_the_executor_that_sleeps() {
    let executor = LocalExecutor::new();
    for _ in 0..200 {
        let (sender, receiver) = oneshot::channel();
        let task = executor.spawn(async move {
            let _local = Rc::new(());
            receiver.await.unwrap()
        });
        let sending = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(executor.block_on(task), 7);
        sending.join().unwrap();
    }
}

#[test]
fn another_thread_wakes_the_main_future() {
    let executor = LocalExecutor::new();
    for _ in 0..200 {
        let (sender, receiver) = oneshot::channel();
        let sending = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(executor.block_on(receiver), Ok(7));
        sending.join().unwrap();
    }
}

/// Several threads wake all of many tasks, over and over, while they run.
#[test]
fn no_wake_up_of_many_threads_is_lost() {
    const TASKS: usize = 50;
    const THREADS: usize = 3;
    const ROUNDS: usize = 40;
    let executor = LocalExecutor::new();
    let goals: Arc<Vec<AtomicUsize>> = Arc::new((0..TASKS).map(|_| AtomicUsize::new(0)).collect());
    let (wakers, receivers): (Vec<_>, Vec<_>) =
        (0..THREADS).map(|_| channel::<(usize, Waker)>()).unzip();
    let threads: Vec<_> = receivers
        .into_iter()
        .map(|receiver| {
            let goals = goals.clone();
            thread::spawn(move || {
                for (task, waker) in receiver {
                    goals[task].fetch_add(1, Relaxed);
                    waker.wake();
                }
            })
        })
        .collect();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (wakers, goals) = (wakers.clone(), goals.clone());
            executor.spawn(async move {
                for round in 1..=ROUNDS {
                    let mut asked = false;
                    poll_fn(|cx| {
                        if !std::mem::replace(&mut asked, true) {
                            for wakers in &wakers {
                                wakers.send((task, cx.waker().clone())).unwrap();
                            }
                        }
                        if goals[task].load(Relaxed) >= round * THREADS {
                            return Poll::Ready(());
                        }
                        Poll::Pending
                    })
                    .await;
                }
            })
        })
        .collect();
    drop(wakers);
    executor.block_on(async {
        for task in tasks {
            task.await;
        }
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(executor.is_empty());
}

#[test]
fn a_local_task_that_wakes_itself_forever_starves_no_other() {
    let executor = LocalExecutor::new();
    let _busy = executor.spawn(async {
        loop {
            yield_now().await;
        }
    });
    let (sender, receiver) = oneshot::channel();
    let other = executor.spawn(async move { receiver.await.unwrap() });
    let sending = thread::spawn(move || sender.send(3).unwrap());
    let main = async {
        yield_now().await;
        other.await
    };
    assert_eq!(
        executor.block_on(main),
        3,
        "a task that another thread has woken, and the main future"
    );
    sending.join().unwrap();
    assert_eq!(
        block_on(executor.run(async { spawn_local(async { 4 }).await })),
        4
    );
}

#[test]
fn a_main_future_that_wakes_itself_forever_starves_no_task() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async {
        for _ in 0..200 {
            yield_now().await;
        }
    });
    let mut task = pin!(task);
    let spin = poll_fn(|cx| {
        cx.waker().wake_by_ref();
        task.as_mut().poll(cx)
    });
    executor.block_on(spin);
}

#[test]
fn a_run_is_driven_by_another_executor_and_lets_its_tasks_have_turns() {
    let outer = LocalExecutor::new();
    let turns = Rc::new(Cell::new(0));
    let counted = turns.clone();
    let _other = outer.spawn(async move {
        loop {
            counted.set(counted.get() + 1);
            yield_now().await;
        }
    });
    let inner = outer.spawn(async {
        let inner = LocalExecutor::new();
        let tasks: Vec<_> = (0..1_000).map(|i| inner.spawn(async move { i })).collect();
        let sum = async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await;
            }
            sum
        };
        inner.run(sum).await
    });
    assert_eq!(outer.block_on(inner), 1_000 * 999 / 2);
    assert!(turns.get() > 10, "{} turns", turns.get());
}

#[test]
fn a_run_is_woken_by_its_tasks_from_inside_and_outside() {
    for _ in 0..100 {
        let executor = LocalExecutor::new();
        let (sender, receiver) = oneshot::channel();
        let (second, seconds) = oneshot::channel();
        let waits = executor.spawn(async move { receiver.await.unwrap() });
        executor
            .spawn(async move {
                second.send(1).unwrap();
                pending::<()>().await;
            })
            .detach();
        let sending = thread::spawn(move || sender.send(2).unwrap());
        let sum = block_on(executor.run(async { seconds.await.unwrap() + waits.await }));
        assert_eq!(sum, 3);
        sending.join().unwrap();
    }
}

/// Spawns tasks that are always due, and counts their runs.
fn always_due(
    executor: &LocalExecutor,
    tasks: usize,
) -> (Vec<joint::JoinHandle<()>>, Rc<Cell<usize>>) {
    let runs = Rc::new(Cell::new(0));
    let spawn = |_| {
        let runs = runs.clone();
        executor.spawn(async move {
            loop {
                runs.set(runs.get() + 1);
                yield_now().await;
            }
        })
    };
    ((0..tasks).map(spawn).collect(), runs)
}

#[test]
fn a_wake_up_from_elsewhere_is_noticed_though_there_is_always_something_due() {
    let executor = LocalExecutor::new();
    let (_tasks, runs) = always_due(&executor, 2);
    for _ in 0..3 {
        let (sender, receiver) = oneshot::channel();
        let waits = executor.spawn(async move { receiver.await.unwrap() });
        (0..200).for_each(|_| assert!(executor.try_tick()));
        assert!(!waits.is_finished());
        let elsewhere = thread::spawn(move || sender.send(()).unwrap());
        elsewhere.join().unwrap();
        // It looks each so many runs, and those that are due come first.
        (0..200).for_each(|_| assert!(executor.try_tick()));
        assert!(waits.is_finished());
    }
    assert!(runs.get() > 1_000);
}

#[test]
fn the_main_future_has_its_turn_after_all_that_were_due() {
    let executor = LocalExecutor::new();
    const TASKS: usize = 1_000;
    let (_tasks, runs) = always_due(&executor, TASKS);
    let polls = Cell::new(0);
    let main = poll_fn(|_| {
        polls.set(polls.get() + 1);
        Poll::<()>::Pending
    });
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut run = pin!(executor.run(main));
    let mut ran = 0;
    for turn in 1..100 {
        assert!(run.as_mut().poll(&mut cx).is_pending());
        assert_eq!(wakes.count(), turn, "there is more");
        // Each round begins with the main future.
        assert_eq!(polls.get(), ran / TASKS + 1);
        assert!(runs.get() > ran && runs.get() < ran + TASKS);
        ran = runs.get();
    }
    assert!(polls.get() > 2);
}

/// The run is pending; what is then done to the executor from outside, on its thread, wakes whoever
/// drives it.
#[test]
fn a_pending_run_is_woken_by_a_spawn_and_by_a_wake_up_on_its_thread() {
    let executor = LocalExecutor::new();
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut run = pin!(executor.run(pending::<()>()));
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.count(), 0);

    let kept = Rc::new(Cell::new(None));
    let keep = kept.clone();
    let task = executor.spawn(give_waker(move |waker| keep.set(Some(waker))));
    assert_eq!(wakes.count(), 1);
    assert!(run.as_mut().poll(&mut cx).is_pending());
    kept.take().unwrap().wake();
    assert_eq!(wakes.count(), 2);
    assert!(!task.is_finished());
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert!(task.is_finished());
    assert_eq!(wakes.count(), 2, "nothing is due, and nobody is woken");
}

#[test]
fn a_run_that_is_dropped_leaves_no_waker_behind_and_another_may_begin() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(pending::<()>());
    let (wakes, waker) = counting();
    let alive = wakes.wakers();
    {
        let mut run = Box::pin(executor.run(pending::<()>()));
        assert!(
            run.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    assert_eq!(wakes.wakers(), alive);
    drop(task);
    executor.block_on(async {});
    assert_eq!(wakes.count(), 0);
    assert_eq!(block_on(executor.run(async { 1 })), 1);
}

#[test]
fn driving_a_local_executor_twice_at_once_panics() {
    let executor = LocalExecutor::new();
    let again = || executor.block_on(async {});
    let text = executor.block_on(async { panic_text(again) });
    assert!(
        text.contains("inside of it, spawn and await tasks instead"),
        "{text}"
    );
    executor.block_on(async {});

    let mut run = Box::pin(executor.run(pending::<()>()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(run.as_mut().poll(&mut cx).is_pending());
    panic_text(again);
    panic_text(|| block_on(executor.run(async {})));
    assert!(
        run.as_mut().poll(&mut cx).is_pending(),
        "the first one goes on"
    );
    drop(run);
    again();
}

#[test]
fn a_panic_of_the_main_future_passes_through_and_leaves_the_executor_whole() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async { 5 });
    assert_eq!(
        panic_text(|| executor.block_on(async { panic!("main") })),
        "main"
    );
    assert_eq!(
        panic_text(|| block_on(executor.run(async { panic!("main") }))),
        "main"
    );
    panic_text(|| drop(spawn_local(async {})));
    assert_eq!(executor.block_on(task), 5);
}

#[test]
fn a_panic_of_a_local_task_is_its_result() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async { panic!("task") });
    let line = line!() - 1;
    let Err(JoinError::Panicked(panic)) = executor.block_on(task.result()) else {
        panic!("it did not panic")
    };
    assert_eq!(
        (panic.message(), panic.spawned().line()),
        (Some("task"), line)
    );
}

#[test]
fn a_handle_awaits_on_another_thread() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async {
        let local = Rc::new(4);
        yield_now().await;
        *local
    });
    let other = thread::spawn(move || block_on(task));
    while !executor.is_empty() {
        executor.try_tick();
    }
    assert_eq!(other.join().unwrap(), 4);
}

#[test]
fn a_handle_dropped_on_another_thread_cancels_here() {
    let executor = LocalExecutor::new();
    let drops = Arc::default();
    let guard = AtHome::new(&drops);
    let task = executor.spawn(async move {
        let _guard = guard;
        pending::<()>().await;
    });
    assert!(executor.try_tick());
    thread::spawn(move || drop(task)).join().unwrap();
    assert_eq!(drops.load(Relaxed), 0);
    assert!(executor.try_tick());
    assert_eq!(drops.load(Relaxed), 1);
    assert!(executor.is_empty());
}

#[test]
fn a_detached_task_that_nobody_can_wake_ends() {
    let executor = LocalExecutor::new();
    let drops = Arc::default();
    let guard = AtHome::new(&drops);
    let future = async move {
        let _guard = guard;
        pending::<()>().await;
    };
    executor.spawn(future).detach();
    assert!(executor.try_tick());
    assert_eq!(drops.load(Relaxed), 1);
    assert!(executor.is_empty());
}

#[test]
fn the_last_waker_of_a_detached_task_dropped_on_another_thread_ends_it_here() {
    let executor = LocalExecutor::new();
    let drops = Arc::default();
    let guard = AtHome::new(&drops);
    let (sender, receiver) = channel();
    let future = async move {
        let _guard = guard;
        give_waker(move |waker| sender.send(waker).unwrap()).await;
    };
    executor.spawn(future).detach();
    assert!(executor.try_tick());
    thread::spawn(move || drop(receiver.recv().unwrap()))
        .join()
        .unwrap();
    assert_eq!(drops.load(Relaxed), 0);
    assert!(executor.try_tick());
    assert_eq!(drops.load(Relaxed), 1);
}

#[test]
fn the_end_cancels_what_is_due_and_then_what_waits_and_last_what_was_woken_elsewhere() {
    let log: Log<&str> = Log::default();
    struct Logs(Log<&'static str>, &'static str);
    impl Drop for Logs {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
        }
    }
    let executor = LocalExecutor::new();
    let waits = Logs(log.clone(), "waits");
    let waits = executor.spawn(async move {
        let _waits = waits;
        pending::<()>().await;
    });
    let (sender, receiver) = channel();
    let woken = Logs(log.clone(), "woken elsewhere");
    let woken = executor.spawn(async move {
        let _woken = woken;
        give_waker(move |waker| sender.send(waker).unwrap()).await;
    });
    executor.block_on(yield_now());
    let due = ["due first", "due second"].map(|name| {
        let due = Logs(log.clone(), name);
        executor.spawn(async move { drop(due) })
    });
    let wakes = move || receiver.recv().unwrap().wake();
    thread::spawn(wakes).join().unwrap();
    drop(executor);
    let expected = ["due first", "due second", "waits", "woken elsewhere"];
    assert_eq!(*log.borrow(), expected);
    for task in due.into_iter().chain([waits, woken]) {
        assert!(matches!(block_on(task.result()), Err(JoinError::Cancelled)));
    }
}

#[test]
fn tasks_spawned_or_woken_by_a_drop_at_the_end_are_dropped_too() {
    struct Spawns(Option<Waker>, Log<u32>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let log = self.1.clone();
            log.borrow_mut().push(1);
            spawn_local(async move { log.borrow_mut().push(2) }).detach();
            self.0.take().unwrap().wake();
        }
    }
    let executor = LocalExecutor::new();
    let log = Log::default();
    let kept = Rc::new(Cell::new(None));
    let keep = kept.clone();
    let _other = executor.spawn(give_waker(move |waker| keep.set(Some(waker))));
    assert!(executor.try_tick());
    let spawns = Spawns(kept.take(), log.clone());
    let _first = executor.spawn(async move {
        let _spawns = spawns;
        pending::<()>().await;
    });
    assert!(executor.try_tick());
    drop(executor);
    assert_eq!((*log.borrow()).as_slice(), [1]);
    assert_eq!(Rc::strong_count(&log), 1, "what was spawned was dropped");
}

#[test]
fn panics_of_what_the_end_drops_keep_nothing_from_ending() {
    let executor = LocalExecutor::new();
    let panics = Panics;
    let first = executor.spawn(async move { drop(panics) });
    let second = executor.spawn(pending::<()>());
    drop(executor);
    assert!(matches!(
        block_on(first.result()),
        Err(JoinError::Panicked(_))
    ));
    assert!(matches!(
        block_on(second.result()),
        Err(JoinError::Cancelled)
    ));
}

#[test]
fn wakers_and_handles_that_outlive_it_do_nothing() {
    let executor = LocalExecutor::new();
    let (sender, receiver) = channel();
    let drops = Arc::default();
    let guard = AtHome::new(&drops);
    let task = executor.spawn(async move {
        let _guard = guard;
        give_waker(move |waker| sender.send(waker).unwrap()).await;
    });
    let kept = Rc::new(Cell::new(None));
    let main = executor.block_on(async {
        poll_fn(|cx| {
            kept.set(Some(cx.waker().clone()));
            Poll::Ready(cx.waker().clone())
        })
        .await
    });
    assert!(executor.try_tick());
    drop(executor);
    assert_eq!(drops.load(Relaxed), 1);
    let waker = receiver.recv().unwrap();
    thread::spawn(move || {
        waker.wake_by_ref();
        drop(waker.clone());
        waker.wake();
        main.wake_by_ref();
        drop(main.clone());
        main.wake();
        task.abort();
        assert!(matches!(block_on(task.result()), Err(JoinError::Cancelled)));
    })
    .join()
    .unwrap();
    kept.take().unwrap().wake();
}

/// Another thread wakes tasks while the executor ends: each future is dropped here, once.
#[test]
fn the_end_against_wake_ups_of_another_thread() {
    const TASKS: usize = 8;
    for _ in 0..300 {
        let drops = Arc::default();
        let executor = LocalExecutor::new();
        let (sender, receiver) = channel();
        let start = Arc::new(Barrier::new(2));
        let handles: Vec<_> = (0..TASKS)
            .map(|_| {
                let guard = AtHome::new(&drops);
                let sender = sender.clone();
                executor.spawn(async move {
                    let _guard = guard;
                    give_waker(move |waker| sender.send(waker).unwrap()).await;
                    pending::<()>().await;
                })
            })
            .collect();
        drop(sender);
        while executor.try_tick() {}
        let wakers: Vec<Waker> = receiver.iter().collect();
        let other = {
            let start = start.clone();
            thread::spawn(move || {
                start.wait();
                wakers.into_iter().for_each(Waker::wake);
                drop(handles);
            })
        };
        start.wait();
        drop(executor);
        assert_eq!(drops.load(Relaxed), TASKS);
        other.join().unwrap();
    }
}

#[test]
fn one_in_each_worker_of_an_executor() {
    let executor = Executor::builder().workers(2).build().unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|i| {
            executor.spawn(async move {
                let local = LocalExecutor::new();
                let (sender, receiver) = oneshot::channel();
                thread::spawn(move || sender.send(i).unwrap());
                let task = local.spawn(async move { Rc::new(receiver.await.unwrap()) });
                *local.block_on(task)
            })
        })
        .collect();
    let mut sum = 0;
    for task in tasks {
        sum += block_on(task);
    }
    assert_eq!(sum, 28);
}

#[test]
fn one_inside_another_wakes_tasks_of_both() {
    let outer = LocalExecutor::new();
    let (sender, receiver) = oneshot::channel();
    let waits = outer.spawn(async move { receiver.await.unwrap() });
    let task = outer.spawn(async move {
        let inner = LocalExecutor::new();
        inner.block_on(async move {
            spawn_local(async move { sender.send(6).unwrap() }).await;
        });
        spawn_local(async { 7 }).await
    });
    assert_eq!(outer.block_on(async { waits.await * task.await }), 42);
}

#[test]
fn wakers_of_a_leaked_local_executor_are_harmless() {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let executor = LocalExecutor::new();
        let task = executor.spawn(give_waker(move |waker| sender.send(waker).unwrap()));
        assert!(executor.try_tick());
        task.detach();
        std::mem::forget(executor);
    })
    .join()
    .unwrap();
    let waker: Waker = receiver.recv().unwrap();
    waker.wake_by_ref();
    waker.wake();
}
