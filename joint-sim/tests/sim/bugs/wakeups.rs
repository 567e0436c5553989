//! Wake-ups that are lost, or that wake too few.

use super::*;

/// Tells one task that something has happened.
#[derive(Default)]
struct Notify(Mutex<(bool, Option<Waker>)>);

impl Notify {
    fn notify(&self, version: Version) {
        let mut state = self.0.lock().unwrap();
        let waker = state.1.take();
        // Planted: nobody waits, so there is nobody to tell.
        state.0 = waker.is_some() || version == Repaired;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    async fn notified(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if mem::take(&mut state.0) {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

pub(crate) async fn notified_before_waiting<R: Runtime>(version: Version) {
    let queue = Arc::new((AsyncMutex::new(VecDeque::new()), Notify::default()));
    let producer = R::spawn({
        let queue = queue.clone();
        async move {
            for item in 0..2 {
                queue.0.lock().await.push_back(item);
                queue.1.notify(version);
                R::yield_now().await;
            }
        }
    });
    let mut received = 0;
    while received < 2 {
        let item = queue.0.lock().await.pop_front();
        match item {
            Some(item) => {
                assert_eq!(item, received);
                received += 1;
            }
            None => {
                // Anything that waits, such as a line in a log.
                R::yield_now().await;
                queue.1.notified().await;
            }
        }
    }
    producer.await;
}

/// A flag that is set once, and the tasks that wait for it.
#[derive(Default)]
struct Flag(Mutex<(bool, Vec<Waker>)>);

impl Flag {
    async fn wait(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn set(&self, version: Version) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let told = match version {
            Planted => state.1.pop().into_iter().collect(),
            Repaired => mem::take(&mut state.1),
        };
        drop(state);
        told.into_iter().for_each(Waker::wake);
    }
}

pub(crate) async fn one_of_two_is_woken<R: Runtime>(version: Version) {
    let flag = Arc::new(Flag::default());
    let wait = || {
        let flag = flag.clone();
        R::spawn(async move {
            // Both wait only in some schedules.
            for _ in 0..3 {
                R::yield_now().await;
            }
            flag.wait().await;
        })
    };
    let waiters = [wait(), wait()];
    for _ in 0..2 {
        R::yield_now().await;
    }
    flag.set(version);
    for waiter in waiters {
        waiter.await;
    }
}

/// A barrier for two tasks that can be used again.
#[derive(Default)]
struct Barrier(Mutex<Rounds>);

#[derive(Default)]
struct Rounds {
    arrived: usize,
    left: usize,
    round: usize,
    waiting: Vec<Waker>,
}

impl Barrier {
    /// Returns the round.
    fn arrive(&self, version: Version) -> usize {
        let mut state = self.0.lock().unwrap();
        let round = state.round;
        state.arrived += 1;
        if state.arrived == 2 {
            state.round += 1;
            state.waiting.drain(..).for_each(Waker::wake);
            if version == Repaired {
                state.arrived = 0;
            }
        }
        round
    }

    async fn wait(&self, version: Version) {
        let round = self.arrive(version);
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            let is_over = match version {
                Planted => state.arrived >= 2,
                Repaired => state.round != round,
            };
            if is_over {
                return Poll::Ready(());
            }
            state.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
        let mut state = self.0.lock().unwrap();
        state.left += 1;
        if state.left == 2 {
            state.left = 0;
            if version == Planted {
                // Whoever has come for the next round meanwhile was let through.
                state.arrived = 0;
            }
        }
    }
}

pub(crate) async fn barrier_used_again<R: Runtime>(version: Version) {
    let barrier = Arc::new((Barrier::default(), [const { AtomicUsize::new(0) }; 2]));
    let sides = [0, 1].map(|own| {
        let barrier = barrier.clone();
        R::spawn(async move {
            let (barrier, rounds) = &*barrier;
            for round in 1..3 {
                rounds[own].store(round, SeqCst);
                barrier.wait(version).await;
                let other = rounds[1 - own].load(SeqCst);
                assert!(
                    other >= round,
                    "one side is in round {round}, the other in {other}"
                );
                for _ in 0..2 {
                    R::yield_now().await;
                }
            }
        })
    });
    for side in sides {
        side.await;
    }
}

/// A message that waits until it is taken, as in a channel without capacity.
pub(crate) async fn first_waker<R: Runtime>(version: Version) {
    let slot = Arc::new(Mutex::new((true, None::<Waker>)));
    let receiver = R::spawn({
        let slot = slot.clone();
        async move {
            R::yield_now().await;
            let (_, sender) = mem::take(&mut *slot.lock().unwrap());
            sender.into_iter().for_each(Waker::wake);
        }
    });
    poll_fn(|cx| {
        let (is_full, sender) = &mut *slot.lock().unwrap();
        if !*is_full {
            return Poll::Ready(());
        }
        // Planted: a later poll may have another waker.
        if sender.is_none() || version == Repaired {
            *sender = Some(cx.waker().clone());
        }
        Poll::Pending
    })
    .await;
    receiver.await;
}
