//! The drops at the end of an executor: every future, once, before the drop of the executor
//! returns. A task that waits for one of them is told.

use crate::prelude::*;

/// A task that never ends, with a guard in it.
fn never(guards: &Guards) -> impl Future<Output = ()> + Send + 'static {
    hold(guards.guard())
}

/// Waits until the tasks of an executor have been polled so often.
fn wait_for_polls(executor: &Executor, polls: u64) {
    wait_until(|| executor.metrics().polls() >= polls);
}

/// Makes wakers come out of a task, and then waits for ever.
async fn hand_out(wakers: Arc<Mutex<Vec<Waker>>>, _held: impl Send) {
    poll_fn(|cx| {
        wakers.lock().unwrap().push(cx.waker().clone());
        Poll::Pending
    })
    .await
}

/// The one worker is busy until it drops the executor itself: so nothing behind it is ever run.
#[test]
fn queued_tasks_are_dropped_without_being_run() {
    let guards = Guards::default();
    let ran = Arc::new(AtomicUsize::new(0));
    let executor = executor(1);
    let (sender, receiver) = mpsc::channel::<Executor>();
    let dropper = executor.spawn(async move { drop(receiver.recv().unwrap()) });
    let handles: Vec<_> = (0..1_000)
        .map(|_| {
            let (guard, ran) = (guards.guard(), ran.clone());
            executor.spawn(async move {
                ran.fetch_add(1, Relaxed);
                drop(guard);
            })
        })
        .collect();
    sender.send(executor).unwrap();
    block_on(dropper);
    handles.into_iter().for_each(assert_cancelled);
    assert_eq!(ran.load(Relaxed), 0);
    guards.assert_all_dropped(1_000);
}

#[test]
fn futures_whose_drops_spawn_wake_each_other_or_panic() {
    type OnEnd = Box<dyn FnMut() + Send>;
    let wakers = Arc::<Mutex<Vec<Waker>>>::default();
    let own = wakers.clone();
    let spawns = |guards: Guards| -> OnEnd {
        Box::new(move || {
            let again = guards.clone();
            let then = OnDrop(move || spawn(never(&again)).detach());
            spawn(hold((guards.guard(), then))).detach();
        })
    };
    let wakes = move |_| -> OnEnd {
        let wakers = own.clone();
        Box::new(move || {
            let wakers = wakers.lock().unwrap().clone();
            wakers.iter().for_each(Waker::wake_by_ref);
        })
    };
    let panics = |_| -> OnEnd { Box::new(|| panic!("as it should")) };
    // How many guards there are for each task, and whether it ends by a panic.
    type Kind<'a> = (&'static str, &'a dyn Fn(Guards) -> OnEnd, usize, bool);
    let kinds: [Kind<'_>; 3] = [
        ("spawns", &spawns, 3, false),
        ("wakes", &wakes, 1, false),
        ("panics", &panics, 1, true),
    ];
    for (name, kind, made, is_panic) in kinds {
        println!("each {name}");
        let guards = Guards::default();
        let executor = executor(2);
        let handles = [(); 100].map(|()| {
            let held = (OnDrop(kind(guards.clone())), guards.guard());
            executor.spawn(hand_out(wakers.clone(), held))
        });
        wait_for_polls(&executor, 100);
        drop(executor);
        guards.assert_all_dropped(100 * made);
        wakers.lock().unwrap().clear();
        for handle in handles {
            assert_eq!(block_on(handle.result()).unwrap_err().is_panic(), is_panic);
        }
    }
}

#[test]
fn dropped_with_the_future_of_its_own_task() {
    let guards = Guards::default();
    let executor = Arc::new(executor(1));
    let waiting = executor.spawn(never(&guards));
    let holder = executor.spawn(hold(executor.clone()));
    wait_for_polls(&executor, 2);
    drop(executor);
    // The cycle of the executor and its task ends with the task.
    drop(holder);
    assert_cancelled(waiting);
    guards.assert_all_dropped(1);
}

#[test]
fn handles_that_outlive_the_executor_give_an_output() {
    let executor = executor(1);
    let [ready, dropped] = [(); 2].map(|()| executor.spawn(async { String::from("kept") }));
    let never = executor.spawn(pending::<Box<i32>>());
    wait_for_polls(&executor, 3);
    drop(executor);
    assert!(ready.is_finished() && never.is_finished());
    drop((dropped, never));
    assert_eq!(block_on(ready), "kept");
}

/// tokio #4724: two tasks that await each other.
#[test]
fn tasks_that_await_each_other_are_dropped() {
    let guards = Guards::default();
    let executor = executor(2);
    for _ in 0..100 {
        let (give_a, take_a) = oneshot::channel::<JoinHandle<()>>();
        let (give_b, take_b) = oneshot::channel::<JoinHandle<()>>();
        let waits = |other: oneshot::Receiver<JoinHandle<()>>, guard: Guard| async move {
            let _guard = guard;
            other.await.unwrap().await;
        };
        let a = executor.spawn(waits(take_b, guards.guard()));
        let b = executor.spawn(waits(take_a, guards.guard()));
        give_a.send(a).unwrap();
        give_b.send(b).unwrap();
    }
    drop(executor);
    guards.assert_all_dropped(200);
}

/// cppcoro 129: many things that are ready, and many hand-overs. The stack has room for one byte of
/// each.
#[test]
fn resumptions_need_no_stack() {
    let executor = built(1, |builder| builder.stack_size(128 * 1024));
    let count = executor.spawn(async {
        let mut count = 0;
        for _ in 0..100_000 {
            let (sender, receiver) = oneshot::channel();
            sender.send(1).unwrap();
            count += receiver.await.unwrap();
        }
        for _ in 0..100_000 {
            count += spawn(async { 1 }).await;
        }
        count
    });
    assert_eq!(block_on(count), 200_000);
}

/// tokio #5162: a thread-local whose destructor wakes a task, spawns one and drops a handle.
#[test]
fn destructors_of_thread_locals_may_wake_and_spawn() {
    struct Last(Waker, Option<JoinHandle<()>>, Guards);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.wake_by_ref();
            drop(self.1.take());
            let guard = self.2.guard();
            let _ = block_on(spawn(async move { drop(guard) }).result());
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    // On Windows no thread starts while a destructor runs.
    block_on(Executor::global().spawn(async {}));
    for on_worker in [false, true] {
        let guards = Guards::default();
        let other = executor(1);
        let wakers = Arc::<Mutex<Vec<Waker>>>::default();
        let waiting = [(); 2].map(|()| other.spawn(hand_out(wakers.clone(), guards.guard())));
        wait_for_polls(&other, 2);
        let [waiting, dropped] = waiting;
        let waker = wakers.lock().unwrap()[0].clone();
        let last = Last(waker, Some(dropped), guards.clone());
        let set = move || LAST.set(Some(last));
        if on_worker {
            let executor = executor(1);
            block_on(executor.spawn(async move { set() }));
            drop(executor);
        } else {
            thread::spawn(set).join().unwrap();
        }
        wakers.lock().unwrap().clear();
        drop(other);
        assert_cancelled(waiting);
        guards.assert_all_dropped(3);
    }
}
