//! Pairs of a side that completes and a side that waits, among them the channels.

use std::{
    hint::black_box,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use joint_benches::{
    options::Options,
    table::{NamedRun, Table},
};

/// One pair of a side that completes and a side that waits.
pub(crate) trait Pair: Send {
    /// The value that both sides borrow if nothing is allocated.
    type Place: Send + Sync;
    type Completer<'a>: Send;
    type Waiter<'a>;

    fn place() -> Self::Place;
    fn split(place: &mut Self::Place) -> (Self::Completer<'_>, Self::Waiter<'_>);
    fn complete(completer: Self::Completer<'_>);
    /// Polls, and returns whether the answer was there.
    fn poll(waiter: &mut Self::Waiter<'_>, waker: &Waker) -> bool;
}

pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> bool {
    match Pin::new(future).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => {
            black_box(output);
            true
        }
        Poll::Pending => false,
    }
}

macro_rules! channel {
    ($name:ident: $($module:ident)::+, $Receiver:ident, $channel:ident) => {
        pub(crate) struct $name;

        impl Pair for $name {
            type Place = ();
            type Completer<'a> = $($module)::+::Sender<u64>;
            type Waiter<'a> = <$($module)::+::$Receiver<u64> as IntoFuture>::IntoFuture;

            fn place() {}
            fn split((): &mut ()) -> (Self::Completer<'_>, Self::Waiter<'_>) {
                let (sender, receiver) = $($module)::+::$channel();
                (sender, receiver.into_future())
            }
            // Some channels send by value and some by reference.
            #[allow(unused_mut)]
            fn complete(mut sender: Self::Completer<'_>) {
                let _ = black_box(sender.send(black_box(1)));
            }
            fn poll(waiter: &mut Self::Waiter<'_>, waker: &Waker) -> bool {
                poll(waiter, waker)
            }
        }
    };
}

channel!(Joint: joint::oneshot, Receiver, channel);
channel!(Oneshot: oneshot, AsyncReceiver, async_channel);
channel!(Tokio: tokio::sync::oneshot, Receiver, channel);
channel!(Futures: futures_channel::oneshot, Receiver, channel);
channel!(AsyncOneshot: async_oneshot, Receiver, oneshot);

/// Waits on one thread: poll, complete, poll again.
pub(crate) fn together<P: Pair>(waker: &Waker, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        let mut place = P::place();
        let (completer, mut waiter) = P::split(&mut place);
        assert!(!P::poll(&mut waiter, waker));
        P::complete(completer);
        assert!(P::poll(&mut waiter, waker));
    }
    start.elapsed()
}

struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

/// Uses a number of pairs in one way, with the waker of an `Arc`.
pub(crate) type Way = fn(&Waker, u64) -> Duration;

/// A row of one contestant.
pub(crate) fn row(title: &'static str, times: u64, way: Way) -> NamedRun {
    let times = Options::read().of(times, 1);
    let run = move || way(&Waker::from(Arc::new(Counted)), times);
    (title, times, Box::new(run))
}

/// Adds the channels to a table, with the rows of each.
macro_rules! with_channels {
    ($table:expr, $rows:ident) => {
        $table
            .with_runs("joint", $rows::<pairs::Joint>())
            .with_runs("oneshot", $rows::<pairs::Oneshot>())
            .with_runs("tokio", $rows::<pairs::Tokio>())
            .with_runs("futures", $rows::<pairs::Futures>())
            .with_runs("async-oneshot", $rows::<pairs::AsyncOneshot>())
    };
}

pub(crate) fn table(title: &'static str) -> Table {
    Table::new(title, Duration::from_secs(1)).without_threads()
}
