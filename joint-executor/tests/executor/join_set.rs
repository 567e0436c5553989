//! The set's promises, through the public API. Its races have models,
//! `loom-tests/tests/join_set.rs`.

use joint::task;

use crate::prelude::*;

/// As many as Miri runs in seconds.
const SOME: usize = if cfg!(miri) { 5 } else { 100 };

/// A task that this test runs by hand.
fn ready<T: Send + 'static>(output: T) -> (Runnable, JoinHandle<T>) {
    task::spawn(async { output }, |_| {})
}

fn poll<T>(set: &mut JoinSet<T>, waker: &Waker) -> Poll<Option<Result<T, JoinError>>> {
    set.poll_join_next(&mut Context::from_waker(waker))
}

fn next<T>(set: &mut JoinSet<T>) -> T {
    block_on(set.join_next()).unwrap().unwrap()
}

#[test]
fn results_come_in_the_order_in_which_the_tasks_end() {
    let (runnables, mut set): (Vec<_>, JoinSet<_>) = (0..5).map(ready).unzip();
    let mut runnables: Vec<_> = runnables.into_iter().map(Some).collect();
    for i in [3, 0, 4] {
        runnables[i].take().unwrap().run();
    }
    assert_eq!([next(&mut set), next(&mut set)], [3, 0]);
    for i in [2, 1] {
        runnables[i].take().unwrap().run();
    }
    assert_eq!([next(&mut set), next(&mut set), next(&mut set)], [4, 2, 1]);
    assert!(set.is_empty());
}

/// However many tasks there are, one that ends has its own handle polled and no other.
#[test]
fn the_waiter_is_woken_once_for_a_batch() {
    let (runnables, mut set): (Vec<_>, JoinSet<_>) = (0..100).map(ready).unzip();
    let (wakes, waker) = counting();
    assert!(poll(&mut set, &waker).is_pending());
    assert!(poll(&mut set, &waker).is_pending());
    runnables.into_iter().for_each(|runnable| {
        runnable.run();
    });
    assert_eq!(wakes.count(), 1);
    for i in 0..100 {
        assert!(matches!(poll(&mut set, &waker), Poll::Ready(Some(Ok(n))) if n == i));
    }
    assert!(matches!(poll(&mut set, &waker), Poll::Ready(None)));
    assert_eq!(wakes.count(), 1);
    assert_eq!(wakes.wakers(), 1);
}

#[test]
fn the_last_waker_is_woken() {
    let (runnable, handle) = ready(1);
    let mut set = JoinSet::from_iter([handle]);
    let ((first, first_waker), (last, last_waker)) = (counting(), counting());
    assert!(poll(&mut set, &first_waker).is_pending());
    assert!(poll(&mut set, &last_waker).is_pending());
    assert_eq!(first.wakers(), 1);
    runnable.run();
    assert_eq!((first.count(), last.count()), (0, 1));
    assert!(matches!(
        poll(&mut set, &last_waker),
        Poll::Ready(Some(Ok(1)))
    ));
}

#[test]
fn a_wait_that_is_dropped_takes_nothing() {
    let (runnable, handle) = ready(1);
    let mut set = JoinSet::from_iter([handle]);
    let (wakes, waker) = counting();
    assert!(poll_with(&mut pin!(set.join_next()), &waker).is_pending());
    runnable.run();
    assert_eq!(wakes.count(), 1);
    assert_eq!(next(&mut set), 1);
}

#[test]
fn a_task_that_has_ended_is_inserted() {
    let (runnable, handle) = ready(1);
    let id = handle.id();
    runnable.run();
    let mut set = JoinSet::new();
    let (wakes, waker) = counting();
    let (_waits, other) = ready(2);
    set.insert(other);
    assert!(poll(&mut set, &waker).is_pending());
    assert_eq!(set.insert(handle).id(), id);
    assert_eq!(wakes.count(), 1);
    assert!(matches!(set.try_join_next(), Some(Ok(1))));
    assert!(set.try_join_next().is_none());
    assert_eq!(set.len(), 1);
}

#[test]
fn a_handle_that_has_given_its_result_is_refused() {
    let (runnable, mut handle) = ready(1);
    runnable.run();
    assert_eq!(block_on(&mut handle), 1);
    let mut set = JoinSet::new();
    panics(|| set.insert(handle));
    assert!(set.is_empty());
}

#[test]
fn a_waker_that_panics_when_replaced_leaves_the_task_in_the_set() {
    let (runnable, mut handle) = ready(1);
    let panics_on_drop = Panics;
    let waker = waker_that(move || drop(panics_on_drop));
    assert!(poll_with(&mut handle, &waker).is_pending());
    // The one in the task is the last.
    drop(waker);
    let mut set = JoinSet::new();
    panics(|| set.insert(handle));
    assert_eq!(set.len(), 1);
    runnable.run();
    assert_eq!(next(&mut set), 1);
}

/// Two panics at once would end the program.
#[test]
fn a_panic_in_the_drop_of_an_output_that_nobody_takes_is_caught() {
    let set = || {
        let mut set = JoinSet::new();
        for _ in 0..2 {
            let [early, late] = [(); 2].map(|()| ready(Panics));
            early.0.run();
            set.extend([early.1, late.1]);
            late.0.run();
        }
        set
    };
    let ends: [fn(JoinSet<Panics>); 4] = [
        drop,
        |mut set| block_on(set.shutdown()),
        |mut set| set.detach_all(),
        |mut set| {
            let (runnable, handle) = task::spawn(async { panic_any("child") }, |_| {});
            set.insert(handle);
            runnable.run();
            assert_eq!(panic_text(|| drop(block_on(set.join_all()))), "child");
        },
    ];
    for end in ends {
        end(set());
        let text = panic_text(|| {
            let _unwinds = OnDrop(|| end(set()));
            panic_any("outer");
        });
        assert_eq!(text, "outer");
    }
}

#[test]
#[should_panic(expected = "`join_all` found that the task spawned at ")]
fn join_all_panics_for_a_task_that_was_cancelled() {
    let (runnable, handle) = ready(());
    drop(runnable);
    block_on(JoinSet::from_iter([handle]).join_all());
}

/// A task that waits, and whose future is dropped on the spot when it is cancelled.
fn waiting(i: usize, log: &Arc<Mutex<Vec<usize>>>) -> JoinHandle<()> {
    let log = log.clone();
    let logs = OnDrop(move || log.lock().unwrap().push(i));
    let (runnable, handle) = task::spawn(hold(logs), drop);
    runnable.run();
    handle
}

#[test]
fn dropping_the_set_or_abort_all_cancels_all() {
    for is_dropped in [true, false] {
        let log = Arc::default();
        let mut set: JoinSet<_> = (0..4).map(|i| waiting(i, &log)).collect();
        // Its place is taken by the next that comes.
        let (runnable, handle) = ready(());
        set.insert(handle);
        runnable.run();
        next(&mut set);
        set.extend((4..7).map(|i| waiting(i, &log)));
        if is_dropped {
            drop(set);
        } else {
            set.abort_all();
            let cancelled = || set.try_join_next().map(|result| result.unwrap_err());
            let cancelled = std::iter::from_fn(cancelled).filter(JoinError::is_cancelled);
            assert_eq!(cancelled.count(), 7);
        }
        log.lock().unwrap().sort_unstable();
        assert_eq!(
            *log.lock().unwrap(),
            [0, 1, 2, 3, 4, 5, 6],
            "dropped: {is_dropped}"
        );
    }
}

#[test]
fn a_task_whose_drop_panics_lets_the_others_be_cancelled() {
    let log = Arc::default();
    let bomb = || {
        let (runnable, handle) = task::spawn(pending::<()>(), |_| panic_any("schedule"));
        runnable.run();
        handle
    };
    let set = || JoinSet::from_iter([waiting(0, &log), bomb(), waiting(1, &log)]);
    let dropped = set();
    panics(|| drop(dropped));
    assert_eq!(*log.lock().unwrap(), [0, 1]);
    let aborted = set();
    panics(|| aborted.abort_all());
    assert_eq!(*log.lock().unwrap(), [0, 1, 0, 1]);
}

#[test]
fn detached_tasks_run_on_and_the_set_can_be_used_again() {
    let executor = executor(2);
    let (sender, receiver) = mpsc::channel();
    let mut set = JoinSet::new();
    for _ in 0..SOME {
        let sender = sender.clone();
        set.spawn_on(&executor, async move {
            yield_now().await;
            sender.send(()).unwrap();
        });
    }
    drop(sender);
    set.detach_all();
    assert!(set.is_empty());
    set.spawn_on(&executor, async {});
    assert_eq!(block_on(set.join_all()), [()]);
    assert_eq!(receiver.into_iter().count(), SOME);
}

#[test]
fn detach_all_wakes_the_waiter() {
    let (runnable, handle) = ready(());
    let mut set = JoinSet::from_iter([handle]);
    let (wakes, waker) = counting();
    assert!(poll(&mut set, &waker).is_pending());
    set.detach_all();
    assert_eq!((wakes.count(), wakes.wakers()), (1, 1));
    assert!(matches!(poll(&mut set, &waker), Poll::Ready(None)));
    runnable.run();
    assert_eq!(wakes.count(), 1);
}

#[test]
fn a_waker_that_panics_leaves_the_result_in_the_set() {
    let (runnable, handle) = ready(1);
    let mut set = JoinSet::from_iter([handle]);
    let wakes = Wakes::new();
    let own = wakes.clone();
    let waker = waker_that(move || {
        own.waker().wake();
        panic_any("wake");
    });
    assert!(poll(&mut set, &waker).is_pending());
    panics(|| runnable.run());
    assert_eq!(wakes.count(), 1);
    drop(waker);
    assert_eq!(next(&mut set), 1);
    assert_eq!(wakes.wakers(), 0);
}

#[test]
fn each_result_can_come_with_the_id_of_its_task() {
    let mut set = JoinSet::new();
    let ends = set.spawn(async { 1 }).id();
    let never = set.spawn(pending()).abort_handle();
    assert_ne!(ends, never.id());
    let (id, result) = block_on(set.join_next_with_id()).unwrap();
    assert_eq!((id, result.unwrap()), (ends, 1));
    never.abort();
    let (id, result) = block_on(set.join_next_with_id()).unwrap();
    assert!(id == never.id() && result.unwrap_err().is_cancelled());
    assert!(block_on(set.join_next_with_id()).is_none());
}

#[cfg(feature = "futures-core")]
#[test]
fn as_a_stream_a_set_gives_the_results_and_ends() {
    use futures_lite::{Stream, StreamExt};

    let set: JoinSet<_> = (0..3)
        .map(|i| joint_executor::spawn(async move { i }))
        .collect();
    assert_eq!(set.size_hint(), (3, Some(3)));
    let mut results = block_on(set.map(Result::unwrap).collect::<Vec<_>>());
    results.sort_unstable();
    assert_eq!(results, [0, 1, 2]);
}
