//! Futures that are dropped at an await, and timeouts.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use joint::oneshot;
use joint_executor::time::{sleep, timeout};
use joint_sim as sim;

use super::{
    Runtime,
    Version::{self, Planted, Repaired},
    lock::Lock,
};

/// Between one and four milliseconds, whatever the seed says.
async fn some_time() {
    sleep(Duration::from_micros(1000 + sim::random() % 3000)).await;
}

const LIMIT: Duration = Duration::from_millis(3);

pub(crate) async fn permit_of_a_cancelled_waiter<R: Runtime>(version: Version) {
    let permit = Lock::new(version);
    let held = permit.lock().await;
    let waiter = R::spawn({
        let permit = permit.clone();
        async move { drop(permit.lock().await) }
    });
    let holder = R::spawn(async move {
        R::yield_now().await;
        drop(held);
    });
    R::yield_now().await;
    R::yield_now().await;
    // Cancelled, perhaps just when it has been handed the permit.
    drop(waiter);
    holder.await;
    permit.lock().await;
}

/// Bytes that arrive one by one.
#[derive(Default)]
struct Bytes(Mutex<VecDeque<u8>>);

impl Bytes {
    async fn next(&self) -> u8 {
        loop {
            let next = self.0.lock().unwrap().pop_front();
            match next {
                Some(byte) => return byte,
                None => sleep(Duration::from_millis(1)).await,
            }
        }
    }
}

pub(crate) async fn half_a_frame<R: Runtime>(version: Version) {
    let bytes = Arc::new(Bytes::default());
    let sender = R::spawn({
        let bytes = bytes.clone();
        async move {
            for byte in 0..12 {
                some_time().await;
                bytes.0.lock().unwrap().push_back(byte);
            }
        }
    });
    let mut kept = Vec::new();
    let mut frames = Vec::new();
    while frames.len() < 4 {
        let read = async {
            let mut own = Vec::new();
            let frame = match version {
                Planted => &mut own,
                Repaired => &mut kept,
            };
            while frame.len() < 3 {
                let byte = bytes.next().await;
                frame.push(byte);
            }
            std::mem::take(frame)
        };
        // To send a sign of life when nothing comes.
        if let Ok(frame) = timeout(3 * LIMIT, read).await {
            frames.push(frame[0]);
        }
        assert!(
            frames
                .iter()
                .zip([0, 3, 6, 9])
                .all(|(frame, first)| *frame == first),
            "bytes are lost: {frames:?}"
        );
    }
    sender.await;
}

pub(crate) async fn retried_effect<R: Runtime>(version: Version) {
    let balance = Arc::new(Mutex::new((0, Vec::new())));
    let deposit = |request: usize| {
        let balance = balance.clone();
        // The server works on, whether or not somebody still waits.
        let (sender, receiver) = oneshot::channel();
        joint_executor::spawn_detached(async move {
            some_time().await;
            {
                let mut balance = balance.lock().unwrap();
                if version == Planted || !balance.1.contains(&request) {
                    balance.1.push(request);
                    balance.0 += 100;
                }
            }
            let _ = sender.send(());
        });
        receiver
    };
    while timeout(LIMIT, deposit(1)).await.is_err() {
        R::yield_now().await;
    }
    sleep(4 * LIMIT).await;
    assert_eq!(balance.lock().unwrap().0, 100, "one deposit of 100");
}

pub(crate) async fn refund_beside_success<R: Runtime>(version: Version) {
    #[derive(Default)]
    struct Order {
        shipped: AtomicUsize,
        refunded: AtomicUsize,
    }
    let order = Arc::new(Order::default());
    let ship = R::spawn({
        let order = order.clone();
        async move {
            sleep(LIMIT - Duration::from_micros(sim::random() % 3)).await;
            order.shipped.fetch_add(1, SeqCst);
            R::yield_now().await;
        }
    });
    let mut ship = ship;
    if timeout(LIMIT, &mut ship).await.is_err() {
        if version == Planted || order.shipped.load(SeqCst) == 0 {
            order.refunded.fetch_add(1, SeqCst);
        }
        drop(ship);
    }
    sleep(4 * LIMIT).await;
    let both = (order.shipped.load(SeqCst), order.refunded.load(SeqCst));
    assert!(
        both == (1, 0) || both == (0, 1),
        "shipped, refunded: {both:?}"
    );
}

/// A value that the first who asks for it makes.
#[derive(Default)]
struct Lazy(Mutex<LazyState>);

#[derive(Clone, Copy, Default, PartialEq)]
enum LazyState {
    #[default]
    Empty,
    InTheMaking,
    Made(u32),
}

impl Lazy {
    async fn get(&self, version: Version) -> u32 {
        /// Takes the mark back, if the making is given up.
        struct Mark<'a>(&'a Lazy, Version);
        impl Drop for Mark<'_> {
            fn drop(&mut self) {
                let mut state = self.0.0.lock().unwrap();
                if self.1 == Repaired && *state == LazyState::InTheMaking {
                    *state = LazyState::Empty;
                }
            }
        }
        loop {
            let before = {
                let mut state = self.0.lock().unwrap();
                let before = *state;
                if before == LazyState::Empty {
                    *state = LazyState::InTheMaking;
                }
                before
            };
            match before {
                LazyState::Made(value) => return value,
                LazyState::InTheMaking => sleep(Duration::from_millis(1)).await,
                LazyState::Empty => {
                    let _mark = Mark(self, version);
                    some_time().await;
                    *self.0.lock().unwrap() = LazyState::Made(7);
                }
            }
        }
    }
}

pub(crate) async fn initializing_forever<R: Runtime>(version: Version) {
    let lazy = Arc::new(Lazy::default());
    let get = || {
        let lazy = lazy.clone();
        R::spawn(async move { timeout(LIMIT, lazy.get(version)).await })
    };
    for value in [get(), get()] {
        let _in_time = value.await;
    }
    let value = timeout(100 * LIMIT, lazy.get(version)).await;
    assert_eq!(value, Ok(7), "nobody makes it any more");
}
