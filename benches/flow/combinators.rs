//! The rows of Flow's own benches in which one task waits for several futures, or uses a stream.
//!
//! All contestants wait for the same signals, which belong to none of them.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    hint::black_box,
    pin::{Pin, pin},
    sync::Mutex,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use joint_benches::{
    options::Options,
    runtime::leak,
    table::{NamedRun, Run},
};

use super::tasks::{endless, in_one_task};

const TIMES: usize = 1_000;

/// A flag that one future waits for.
#[derive(Default)]
struct Signal {
    is_set: Cell<bool>,
    waiter: RefCell<Option<Waker>>,
}

impl Signal {
    /// Sets the flag, and wakes the future.
    fn set(&self) {
        self.is_set.set(true);
        if let Some(waiter) = self.waiter.take() {
            waiter.wake();
        }
    }

    fn reset(&self) {
        self.is_set.set(false);
        self.waiter.take();
    }

    fn wait(&self) -> Wait<'_> {
        Wait(self)
    }
}

struct Wait<'a>(&'a Signal);

impl Future for Wait<'_> {
    type Output = Result<(), ()>;

    /// Not inlined, as the futures of a real program are not.
    #[inline(never)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        if self.0.is_set.get() {
            return Poll::Ready(Ok(()));
        }
        let mut waiter = self.0.waiter.borrow_mut();
        if !waiter.as_ref().is_some_and(|old| old.will_wake(cx.waker())) {
            *waiter = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// Polls a future of this task once, and returns whether it is ready.
async fn is_ready<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

type Signals = &'static [Signal; 3];

thread_local! {
    static SIGNALS: Signals = leak(Default::default());
}

/// Makes a future for the signals, again and again, and drives it.
fn drive<F: Future>([before, after]: [Places; 2], make: fn(Signals) -> F) -> Duration {
    let signals = SIGNALS.with(|signals| *signals);
    let times = times();
    joint::block_on(async {
        let start = Instant::now();
        for _ in 0..times {
            before.iter().for_each(|&i| signals[i].set());
            let mut future = pin!(make(signals));
            if !after.is_empty() {
                assert!(!is_ready(future.as_mut()).await, "too little is set");
                after.iter().for_each(|&i| signals[i].set());
            }
            black_box(future.await);
            signals.iter().for_each(Signal::reset);
        }
        start.elapsed()
    })
}

fn times() -> usize {
    Options::read().of(TIMES, 1)
}

type Places = &'static [usize];
/// The title of a row, which signals are set before the first poll, and which after it.
type Titled = (&'static str, [Places; 2]);

const RACE: &[Titled] = &[
    ("race of 2, the second is ready", [&[1], &[]]),
    ("race of 2, the first is woken", [&[], &[0]]),
];
const CHOOSE: &[Titled] = &[("choice of 2, the first is woken", [&[], &[0]])];
const QUORUM: &[Titled] = &[("quorum 2 of 3, two are woken", [&[], &[2, 0]])];

fn rows<F: Future + 'static>(
    titled: &'static [Titled],
    make: fn(Signals) -> F,
) -> impl Iterator<Item = NamedRun> {
    titled.iter().map(move |&(title, order)| {
        let run: Run = Box::new(move || drive(order, make));
        (title, times() as u64, run)
    })
}

/// The items of one round of a stream.
const ITEMS: usize = 64;

/// The number of rounds in one run.
fn rounds() -> usize {
    Options::read().of(10 * TIMES / ITEMS, 1)
}

/// Sends items, and then receives each.
async fn relay(
    send: impl Fn(&'static str),
    mut receive: impl AsyncFnMut() -> &'static str,
) -> Duration {
    let times = rounds();
    let start = Instant::now();
    for _ in 0..times {
        (0..ITEMS).for_each(|_| send(black_box("item")));
        for _ in 0..ITEMS {
            black_box(receive().await);
        }
    }
    start.elapsed()
}

fn stream(relay: fn() -> Duration) -> [NamedRun; 1] {
    let operations = (rounds() * ITEMS) as u64;
    [("STREAM/64", operations, Box::new(relay))]
}

pub(crate) fn joint_flow() -> Vec<NamedRun> {
    use joint_flow::{
        Closed,
        choice::choose,
        quorum, race,
        stream::{StreamExt, channel},
    };

    let race = rows(RACE, |[a, b, _]| race((a.wait(), b.wait())));
    let choose = rows(CHOOSE, |[a, b, _]| {
        choose().when(|| a.wait(), |_| 1).when(|| b.wait(), |_| 2)
    });
    let quorum = rows(QUORUM, |[a, b, c]| {
        quorum(2, [a.wait(), b.wait(), c.wait()])
    });
    let stream = stream(|| {
        let (sender, mut receiver) = channel::<_, Closed>();
        joint::block_on(relay(
            |item| sender.send(item).expect("there is a receiver"),
            async || receiver.next().await.expect("an item").expect("no error"),
        ))
    });
    let all = in_one_task(endless, joint_flow::all);
    (race.chain(choose).chain(quorum).chain(stream).chain(all)).collect()
}

pub(crate) fn by_hand() -> Vec<NamedRun> {
    /// Returns the first of two that is ready.
    async fn first(a: &Signal, b: &Signal) -> usize {
        let (mut a, mut b) = (a.wait(), b.wait());
        poll_fn(|cx| {
            if Pin::new(&mut a).poll(cx).is_ready() {
                return Poll::Ready(1);
            }
            Pin::new(&mut b).poll(cx).map(|_| 2)
        })
        .await
    }
    /// Returns which two of three have succeeded.
    async fn two(signals: Signals) -> [bool; 3] {
        let mut left = signals.each_ref().map(|signal| Some(signal.wait()));
        let mut succeeded = [false; 3];
        let mut needed = 2;
        poll_fn(|cx| {
            for (future, succeeded) in left.iter_mut().zip(&mut succeeded) {
                let Some(running) = future else { continue };
                if Pin::new(running).poll(cx).is_ready() {
                    *future = None;
                    *succeeded = true;
                    needed -= 1;
                    if needed == 0 {
                        return Poll::Ready(());
                    }
                }
            }
            Poll::Pending
        })
        .await;
        succeeded
    }
    /// Polls each.
    async fn each(futures: Vec<impl Future>) {
        let mut futures = Pin::from(futures.into_boxed_slice());
        poll_fn(|cx| {
            for i in 0..futures.len() {
                // SAFETY: the element of a pinned slice is pinned, and is not moved by this.
                let future = unsafe { futures.as_mut().map_unchecked_mut(|all| &mut all[i]) };
                _ = future.poll(cx);
            }
            Poll::<()>::Pending
        })
        .await
    }
    let race = rows(RACE, |[a, b, _]| first(a, b));
    let choose = rows(CHOOSE, |[a, b, _]| first(a, b));
    let stream = stream(|| {
        let queue = Mutex::new(VecDeque::new());
        let lock = || queue.lock().expect("no panics");
        joint::block_on(relay(
            |item| lock().push_back(item),
            async || lock().pop_front().expect("an item"),
        ))
    });
    race.chain(choose)
        .chain(rows(QUORUM, two))
        .chain(stream)
        .chain(in_one_task(endless, each))
        .collect()
}

pub(crate) fn tokio() -> Vec<NamedRun> {
    use tokio::{select, sync::mpsc};

    async fn first([a, b, _]: Signals) -> usize {
        select! {
            biased;
            _ = a.wait() => 1,
            _ = b.wait() => 2,
        }
    }
    let (race, choose) = (rows(RACE, first), rows(CHOOSE, first));
    let stream = stream(|| {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        joint::block_on(relay(
            |item| sender.send(item).expect("there is a receiver"),
            async || receiver.recv().await.expect("an item"),
        ))
    });
    race.chain(choose).chain(stream).collect()
}

pub(crate) fn futures() -> Vec<NamedRun> {
    use futures_channel::mpsc;
    use futures_util::{
        FutureExt, StreamExt,
        future::{join_all, select},
        stream::FuturesUnordered,
    };

    let race = rows(RACE, |[a, b, _]| select(a.wait(), b.wait()).map(drop));
    let choose = rows(CHOOSE, |[a, b, _]| {
        let (a, b) = (a.wait().map(|_| 1), b.wait().map(|_| 2));
        select(a, b).map(|first| first.factor_first().0)
    });
    let quorum = rows(QUORUM, |signals| async {
        let mut all: FuturesUnordered<_> = signals.iter().map(Signal::wait).collect();
        (all.next().await, all.next().await)
    });
    let stream = stream(|| {
        let (sender, mut receiver) = mpsc::unbounded();
        joint::block_on(relay(
            |item| sender.unbounded_send(item).expect("there is a receiver"),
            async || receiver.next().await.expect("an item"),
        ))
    });
    let all = in_one_task(endless, join_all);
    (race.chain(choose).chain(quorum).chain(stream).chain(all)).collect()
}

pub(crate) fn futures_concurrency() -> Vec<NamedRun> {
    use futures_concurrency::future::{FutureGroup, Join, Race};
    use futures_lite::StreamExt;

    let race = rows(RACE, |[a, b, _]| (a.wait(), b.wait()).race());
    let choose = rows(CHOOSE, |[a, b, _]| {
        let first = async { a.wait().await.map(|()| 1) };
        let second = async { b.wait().await.map(|()| 2) };
        (first, second).race()
    });
    let quorum = rows(QUORUM, |signals| async {
        let mut all: FutureGroup<_> = signals.iter().map(Signal::wait).collect();
        (all.next().await, all.next().await)
    });
    let all = in_one_task(endless, Join::join);
    race.chain(choose).chain(quorum).chain(all).collect()
}
