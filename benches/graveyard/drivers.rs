//! Graves of timers and descriptors that nobody attends to.

use std::{
    thread,
    time::{Duration, Instant},
};

use joint_benches::{
    driven::Driven,
    echo::{ask_beside, ask_from_outside, server},
    options::Options,
};

use super::{
    contestants::OfDrivers,
    grave::{About, nanoseconds},
};

/// The worker that had waited in the driver found a task there, and ran it for long. No other
/// worker took its place, so timers and descriptors waited as well (tokio #4730).
///
/// A timer starts a poll of 10 ms, and all other workers sleep. Another timer and a question on a
/// socket are due after 3 ms.
#[derive(Clone, Copy)]
pub(crate) struct LongPoll;

impl LongPoll {
    const BEFORE: Duration = Duration::from_millis(1);
    const POLL: Duration = Duration::from_millis(10);
    const DUE: Duration = Duration::from_millis(3);
}

impl OfDrivers for LongPoll {
    fn about(self) -> About {
        About::times(
            "the driver's worker is in a poll of 10 ms (tokio #4730)",
            &["a timer is late by", "a UDP echo takes"],
            "run",
            1,
        )
    }

    fn run<R: Driven>(self, runtime: &'static R) -> Vec<f64> {
        runtime.run(async move {
            let (server, address) = server::<R>().await;
            let server = runtime.spawn(server);
            let poll = runtime.spawn(async {
                R::sleep(Self::BEFORE).await;
                thread::sleep(Self::POLL);
            });
            let timer = runtime.spawn(async {
                let due = Instant::now() + Self::DUE;
                R::sleep(Self::DUE).await;
                due.elapsed()
            });
            let echo = ask_from_outside(address, 1, Self::DUE).await.remove(0);
            let late = R::join(timer).await;
            R::join(poll).await;
            R::join(server).await;
            [late, echo].map(nanoseconds).into()
        })
    }
}

/// Requests waited behind tasks that compute long before the processors were all in use (datafusion
/// #13692).
///
/// A number of tasks compute, and yield every 500 microseconds. A client asks an echo server.
#[derive(Clone, Copy)]
pub(crate) struct Computing(pub(crate) &'static str, pub(crate) usize);

impl Computing {
    const POLL: Duration = Duration::from_micros(500);
    const PAUSE: Duration = Duration::from_micros(100);

    fn questions() -> usize {
        Options::read().of(30, 5)
    }
}

impl OfDrivers for Computing {
    fn about(self) -> About {
        About::times(
            self.0,
            &["the median", "the slowest of 30"],
            "question",
            Self::questions(),
        )
    }

    fn run<R: Driven>(self, runtime: &'static R) -> Vec<f64> {
        runtime.run(async move {
            let busy = (self.1, Self::POLL);
            let times = ask_beside(runtime, busy, Self::questions(), Self::PAUSE).await;
            let last = times.len() - 1;
            [times[last / 2], times[last]].map(nanoseconds).into()
        })
    }
}
