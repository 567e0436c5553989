//! Tasks that stay on one thread: how they run, who wakes them, and what becomes of them.

use std::sync::mpsc::channel;

use crate::prelude::*;

/// The record of the tasks of a test.
type Log<T> = Rc<RefCell<Vec<T>>>;

/// A task that holds something, has been polled once, and waits; and its waker.
fn waiting<T: 'static>(executor: &LocalExecutor, held: T) -> (joint::JoinHandle<()>, Waker) {
    let (sender, receiver) = channel();
    let task = executor.spawn(give_waker(move |waker| sender.send(waker).unwrap(), held));
    assert!(executor.try_tick());
    (task, receiver.recv().unwrap())
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
fn tasks_run_first_in_first_out_and_so_does_the_main_future() {
    let executor = LocalExecutor::new();
    let log = Log::default();
    let logs = |name, rounds| {
        let log = log.clone();
        async move {
            for _ in 0..rounds {
                log.borrow_mut().push(name);
                yield_now().await;
            }
        }
    };
    for name in ["a", "b", "c"] {
        executor.spawn(logs(name, 2)).detach();
    }
    executor.block_on(logs("main", 2));
    assert_eq!(log.borrow().concat(), "mainabcmainabc");
}

#[test]
fn a_task_without_a_handle_ends_here() {
    let drops = Guards::default();
    let executor = LocalExecutor::new();
    let output = drops.local();
    executor.spawn_detached(async move {
        yield_now().await;
        output
    });
    assert!(executor.try_tick() && executor.try_tick());
    drops.assert_dropped_at_home(1);
    assert!(executor.is_empty());
    let (wakers, given) = channel();
    for _ in 0..2 {
        let (wakers, guard) = (wakers.clone(), drops.local());
        executor.spawn_detached(give_waker(move |waker| wakers.send(waker).unwrap(), guard));
    }
    assert!(executor.try_tick(), "one waits, and the other one is due");
    assert!(!executor.is_empty());
    drop(executor);
    drops.assert_dropped_at_home(3);
    given.try_iter().for_each(Waker::wake);
}

#[test]
fn tick_by_tick() {
    let executor = LocalExecutor::new();
    assert!(!executor.try_tick());
    let line = line!() + 1;
    let task = executor.spawn(async {
        assert!(!LocalExecutor::new().try_tick(), "it is another one");
        yield_now().await;
    });
    assert!(!executor.is_empty());
    assert!(executor.try_tick());
    assert!(!task.is_finished() && !executor.is_empty());
    assert!(executor.try_tick());
    assert!(task.is_finished() && executor.is_empty() && !executor.try_tick());
    assert_eq!(task.spawned().line(), line);
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
fn a_run_driven_by_another_executor_lets_its_tasks_have_turns() {
    let outer = LocalExecutor::new();
    let (_other, turns) = always_due(&outer, 1);
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
fn a_busy_local_executor_notices_wake_ups_from_elsewhere() {
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

/// Whoever drives the run is woken.
#[test]
fn a_spawn_and_a_wake_up_on_its_thread_wake_a_pending_run() {
    let executor = LocalExecutor::new();
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut run = pin!(executor.run(pending::<()>()));
    assert!(run.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.count(), 0);

    let kept = Rc::new(Cell::new(None));
    let keep = kept.clone();
    let task = executor.spawn(give_waker(move |waker| keep.set(Some(waker)), ()));
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
fn a_dropped_run_leaves_no_waker_and_another_may_begin() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(pending::<()>());
    let (wakes, waker) = counting();
    let alive = wakes.wakers();
    let mut run = Box::pin(executor.run(pending::<()>()));
    assert!(poll_with(&mut run, &waker).is_pending());
    drop(run);
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
    let advice = "inside of it, spawn and await tasks instead";
    assert!(text.contains(advice), "{text}");
    executor.block_on(async {});

    let mut run = Box::pin(executor.run(pending::<()>()));
    let mut goes_on = || poll_with(&mut run, Waker::noop()).is_pending();
    assert!(goes_on());
    panic_text(again);
    panic_text(|| block_on(executor.run(async {})));
    assert!(goes_on());
    drop(run);
    again();
}

#[test]
fn a_panic_of_the_main_future_leaves_the_executor_whole() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(async { 5 });
    let main = || async { panic!("main") };
    assert_eq!(panic_text(|| executor.block_on(main())), "main");
    assert_eq!(panic_text(|| block_on(executor.run(main()))), "main");
    panic_text(|| drop(spawn_local(async {})));
    assert_eq!(executor.block_on(task), 5);
}

#[test]
fn a_task_cancelled_elsewhere_or_left_asleep_ends_here() {
    let executor = LocalExecutor::new();
    let drops = Guards::default();
    executor.spawn(hold(drops.local())).detach();
    assert!(executor.try_tick());
    drops.assert_dropped_at_home(1);
    assert!(executor.is_empty());
    let task = executor.spawn(hold(drops.local()));
    assert!(executor.try_tick());
    thread::spawn(move || drop(task)).join().unwrap();
    drops.assert_dropped_at_home(1);
    assert!(executor.try_tick());
    drops.assert_dropped_at_home(2);
    assert!(executor.is_empty());
}

#[test]
fn a_detached_task_whose_last_waker_goes_elsewhere_ends_here() {
    let executor = LocalExecutor::new();
    let drops = Guards::default();
    let (task, waker) = waiting(&executor, drops.local());
    task.detach();
    thread::spawn(move || drop(waker)).join().unwrap();
    drops.assert_dropped_at_home(0);
    assert!(executor.try_tick());
    drops.assert_dropped_at_home(1);
}

#[test]
fn the_end_cancels_due_then_waiting_then_woken_tasks() {
    let log: Log<&str> = Log::default();
    let logs = |name| {
        let log = log.clone();
        OnDrop(move || log.borrow_mut().push(name))
    };
    let executor = LocalExecutor::new();
    let (woken, waker) = waiting(&executor, logs("woken elsewhere"));
    let waits = executor.spawn(hold(logs("waits")));
    executor.block_on(yield_now());
    let due = ["due first", "due second"].map(|name| executor.spawn(hold(logs(name))));
    thread::spawn(|| waker.wake()).join().unwrap();
    drop(executor);
    let expected = ["due first", "due second", "waits", "woken elsewhere"];
    assert_eq!(*log.borrow(), expected);
    due.into_iter()
        .chain([waits, woken])
        .for_each(assert_cancelled);
}

#[test]
fn tasks_spawned_or_woken_by_a_drop_at_the_end_are_dropped_too() {
    let executor = LocalExecutor::new();
    let log = Log::default();
    let (_other, waker) = waiting(&executor, ());
    let spawns = on_drop({
        let log = log.clone();
        move || {
            log.borrow_mut().push(1);
            spawn_local(async move { log.borrow_mut().push(2) }).detach();
            waker.wake();
        }
    });
    let _first = executor.spawn(hold(spawns));
    assert!(executor.try_tick());
    drop(executor);
    assert_eq!(log.borrow().as_slice(), [1]);
    assert_eq!(Rc::strong_count(&log), 1, "what was spawned was dropped");
}

#[test]
fn panics_of_what_the_end_drops_keep_nothing_from_ending() {
    let executor = LocalExecutor::new();
    let first = executor.spawn(hold(Panics));
    let second = executor.spawn(pending::<()>());
    drop(executor);
    assert!(block_on(first.result()).unwrap_err().is_panic());
    assert_cancelled(second);
}

#[test]
fn wakers_and_handles_that_outlive_it_do_nothing() {
    let executor = LocalExecutor::new();
    let drops = Guards::default();
    let (task, waker) = waiting(&executor, drops.local());
    let main = executor.block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
    let kept = main.clone();
    drop(executor);
    drops.assert_dropped_at_home(1);
    let elsewhere = thread::spawn(move || {
        for waker in [waker, main] {
            waker.wake_by_ref();
            drop(waker.clone());
            waker.wake();
        }
        task.abort();
        assert_cancelled(task);
    });
    elsewhere.join().unwrap();
    kept.wake();
}

#[test]
fn wakers_of_a_leaked_local_executor_are_harmless() {
    let leaks = thread::spawn(|| {
        let executor = LocalExecutor::new();
        let (task, waker) = waiting(&executor, ());
        task.detach();
        std::mem::forget(executor);
        waker
    });
    let waker = leaks.join().unwrap();
    waker.wake_by_ref();
    waker.wake();
}
