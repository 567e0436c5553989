//! The contestants of the rows that are made of tasks.

use std::{
    convert::Infallible,
    future::poll_fn,
    mem,
    pin::{Pin, pin},
    sync::{Arc, LazyLock, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_concurrency::future::{FutureGroup, Join};
use futures_lite::StreamExt;
use futures_util::{
    FutureExt,
    future::{Shared, join_all},
};
use joint::JoinHandle;
use joint_benches::{
    locals::tokio::DrivenTokioLocal,
    pools::tokio::DrivenTokioPool,
    runtime::{Pool, Runtime, Yield},
    signal::Countdown,
};
use joint_flow::{Collection, Task, promise, time};
use tokio::{sync::oneshot, task::JoinSet};

use super::tasks::{Timed, Vocabulary, Work};

pub(crate) struct JointFlow;

impl Vocabulary for JointFlow {
    type Task<F: Work> = Task<()>;
    type Storm = Vec<Task<()>>;
    type Collection<F: Work> = Collection<Infallible>;
    type Sender = promise::Sender<()>;
    type Shared = promise::Shared<()>;

    fn spawn<F: Work>(future: F) -> Task<()> {
        joint_flow::spawn(future)
    }

    async fn all<F: Work>(tasks: Vec<Task<()>>) {
        joint_flow::try_all(tasks).await.expect("no task fails");
    }

    fn storm<F: Work>(futures: impl Iterator<Item = F>) -> Vec<Task<()>> {
        futures.map(joint_flow::spawn).collect()
    }

    fn collection<F: Work>() -> Collection<Infallible> {
        Collection::until_empty()
    }

    fn add<F: Work>(collection: &mut Collection<Infallible>, future: F) {
        collection.add(async {
            future.await;
            Ok(())
        });
    }

    async fn emptied<F: Work>(collection: Collection<Infallible>) {
        collection.await.expect("no member fails");
    }

    fn promise() -> (promise::Sender<()>, promise::Shared<()>) {
        promise::channel()
    }

    fn send(sender: promise::Sender<()>) {
        sender.send(());
    }

    async fn wait(shared: promise::Shared<()>) {
        shared.await.expect("the promise is kept");
    }

    fn turn() -> impl Future<Output = ()> + Send {
        time::delay(Duration::ZERO)
    }
}

impl Timed for JointFlow {
    fn delay(duration: Duration) -> impl Future<Output = ()> + Send {
        time::delay(duration)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        time::yield_now()
    }
}

/// The least that does the work, on joint's executor: loops, counters, and lists of wakers.
pub(crate) struct ByHand;

/// Members that have not ended. Rows run one after another.
static LEFT: Countdown = Countdown::new();

/// A flag, and a list of wakers until it is set.
#[derive(Default)]
pub(crate) struct Event(Mutex<Option<Vec<Waker>>>);

impl Event {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Vec::new()))))
    }

    fn happen(&self) {
        let waiters = self.0.lock().expect("no panics").take();
        waiters.into_iter().flatten().for_each(Waker::wake);
    }

    async fn over(&self) {
        let mut is_new = true;
        poll_fn(|cx| match &mut *self.0.lock().expect("no panics") {
            None => Poll::Ready(()),
            Some(waiters) => {
                if mem::take(&mut is_new) {
                    waiters.push(cx.waker().clone());
                }
                Poll::Pending
            }
        })
        .await;
    }
}

impl Vocabulary for ByHand {
    type Task<F: Work> = JoinHandle<()>;
    type Storm = Vec<JoinHandle<()>>;
    type Collection<F: Work> = usize;
    type Sender = Arc<Event>;
    type Shared = Arc<Event>;

    fn spawn<F: Work>(future: F) -> JoinHandle<()> {
        joint_executor::spawn(future)
    }

    async fn all<F: Work>(tasks: Vec<JoinHandle<()>>) {
        for task in tasks {
            task.await;
        }
    }

    fn storm<F: Work>(futures: impl Iterator<Item = F>) -> Vec<JoinHandle<()>> {
        futures.map(joint_executor::spawn).collect()
    }

    fn collection<F: Work>() -> usize {
        LEFT.start(0);
        0
    }

    fn add<F: Work>(collection: &mut usize, future: F) {
        *collection += 1;
        LEFT.start(*collection);
        joint_executor::spawn_detached(async {
            future.await;
            LEFT.done();
        });
    }

    async fn emptied<F: Work>(_: usize) {
        LEFT.over().await;
    }

    fn promise() -> (Arc<Event>, Arc<Event>) {
        let event = Event::new();
        (event.clone(), event)
    }

    fn send(sender: Arc<Event>) {
        sender.happen();
    }

    async fn wait(shared: Arc<Event>) {
        shared.over().await;
    }
}

impl Timed for ByHand {
    fn delay(duration: Duration) -> impl Future<Output = ()> + Send {
        joint_executor::time::sleep(duration)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        Yield::default()
    }
}

/// A promise where there is none: tokio's channel, shared by `futures`.
macro_rules! shared_oneshot {
    () => {
        type Sender = oneshot::Sender<()>;
        type Shared = Shared<oneshot::Receiver<()>>;

        fn promise() -> (Self::Sender, Self::Shared) {
            let (sender, receiver) = oneshot::channel();
            (sender, receiver.shared())
        }

        fn send(sender: Self::Sender) {
            sender.send(()).expect("the receiver waits");
        }

        async fn wait(shared: Self::Shared) {
            shared.await.expect("the promise is kept");
        }
    };
}

/// A runtime of tokio's, with a thread of its own or on this thread. Combinators are those of
/// `futures`.
pub(crate) struct Tokio<const IS_POOL: bool>;

impl<const IS_POOL: bool> Vocabulary for Tokio<IS_POOL> {
    type Task<F: Work> = tokio::task::JoinHandle<()>;
    type Storm = JoinSet<()>;
    type Collection<F: Work> = JoinSet<()>;

    fn run(future: impl Future<Output = Duration> + Send + 'static) -> Duration {
        static POOL: LazyLock<&DrivenTokioPool> = LazyLock::new(|| DrivenTokioPool::start(1));
        static LOCAL: DrivenTokioLocal = DrivenTokioLocal {};
        match IS_POOL {
            true => POOL.run(future),
            false => LOCAL.run(future),
        }
    }

    fn spawn<F: Work>(future: F) -> Self::Task<F> {
        tokio::spawn(future)
    }

    async fn all<F: Work>(tasks: Vec<Self::Task<F>>) {
        for result in join_all(tasks).await {
            result.expect("no task fails");
        }
    }

    fn storm<F: Work>(futures: impl Iterator<Item = F>) -> JoinSet<()> {
        futures.collect()
    }

    fn collection<F: Work>() -> JoinSet<()> {
        JoinSet::new()
    }

    fn add<F: Work>(collection: &mut JoinSet<()>, future: F) {
        collection.spawn(future);
    }

    async fn emptied<F: Work>(mut collection: JoinSet<()>) {
        while let Some(result) = collection.join_next().await {
            result.expect("no member fails");
        }
    }

    shared_oneshot!();

    /// Not a sleep, because that takes at least a millisecond.
    fn turn() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

impl<const IS_POOL: bool> Timed for Tokio<IS_POOL> {
    fn delay(duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

/// Everything in one task, on joint's executor.
pub(crate) struct FuturesConcurrency;

/// Polls a future once, for a task that waits for nothing.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) {
    let polled = future.poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "the future waits");
}

impl Vocabulary for FuturesConcurrency {
    type Task<F: Work> = F;
    type Storm = Pin<Box<dyn Future<Output = Vec<()>> + Send>>;
    type Collection<F: Work> = FutureGroup<Pin<Box<F>>>;

    fn spawn<F: Work>(future: F) -> F {
        future
    }

    async fn all<F: Work>(tasks: Vec<F>) {
        tasks.join().await;
    }

    async fn all_beside<F: Work>(tasks: Vec<F>, other: impl Future<Output = ()> + Send) {
        (tasks.join(), other).join().await;
    }

    fn storm<F: Work>(futures: impl Iterator<Item = F>) -> Self::Storm {
        let mut storm = Box::pin(futures.collect::<Vec<_>>().join());
        poll_once(storm.as_mut());
        storm
    }

    fn collection<F: Work>() -> FutureGroup<Pin<Box<F>>> {
        FutureGroup::new()
    }

    fn add<F: Work>(collection: &mut FutureGroup<Pin<Box<F>>>, future: F) {
        collection.insert(Box::pin(future));
    }

    fn start<F: Work>(collection: &mut FutureGroup<Pin<Box<F>>>) {
        poll_once(pin!(collection.next()));
    }

    async fn emptied<F: Work>(mut collection: FutureGroup<Pin<Box<F>>>) {
        while let Some(()) = collection.next().await {}
    }

    shared_oneshot!();
}
