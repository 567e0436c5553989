//! A worker drops its executor while others are in joins, and other threads spawn and wake.

use std::sync::Weak;

use crate::prelude::*;

const ROUNDS: usize = 100;
const OUTSIDERS: usize = 2;

/// A guard that keeps a channel open until the last of them has gone.
struct Held {
    guards: Guards,
    _guard: Guard,
    open: mpsc::Sender<()>,
}

impl Held {
    fn new(guards: &Guards, open: &mpsc::Sender<()>) -> Self {
        Self {
            guards: guards.clone(),
            _guard: guards.guard(),
            open: open.clone(),
        }
    }

    fn another(&self) -> Self {
        Self::new(&self.guards, &self.open)
    }
}

fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (a, b) = joint_executor::join(|| leaves(depth - 1), || leaves(depth - 1));
    a + b
}

/// Spawns and wakes for as long as there is an executor. Comes back with the number of its tasks.
fn outsider(executor: &Weak<Executor>, guard: &Held, wakers: &Mutex<Vec<Waker>>) -> u64 {
    let mut spawned = 0;
    while let Some(executor) = executor.upgrade() {
        let own = guard.another();
        executor.spawn_detached(async move {
            spawn_detached(hold(own.another()));
            drop(own);
        });
        spawned += 1;
        drop(executor);
        let wakers = wakers.lock().unwrap();
        wakers.iter().for_each(Waker::wake_by_ref);
    }
    // What is woken now has nowhere to go.
    wakers.lock().unwrap().drain(..).for_each(Waker::wake);
    spawned
}

fn round(workers: usize) {
    let guards = Guards::default();
    let (open, all_gone) = mpsc::channel::<()>();
    let guard = Held::new(&guards, &open);
    let executor = Arc::new(Executor::builder().workers(workers).build().unwrap());
    let wakers = Arc::<Mutex<Vec<Waker>>>::default();
    let begun = Arc::new(Barrier::new(workers + 1));
    // The other workers are in joins from here to the end.
    for _ in 1..workers {
        let (own, begun) = (guard.another(), begun.clone());
        executor.spawn_detached(async move {
            let _own = own;
            begun.wait();
            loop {
                assert_eq!(leaves(8), 256);
                joint_executor::yield_now().await;
            }
        });
    }
    let (give, given) = mpsc::channel::<Arc<Executor>>();
    let own = guard.another();
    let (done, is_done) = mpsc::channel();
    let has_begun = begun.clone();
    executor.spawn_detached(async move {
        has_begun.wait();
        let mut last = given.recv().unwrap();
        // The outsiders hold a share each, now and then.
        let executor = loop {
            match Arc::try_unwrap(last) {
                Ok(executor) => break executor,
                Err(shared) => last = shared,
            }
            thread::yield_now();
        };
        assert_eq!(leaves(6), 64);
        drop(executor);
        // No other worker is left, and this one goes on to the end of its poll.
        assert_eq!(leaves(6), 64);
        drop(own);
        done.send(()).unwrap();
    });
    for _ in 0..4 {
        let (own, wakers) = (guard.another(), wakers.clone());
        executor.spawn_detached(async move {
            let _own = own;
            poll_fn(|cx| {
                wakers.lock().unwrap().push(cx.waker().clone());
                std::task::Poll::<()>::Pending
            })
            .await;
        });
    }
    // From here on nobody has time to take over what is queued behind one who waits.
    begun.wait();
    let weak = Arc::downgrade(&executor);
    let spawned: u64 = thread::scope(|scope| {
        let outsiders: Vec<_> = (0..OUTSIDERS)
            .map(|_| scope.spawn(|| outsider(&weak, &guard, &wakers)))
            .collect();
        give.send(executor).unwrap();
        is_done.recv().unwrap();
        outsiders.into_iter().map(|one| one.join().unwrap()).sum()
    });
    drop(guard);
    drop(open);
    // The worker that dropped it drops what is left, in its own time.
    all_gone.recv().unwrap_err();
    let made = guards.made() as u64;
    assert_eq!(made, guards.dropped() as u64);
    // Some of what the outsiders have spawned has a child.
    let least = 1 + 1 + (workers as u64 - 1) + 4 + spawned;
    assert!(
        (least..=least + spawned).contains(&made),
        "{made} of {least} and more"
    );
}

#[test]
fn a_worker_drops_its_executor_while_others_join_and_spawn() {
    for n in 0..ROUNDS {
        round([1, 2, 4][n % 3]);
    }
}
