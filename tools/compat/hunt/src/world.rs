//! What all programs share.

use std::{
    fmt,
    panic::resume_unwind,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use joint_executor::{JoinHandle, spawn, time::sleep, yield_now};
use joint_sim::{self as sim, Check, Checked, Found};

/// A program that the simulation runs with many seeds.
pub struct Program {
    pub name: &'static str,
    pub find: fn(&Check) -> Result<Checked, Box<Found>>,
}

/// Makes the list `PROGRAMS`: of functions with the adapters that they are run for, or of functions
/// without arguments that return a future.
macro_rules! programs {
    ($($program:ident: $($adapter:ty),*;)*) => {
        pub const PROGRAMS: &[$crate::world::Program] = &[$($($crate::world::Program {
            name: concat!(stringify!($program), " ", stringify!($adapter)),
            find: |check| check.find($program::<$adapter>),
        },)*)*];
    };
    ($($program:expr),* $(,)?) => {
        pub const PROGRAMS: &[$crate::world::Program] = &[$($crate::world::Program {
            name: concat!(module_path!(), " ", stringify!($program)),
            find: |check| check.find($program),
        }),*];
    };
}
pub(crate) use programs;

/// Returns a number below `limit`.
pub fn below(limit: u64) -> u64 {
    sim::random() % limit
}

/// Gives the others a turn, or not, or some time.
pub async fn rest() {
    match below(8) {
        0..3 => {}
        3..6 => yield_now().await,
        6 => {
            yield_now().await;
            yield_now().await;
        }
        _ => sleep(Duration::from_micros(1 << below(12))).await,
    }
}

/// Long enough for everything that is late.
pub async fn settle() {
    sleep(Duration::from_secs(60)).await;
}

/// Runs a future that is cancelled sometimes, and sometimes never, and that has several wakers, as
/// one that moves from task to task.
pub async fn maybe<F: Future>(future: F) -> Option<F::Output> {
    match below(4) {
        0 => Some(future.await),
        1 => Some(moves(future).await),
        2 => sim::may_cancel(moves(future)).await,
        _ => sim::may_cancel(future).await,
    }
}

/// Polls a future for another, who does not care for it any more, before it is awaited.
async fn moves<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    if let Poll::Ready(output) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        return output;
    }
    rest().await;
    future.await
}

/// Waits for all tasks.
pub async fn join(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await;
    }
}

/// Spawns a task that the simulation may let panic. A panic of its own passes through.
pub fn spawn_frail<F: Future<Output = ()> + Send + 'static>(future: F) -> JoinHandle<()> {
    spawn(async move {
        if let Err(error) = spawn(sim::may_panic(future)).result().await {
            let payload = error.into_panic();
            let text = payload.downcast_ref::<&str>();
            if !text.is_some_and(|text| text.contains("the simulation's faults")) {
                resume_unwind(payload);
            }
        }
    })
}

/// Counts items that live.
#[derive(Clone, Default)]
pub struct Census(Arc<AtomicUsize>);

impl Census {
    pub fn item(&self, number: u64) -> Item {
        self.0.fetch_add(1, Relaxed);
        Item {
            number,
            census: Some(self.clone()),
        }
    }

    pub fn assert_empty(&self) {
        let left = self.0.load(Relaxed);
        assert_eq!(left, 0, "items are leaked, or dropped twice");
    }
}

/// A message.
#[derive(Default)]
pub struct Item {
    pub number: u64,
    census: Option<Census>,
}

impl Clone for Item {
    fn clone(&self) -> Self {
        match &self.census {
            Some(census) => census.item(self.number),
            None => Self::default(),
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Some(census) = &self.census {
            let before = census.0.fetch_sub(1, Relaxed);
            assert_ne!(before, 0, "an item is dropped twice");
        }
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}", self.number)
    }
}

/// A list that tasks share.
pub struct List<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Clone> List<T> {
    pub fn new() -> Self {
        Self(Arc::default())
    }

    pub fn push(&self, value: T) {
        self.0.lock().unwrap().push(value);
    }

    pub fn get(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// Asserts that at most so many are in a place.
#[derive(Clone, Default)]
pub struct Room(Arc<AtomicUsize>);

impl Room {
    pub fn enter(&self, count: usize, most: usize) -> Inside {
        let inside = self.0.fetch_add(count, Relaxed) + count;
        assert!(
            inside <= most,
            "{inside} are inside, and there is room for {most}"
        );
        Inside(self.clone(), count)
    }

    pub fn inside(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Leaves when it is dropped.
pub struct Inside(Room, usize);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.fetch_sub(self.1, Relaxed);
    }
}
