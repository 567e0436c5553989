//! [`Faults`]: what goes wrong in a simulation.
//!
//! Late timers, late wake-ups, spurious polls and extra yields may hit every task, because every
//! program must bear them. No program bears that just any of its tasks is cancelled or panics, so
//! these hit only what says that it may be hit: [`may_cancel`](super::may_cancel),
//! [`may_panic`](super::may_panic), and tasks whose names are given to [`Faults::cancel_tasks`].
//! These two also poll with another waker first. It would cost each poll of every executor a branch
//! to do so for whole tasks, because a task makes its waker itself.
//!
//! Clocks, links and datagrams of hosts are not reliable outside of a simulation either, so those
//! faults hit every host. A host is killed only if it [may crash](super::Host::may_crash).

use core::time::Duration;

/// The faults of a simulation, each with the probability that it happens where it could.
///
/// A probability of 0 switches a fault off, which costs a run nothing. All faults are decided by
/// the seed, as everything else is.
///
/// # Example
/// ```
/// use joint_sim::{Builder, Faults};
/// use joint_executor::time::{now, sleep};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let slept = |faults| {
///     let simulation = Builder::new(1).faults(faults);
///     let outcome = simulation.run(async move {
///         let start = now();
///         sleep(second).await;
///         now() - start
///     });
///     outcome.unwrap().output
/// };
/// assert_eq!(slept(Faults::none()), second);
/// assert!(slept(Faults::none().late_timers(1.0)) > second);
/// assert!(slept(Faults::none().late_wakeups(1.0)) > second);
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until they are given to a `Builder`"]
pub struct Faults {
    /// The probabilities, in the order of [`KINDS`].
    pub(super) rates: [f64; KINDS.len()],
    pub(super) longest_delay: Duration,
    pub(super) cancels: Option<fn(&str) -> bool>,
}

impl Default for Faults {
    /// No faults.
    fn default() -> Self {
        Self::none()
    }
}

impl Faults {
    /// No faults: every probability is 0.
    pub const fn none() -> Self {
        Self {
            rates: [0.0; KINDS.len()],
            longest_delay: Duration::from_nanos(1 << 27),
            cancels: None,
        }
    }

    /// All faults, each with a probability that finds mistakes and lets a program make progress.
    ///
    /// A correct program stays correct under all of them: see each of the methods. Late timers,
    /// extra yields and [`fault`] sites have a probability of 25%, and those of clocks 100%. The
    /// other faults have 10%, cuts and kills 5%, panics and pauses 2%, and errors of disks and
    /// sockets 1%.
    ///
    /// [`fault`]: super::fault
    pub const fn all() -> Self {
        let mut all = Self::none().longest_delay(Duration::from_nanos(1 << 37));
        let mut kind = 0;
        while kind < KINDS.len() {
            all.rates[kind] = KINDS[kind].rate;
            kind += 1;
        }
        all
    }

    /// Names tasks that [`cancellations`](Faults::cancellations) may cancel: those with a name, for
    /// which the function returns true. Their waiters find that they were cancelled.
    ///
    /// # Example
    /// ```
    /// use joint_executor::TaskBuilder;
    /// use joint_sim::{Builder, Faults};
    ///
    /// let faults = Faults::none().cancellations(1.0).cancel_tasks(|name| name == "probe");
    /// let outcome = Builder::new(1).faults(faults).run(async {
    ///     let kept = TaskBuilder::new().name("server").spawn(async { 1 });
    ///     let probe = TaskBuilder::new().name("probe").spawn(async { 2 });
    ///     (kept.result().await, probe.result().await)
    /// });
    /// let (kept, probe) = outcome.unwrap().output;
    /// assert_eq!(kept.unwrap(), 1);
    /// assert!(probe.unwrap_err().is_cancelled());
    /// ```
    pub const fn cancel_tasks(mut self, named: fn(&str) -> bool) -> Self {
        self.cancels = Some(named);
        self
    }

    /// Delays of timers, wake-ups, spurious polls and cancellations are shorter than this, and so
    /// are pauses. All orders of magnitude are equally likely, those of pauses from a 256th of this
    /// on. Otherwise it is 134 ms, and 137 s in [`all`](Faults::all).
    ///
    /// Each run of a check has a longest delay of its own, between a millionth of this and this.
    /// Lower it for a program that gives up after some seconds, and is right to.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::time::sleep;
    /// use std::time::Duration;
    ///
    /// let hour = Duration::from_secs(3600);
    /// let faults = Faults::none().late_timers(1.0).longest_delay(hour);
    /// let run = |seed| Builder::new(seed).faults(faults.clone());
    /// let slept = |seed| run(seed).run(async move { sleep(hour).await });
    /// let late = (0..100).map(|seed| slept(seed).unwrap().elapsed - hour);
    /// assert!(late.clone().all(|late| late < hour));
    /// assert!(late.max().unwrap() > hour / 16);
    /// ```
    pub const fn longest_delay(mut self, delay: Duration) -> Self {
        self.longest_delay = delay;
        self
    }

    pub(super) fn rate(&self, fault: Fault) -> f64 {
        self.rates[fault as usize]
    }

    pub(super) fn is_none(&self) -> bool {
        self.rates.iter().all(|rate| *rate <= 0.0)
    }
}

/// A fault that has a probability.
pub(super) struct Kind {
    /// The letter in the text of a plan.
    pub(super) letter: char,
    /// The probability in [`Faults::all`].
    rate: f64,
    /// The text of its event, before and after the name of the task that it strikes.
    pub(super) said: (&'static str, &'static str),
}

/// Declares the faults that have a probability, each with the method that sets it and its [`Kind`].
/// Their order is that of the decisions of a check about them.
macro_rules! faults {
    ($(
        $(#[$doc:meta])*
        $method:ident: $fault:ident, $letter:literal, $rate:literal, $said:expr;
    )*) => {
        impl Faults {$(
            $(#[$doc])*
            pub const fn $method(mut self, probability: f64) -> Self {
                self.rates[Fault::$fault as usize] = probability;
                self
            }
        )*}

        /// A fault that has happened. Those that have a probability come first, in the order of
        /// [`KINDS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Fault {
            $($fault,)*
            /// The power is cut, which the program has asked for.
            LostWrites,
        }

        pub(super) const KINDS: [Kind; Fault::LostWrites as usize] = [$(Kind {
            letter: $letter,
            rate: $rate,
            said: $said,
        }),*];
    };
}

faults! {
    /// A timer fires late, by up to the [longest delay](Faults::longest_delay), and so does the
    /// deadline of a wait that blocks. Small delays are as likely as large ones.
    late_timers: LateTimer, 't', 0.25, ("a wait of ", " ends late");

    /// A wake-up, or the first poll of a task, is late by up to the
    /// [longest delay](Faults::longest_delay). Wake-ups that come after it therefore overtake it.
    late_wakeups: LateWakeup, 'w', 0.1, ("the wake-up of ", " is late");

    /// A task is polled once more, up to the [longest delay](Faults::longest_delay) after a poll,
    /// although nothing has woken it.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use joint_executor::{spawn, time::sleep};
    /// use std::time::Duration;
    ///
    /// let polls = |faults| {
    ///     let run = Builder::new(1).faults(faults).run(async {
    ///         spawn(sleep(Duration::from_secs(1))).await;
    ///     });
    ///     run.unwrap().steps
    /// };
    /// assert!(polls(Faults::none().spurious_polls(1.0)) > polls(Faults::none()));
    /// ```
    spurious_polls: SpuriousPoll, 'p', 0.1, ("", " will be polled without reason");

    /// A poll has a [budget](joint::budget) of at most 7 operations, instead of 128, and
    /// often of none. So operations of [`io`](joint_executor::io) and
    /// [`time`](joint_executor::time), and each [`point`](super::point), yield that usually do not.
    ///
    /// # Example
    /// ```
    /// use joint_executor::io::UdpSocket;
    /// use joint_sim::{Builder, Faults};
    ///
    /// let polls = |faults| {
    ///     let run = Builder::new(1).faults(faults).run(async {
    ///         let socket = UdpSocket::bind("127.0.0.1:7").await?;
    ///         for _ in 0..20 {
    ///             socket.send_to(b"hello", "127.0.0.1:8").await?;
    ///         }
    ///         Ok::<(), std::io::Error>(())
    ///     });
    ///     run.unwrap().steps
    /// };
    /// assert_eq!(polls(Faults::none()), 1);
    /// assert!(polls(Faults::none().extra_yields(1.0)) > 2);
    /// ```
    extra_yields: SmallBudget, 'y', 0.25, ("", " yields early");

    /// The main future, or a future in [`may_cancel`](super::may_cancel) or
    /// [`may_panic`](super::may_panic), is polled with a waker that wakes nobody, and then at once
    /// with its own. By the contract of [`Future::poll`], only the waker of the last poll has to be
    /// woken. Both polls share one [budget](joint::budget).
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults};
    /// use std::{cell::OnceCell, future::poll_fn, task::{Poll, Waker}};
    ///
    /// let run = |faults| Builder::new(1).faults(faults).run(async {
    ///     let (first, mut polls) = (OnceCell::<Waker>::new(), 0);
    ///     poll_fn(|cx| {
    ///         polls += 1;
    ///         // The mistake: the waker of a later poll is not kept.
    ///         first.get_or_init(|| cx.waker().clone()).wake_by_ref();
    ///         if polls > 2 { Poll::Ready(()) } else { Poll::Pending }
    ///     }).await
    /// });
    /// assert!(run(Faults::none()).is_ok());
    /// assert!(run(Faults::none().other_wakers(1.0)).unwrap_err().is_deadlock());
    /// ```
    ///
    /// [`Future::poll`]: core::future::Future::poll
    other_wakers: AnotherWaker, 'a', 0.1, ("", " polls first with another waker");

    /// After a poll of it, a host is paused, as by [`Host::pause`](super::Host::pause), for between
    /// a 256th of the [longest delay](Faults::longest_delay) and all of it. This includes the host
    /// of the main future.
    ///
    /// # Example
    /// ```
    /// use joint_executor::yield_now;
    /// use joint_sim::{Builder, Faults};
    ///
    /// let took = |faults| Builder::new(1).faults(faults).run(yield_now()).unwrap().elapsed;
    /// assert!(took(Faults::none()).is_zero());
    /// assert!(!took(Faults::none().pauses(1.0)).is_zero());
    /// ```
    pauses: Pause, 'h', 0.02, ("the host of ", " pauses");

    /// A [`fault`] site is active in half of the runs, or in this share of them if that is more. In
    /// a run in which it is active, it fires in this share of its calls.
    ///
    /// [`fault`]: super::fault
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Builder, Faults};
    ///
    /// let fired = |seed| {
    ///     let settings = Builder::new(seed).faults(Faults::none().sites(0.5));
    ///     let run = settings.run(async { (0..100).filter(|_| sim::fault("disk")).count() });
    ///     run.unwrap().output
    /// };
    /// assert!((0..10).any(|seed| fired(seed) == 0));
    /// assert!((0..10).any(|seed| (25..75).contains(&fired(seed))));
    /// ```
    sites: Site, 's', 0.25, ("a site of ", " fires");

    /// A future in [`may_cancel`](super::may_cancel) is dropped, or a task that
    /// [`cancel_tasks`](Faults::cancel_tasks) names is cancelled. This is decided each time that
    /// the one is pending, or the other is about to be polled.
    cancellations: Cancelled, 'c', 0.1, ("a future of ", " is dropped");

    /// A poll of a future in [`may_panic`](super::may_panic) panics.
    panics: Panicked, 'x', 0.02, ("", " panics");

    /// An operation of a file ([`fs`](super::fs)) fails. If it is a sync, a part of what it was to
    /// write is not on the disk, and the next sync does not write that either.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults, fs::File};
    /// use std::io::ErrorKind;
    ///
    /// let write = async || File::create("log").await?.write_all_at(b"hello", 0).await;
    /// let run = |faults| Builder::new(1).faults(faults).run(write()).unwrap();
    /// let error = |faults| run(faults).output.unwrap_err();
    /// assert_eq!(error(Faults::none().disk_errors(1.0)).kind(), ErrorKind::Other);
    /// assert_eq!(error(Faults::none().full_disks(1.0)).kind(), ErrorKind::StorageFull);
    /// ```
    disk_errors: DiskError, 'e', 0.01, ("the disk of ", " fails");

    /// A write that makes a file longer finds its disk full, which stays so for up to a second of
    /// virtual time.
    full_disks: FullDisk, 'f', 0.01, ("the disk of ", " is full");

    /// A read or write of a stream or of a file ([`fs`](super::fs)) takes only a part of the bytes,
    /// as it may do at any time.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{Builder, Faults, fs::File};
    ///
    /// let run = |faults| Builder::new(1).faults(faults).run(async {
    ///     File::create("log").await?.write_at(b"hello", 0).await
    /// });
    /// let written = |faults| run(faults).unwrap().output.unwrap();
    /// assert_eq!(written(Faults::none()), 5);
    /// assert!((1..5).contains(&written(Faults::none().short_transfers(1.0))));
    /// ```
    short_transfers: ShortTransfer, 'b', 0.1, ("", " reads or writes only a part");

    /// The port of a listener that the program has dropped stays in use for up to a minute of
    /// virtual time: another process has got it, or the system keeps it for the connections that
    /// there were. A host that is started again finds its ports free.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{io::TcpListener, time::sleep};
    /// use joint_sim::{Builder, Faults};
    /// use std::{io::ErrorKind, time::Duration};
    ///
    /// let run = Builder::new(1).faults(Faults::none().busy_ports(1.0)).run(async {
    ///     drop(TcpListener::bind("127.0.0.1:80").await.unwrap());
    ///     let error = TcpListener::bind("127.0.0.1:80").await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::AddrInUse);
    ///     sleep(Duration::from_secs(60)).await;
    ///     TcpListener::bind("127.0.0.1:80").await.unwrap();
    /// });
    /// run.unwrap();
    /// ```
    busy_ports: BusyPort, 'u', 0.1, ("the port of a listener of ", " stays in use");

    /// A socket that is bound to port 0, or that connects, gets the port that another one has just
    /// given up. So the same address is another peer.
    reused_ports: ReusedPort, 'v', 0.1, ("", " gets a port that was just given up");

    /// An `accept` fails, because the connection is gone or because too many files are open. Or an
    /// attempt to connect is refused, or times out.
    ///
    /// # Example
    /// ```
    /// use joint_executor::io::{TcpListener, TcpStream};
    /// use joint_sim::{Builder, Faults};
    ///
    /// let run = Builder::new(1).faults(Faults::none().socket_errors(1.0)).run(async {
    ///     let _listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    ///     TcpStream::connect("127.0.0.1:80").await.unwrap_err();
    /// });
    /// run.unwrap();
    /// ```
    socket_errors: SocketError, 'n', 0.01, ("", " cannot connect or accept");

    /// The clocks of a host are wrong from its first start on, as by
    /// [`Host::clock`](super::Host::clock): by up to a minute, and by a drift of up to 1,000 parts
    /// per million. They are set again up to three times in a run, after any poll, as a daemon for
    /// the time of day does. The host of the main future has the right time.
    ///
    /// # Example
    /// ```
    /// use joint_executor::time::wall;
    /// use joint_sim::{Builder, Faults, Host, HostEnd};
    ///
    /// let is_right = |faults| {
    ///     let run = Builder::new(1).faults(faults).run(async {
    ///         let start = wall();
    ///         let host = Host::new("a");
    ///         host.run(move || async move { assert_eq!(wall(), start) });
    ///         host.ended().await == HostEnd::Returned
    ///     });
    ///     run.unwrap().output
    /// };
    /// assert!(is_right(Faults::none()) && !is_right(Faults::none().clocks(1.0)));
    /// ```
    clocks: Clock, 'k', 1.0, ("the clocks of the host of ", " are set");

    /// A datagram between two hosts is lost, or is late by up to the
    /// [longest delay](Faults::longest_delay). A part of a stream is lost likewise, and sent again.
    /// A [`Link`](super::net::Link) that loses more keeps its own probability.
    loss: Loss, 'l', 0.1, ("a message of ", " is lost");

    /// A datagram between two hosts arrives a second time, up to the
    /// [longest delay](Faults::longest_delay) later.
    duplication: Duplicate, 'm', 0.1, ("a message of ", " arrives twice");

    /// When something is sent from one host to another, the links between the two are cut, or that
    /// in one direction, or all links of one of them. They heal after up to 30 seconds, of which
    /// all
    /// orders of magnitude are equally likely. This happens up to 16 times in a run.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    ///
    /// use joint_executor::{io::UdpSocket, time::{sleep, timeout}};
    /// use joint_sim::{Builder, Faults, Host};
    ///
    /// let arrives = |faults| Builder::new(1).faults(faults).run(async {
    ///     let socket = UdpSocket::bind("0.0.0.0:1").await.unwrap();
    ///     Host::new("a").run(|| async {
    ///         let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    ///         socket.send_to(b"hello", "main:1").await.unwrap();
    ///         sleep(Duration::MAX).await;
    ///     });
    ///     timeout(Duration::from_secs(1), socket.recv(&mut [0; 5])).await.is_ok()
    /// });
    /// assert!(arrives(Faults::none()).unwrap().output);
    /// assert!(!arrives(Faults::none().loss(1.0)).unwrap().output);
    /// ```
    cuts: Cut, 'q', 0.05, ("a link of the host of ", " is cut");

    /// After a poll of it, a host is killed that [may crash](super::Host::may_crash): its program,
    /// or the power of the machine. It starts again after up to 10 seconds, of which all orders of
    /// magnitude are equally likely. This happens up to 8 times in a run.
    kills: Kill, 'z', 0.05, ("the host of ", " crashes");
}

pub(super) const FAULT_PANIC: &str = "a panic that the simulation's faults have asked for";

/// The time at which a future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Not decided yet.
    Open,
    Now,
    AtNextPoll,
    /// At the first poll at or after this time of the clock.
    At(u64),
}
