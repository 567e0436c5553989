//! Programs with a planted bug, each with its repair. A simulation must find the bug, and must find
//! none in the repaired program.
//!
//! They are written against [`Runtime`], so that the same text runs on another checker too.

#![allow(
    clippy::await_holding_refcell_ref,
    reason = "some of the bugs are just that"
)]

mod cancel;
pub(crate) mod lock;
mod order;
mod shared_state;
mod system;
pub(crate) mod wakeups;

use std::{
    collections::{BTreeMap, VecDeque},
    future::{Future, poll_fn},
    io, mem,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Poll, Waker},
    time::Duration,
};

use async_lock::Mutex as AsyncMutex;
use joint::oneshot;
use joint_executor::time::{sleep, timeout};
use joint_sim::{self as sim, Faults};

use self::Version::{Planted, Repaired};

/// The functions that a program needs from its runtime.
pub(crate) trait Runtime: 'static {
    /// Starts a task, and returns what waits for its output. Dropping that cancels the task.
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + Unpin
    where
        F: Future<Output: Send> + Send + 'static;

    /// Lets other tasks run.
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Tasks of joint.
pub(crate) struct Joint;

impl Runtime for Joint {
    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + Unpin
    where
        F: Future<Output: Send> + Send + 'static,
    {
        joint_executor::spawn(future)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        joint_executor::yield_now()
    }
}

/// Whether a program is run as it was written, or repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Planted,
    Repaired,
}

pub(crate) type Program = fn(Version) -> Pin<Box<dyn Future<Output = ()>>>;

/// A program with a bug.
pub(crate) struct Bug {
    pub(crate) name: &'static str,
    /// The mistake.
    pub(crate) what: &'static str,
    pub(crate) program: Program,
}

macro_rules! bugs {
    ($runtime:ty: $($module:ident :: $name:ident: $what:literal,)*) => {
        [$(Bug {
            name: stringify!($name),
            what: $what,
            program: |version| Box::pin($module::$name::<$runtime>(version)),
        }),*]
    };
}
/// The programs that need neither time nor a network, for any runtime.
pub(crate) fn timeless<R: Runtime>() -> [Bug; 9] {
    bugs! { R:
        wakeups::notified_before_waiting: "a queue's consumer registers after it has let go of the lock under which it found the queue empty",
        wakeups::one_of_two_is_woken: "closing a channel wakes one of the tasks that wait for it",
        wakeups::barrier_used_again: "a barrier's count is reset before all tasks have left",
        shared_state::lost_update: "a counter is read, and written after an await",
        shared_state::made_twice: "two tasks find a cache empty, and both fill it",
        shared_state::stale_slot: "the answer to a request that was given up reaches the next request in its slot",
        order::locks_in_two_orders: "a lock is held across the await of another, in two orders",
        order::first_come: "the log relies on tasks running in the order in which they were spawned",
        order::stopped_too_early: "a task counts as idle between taking a job and beginning it",
    }
}

/// The programs that need time, or what joint's executor alone has.
pub(crate) fn timed() -> [Bug; 5] {
    bugs! { Joint:
        system::functions_that_count: "two functions of `spawn_blocking` count, and each may overwrite what the other has written",
        order::starts_at_once: "a task of `spawn_now` is taken to have run before its spawner goes on",
        order::starts_later: "a task of `spawn_now` takes a lock that its spawner holds",
        cancel::permit_of_a_cancelled_waiter: "a permit is handed to a waiter that has just been cancelled",
        cancel::refund_beside_success: "a timeout fires beside a success, and both are acted on",
    }
}

/// The programs that need a fault, each with that.
pub(crate) fn faulty() -> impl Iterator<Item = (Bug, fn(Faults, f64) -> Faults)> {
    let bugs = bugs! { Joint:
        system::half_a_message: "a write to a stream is taken to write all",
        system::half_a_page: "a read of a file is taken to fill the buffer",
        system::port_bound_again: "the port of a listener is taken to be free once it is dropped",
        system::session_by_address: "who has the address of a user that has gone gets their session",
        system::server_that_gives_up: "a server ends when it cannot accept a connection",
    };
    let faults: [fn(Faults, f64) -> Faults; 5] = [
        Faults::short_transfers,
        Faults::short_transfers,
        Faults::busy_ports,
        Faults::reused_ports,
        Faults::socket_errors,
    ];
    bugs.into_iter().zip(faults)
}
