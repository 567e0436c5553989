//! [`Host`]: a simulated machine, with its own executor, address and sockets.

use std::{cell::RefCell, fmt, future::poll_fn, net::IpAddr, panic::Location, rc::Rc, sync::Arc};

use super::{
    chance::About,
    clock::NEVER,
    machine::{HostEnd, Machine, Main, Power, ip},
    world::{self, World},
};

/// A simulated machine.
///
/// A host has a name, an IP address and an executor of its own with one worker. Whatever a task
/// spawns stays on the task's host, and so do its sockets ([`net`](super::net)). The main future of
/// the simulation and what it spawns are on a host as well, which is named `main` and cannot be
/// killed.
///
/// A host runs a main future, which [`run`](Self::run) makes by a closure. When it ends, the host's
/// program has ended, like a process: the host's other tasks are dropped and its sockets are
/// closed. [`restart`](Self::restart) calls the closure again. A host's memory is what its futures
/// own. Its files survive a crash ([`fs`](super::fs)). Anything else that is to survive belongs to
/// the closure, for example as an `Rc` that it clones into each future.
///
/// A `Host` is a handle. Clones stand for the same host, and dropping one has no effect. It also
/// stands for its name, as an argument of functions such as
/// [`net::partition`](super::net::partition()).
///
/// # Panics
/// If a host's main future panics, the run fails with that panic, unless somebody waits for the end
/// of the host ([`ended`](Self::ended)).
///
/// Outside of its simulation, a host has only its name and its address: all other methods panic.
/// Those that start or kill a host also do for that of the main future.
///
/// # Example
/// ```
/// use std::{cell::Cell, rc::Rc, time::Duration};
///
/// use joint_sim::{self as sim, Host, HostEnd};
/// use joint_executor::time::sleep;
///
/// sim::run(1, async {
///     let host = Host::new("counter");
///     let disk = Rc::new(Cell::new(0));
///     host.run({
///         let disk = disk.clone();
///         move || {
///             let disk = disk.clone();
///             async move {
///                 loop {
///                     sleep(Duration::from_secs(1)).await;
///                     disk.set(disk.get() + 1);
///                 }
///             }
///         }
///     });
///     sleep(Duration::from_millis(3500)).await;
///     host.kill();
///     assert_eq!(host.ended().await, HostEnd::Killed);
///     host.restart();
///     sleep(Duration::from_millis(1500)).await;
///     assert_eq!(disk.get(), 4);
/// });
/// ```
#[derive(Clone)]
pub struct Host {
    number: usize,
    name: Arc<str>,
    run: u64,
}

impl Host {
    /// Creates a host, on which nothing runs yet.
    ///
    /// The first host has the address 10.0.0.2, and the next ones have those that follow. The
    /// main future's host has 10.0.0.1.
    ///
    /// # Panics
    /// If there is a host with this name, or outside of a simulation.
    pub fn new(name: impl Into<String>) -> Self {
        let name = Arc::<str>::from(name.into());
        with_world(|world| {
            let number = world.machines(|machines| {
                let is_taken = machines.find(&name).is_some();
                assert!(!is_taken, "there is a host named `{name}` already");
                machines.add(Machine::new(name, Power::Idle))
            });
            Self::of(world, number)
        })
    }

    /// Returns the host with this name.
    ///
    /// # Panics
    /// Outside of a simulation.
    pub fn find(name: &str) -> Option<Self> {
        with_world(|world| {
            let number = world.machines(|machines| machines.find(name))?;
            Some(Self::of(world, number))
        })
    }

    fn of(world: &World, number: usize) -> Self {
        Self {
            number,
            name: world.machines(|machines| machines.all[number].name.clone()),
            run: world.number(),
        }
    }

    /// Returns the host's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the host's address.
    pub fn ip(&self) -> IpAddr {
        ip(self.number).into()
    }

    /// Starts the host. The closure makes its main future, now and at each
    /// [`restart`](Self::restart). It is called by the first task of the host, and neither it nor
    /// its future need be `Send`.
    ///
    /// # Panics
    /// If the host is running already.
    #[track_caller]
    pub fn run<F, M>(&self, main: F)
    where
        F: FnMut() -> M + 'static,
        M: Future<Output = ()> + 'static,
    {
        self.run_given(main, Location::caller());
    }

    /// Runs a program that was given at this place.
    pub(super) fn run_given<M: Future<Output = ()> + 'static>(
        &self,
        mut main: impl FnMut() -> M + 'static,
        given: &'static Location<'static>,
    ) {
        let main: Main = Box::new(move || Box::pin(main()));
        let main = Rc::new(RefCell::new(main));
        let before = self.machine(|machine| {
            let is_running = machine.power == Power::Running;
            assert!(!is_running, "the host `{}` runs already", self.name);
            machine.given = given;
            machine.main.replace(main)
        });
        drop(before);
        self.with(|world| world.start(self.number));
    }

    /// Starts the host again, after killing it if it is running. Its main future is made anew by
    /// the closure that was given to [`run`](Self::run).
    ///
    /// # Panics
    /// If the host has never run.
    pub fn restart(&self) {
        if self.is_running() {
            self.kill();
        }
        self.with(|world| world.start(self.number));
    }

    /// Kills the host as a crash does. The seed decides whether the [program](Self::kill_program)
    /// or the [machine](Self::cut_power) crashes.
    ///
    /// Nothing happens if it is not running.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, net::TcpStream};
    /// use joint_executor::time::sleep;
    /// use std::{io::ErrorKind, time::Duration};
    ///
    /// sim::check(|| async {
    ///     let host = Host::new("a");
    ///     host.run(|| sleep(Duration::MAX));
    ///     host.kill();
    ///     let error = TcpStream::connect("a:80").await.unwrap_err();
    ///     match error.kind() {
    ///         ErrorKind::ConnectionRefused => {} // The machine still answers.
    ///         ErrorKind::TimedOut => {}          // It does not.
    ///         _ => panic!("{error}"),
    ///     }
    /// });
    /// ```
    pub fn kill(&self) {
        let is_outage = self.with(|world| world.chance().below(About::Network, 2) == 1);
        self.stop(if is_outage { Power::Off } else { Power::Idle });
    }

    /// Kills the host's program. Its tasks are dropped where they stand, and its sockets are
    /// closed. Nothing is lost that was written to a file.
    ///
    /// The machine keeps answering: it closes the program's connections, and refuses further ones.
    /// If a task of the host itself calls this, or a poll on the host is blocked, that poll ends
    /// first, without access to the network. Nothing happens if the host is not running.
    pub fn kill_program(&self) {
        self.stop(Power::Idle);
    }

    /// Kills the host's program as [`kill_program`](Self::kill_program) does, but the machine does
    /// not answer until the host is started again. Of what was written to its [files](super::fs)
    /// and not synced, the seed decides what is lost.
    ///
    /// Nobody is told about its connections, which are half open from now on. A peer that only
    /// reads never notices. A peer that writes gets
    /// [`ConnectionReset`](std::io::ErrorKind::ConnectionReset) once the host has started again, or
    /// else [`TimedOut`](std::io::ErrorKind::TimedOut) after many minutes.
    pub fn cut_power(&self) {
        self.stop(Power::Off);
    }

    fn stop(&self, power: Power) {
        if self.is_running() || power == Power::Off {
            self.with(|world| world.stop(self.number, power, HostEnd::Killed));
        }
    }

    /// Pauses the host's program, as `SIGSTOP`, a garbage collector or a lack of processors does:
    /// nothing of it runs until the host is [resumed](Self::resume).
    ///
    /// The host polls no task and begins no call, and the time goes on. What arrives meanwhile,
    /// such as data and the wake-ups of timers, is kept, in its order. The machine keeps answering:
    /// connections stay open, and are accepted. A poll that is under way ends first, and a call of
    /// `spawn_blocking` goes on until it waits, so a task may pause its own host.
    ///
    /// Nothing happens if the host is not running or is paused already. If a
    /// [fault](super::Faults::pauses) has paused it, it stays paused until it is resumed. Killing
    /// it ends the pause.
    ///
    /// # Example
    /// ```
    /// use joint_executor::time::{sleep, timeout};
    /// use joint_sim::{self as sim, Host, HostEnd};
    /// use std::time::Duration;
    ///
    /// sim::run(1, async {
    ///     let second = Duration::from_secs(1);
    ///     let host = Host::new("a");
    ///     host.run(move || sleep(second));
    ///     host.pause();
    ///     assert!(timeout(60 * second, host.ended()).await.is_err());
    ///     host.resume();
    ///     assert_eq!(host.ended().await, HostEnd::Returned);
    /// });
    /// ```
    pub fn pause(&self) {
        if self.is_running() {
            self.with(|world| world.pause(self.number, NEVER));
        }
    }

    /// Ends the host's pause. Everything that was kept for the host becomes ready, in the order in
    /// which it arrived.
    ///
    /// Nothing happens if it is not paused. A pause of a [fault](super::Faults::pauses) ends too.
    pub fn resume(&self) {
        self.with(|world| world.resume(self.number, None));
    }

    /// Returns whether the host is paused.
    pub fn is_paused(&self) -> bool {
        self.with(|world| world.is_paused(self.number))
    }

    /// Sets the host's clocks. From now on, its [wall clock](joint_executor::time::wall) is ahead
    /// of the true time by the offset in milliseconds. Both its wall clock and the clock of its
    /// timers, [`now`](joint_executor::time::now), run faster than the true time by the drift in
    /// parts per million. Quartz drifts by up to 100. The true time is that of the run, and of
    /// hosts whose clocks were never set. `clock(0, 0)` sets the clocks right, but for the time by
    /// which the host's `now` differs from that of other hosts already.
    ///
    /// `now` never jumps, so timers that are armed fire when the host's clock shows their time.
    /// Waits that block already, as those of `block_on`, keep the end that they had. As outside, an
    /// `Instant` means something only to the host that has read it. The clocks stay as they are
    /// if the host crashes. Latencies of the network, and all times of reports and traces, are true
    /// times.
    ///
    /// # Panics
    /// If the drift is -1,000,000 or less, or if the wall clock would show a time before 1970 or
    /// after 2554. A run begins with the year 2000.
    ///
    /// # Example
    /// ```
    /// use joint_executor::time::{now, sleep, wall};
    /// use joint_sim::{self as sim, Host};
    /// use std::time::Duration;
    ///
    /// sim::run(1, async {
    ///     let (start, began) = (now(), wall());
    ///     let host = Host::new("a");
    ///     host.clock(-3_000, 100);
    ///     host.run(move || async move {
    ///         assert_eq!(began.duration_since(wall()).unwrap(), Duration::from_secs(3));
    ///         sleep(Duration::from_secs(10_001)).await;
    ///     });
    ///     let _ = host.ended().await;
    ///     // The host's clocks gain a second in 10,000.
    ///     assert_eq!((now() - start).as_secs(), 10_000);
    /// });
    /// ```
    pub fn clock(&self, offset_ms: i64, drift_ppm: i32) {
        self.with(|world| world.set_clock(self.number, offset_ms, drift_ppm));
    }

    /// Lets faults kill the host and start it again: see [`Faults::kills`](super::Faults::kills).
    ///
    /// # Panics
    /// If it is the host of the main future.
    ///
    /// # Example
    /// ```
    /// use joint_executor::time::sleep;
    /// use joint_sim::{Builder, Faults, Host, HostEnd};
    /// use std::time::Duration;
    ///
    /// let run = Builder::new(1).faults(Faults::none().kills(1.0)).run(async {
    ///     let host = Host::new("a");
    ///     host.may_crash();
    ///     host.run(|| sleep(Duration::from_secs(1)));
    ///     host.ended().await
    /// });
    /// assert_eq!(run.unwrap().output, HostEnd::Killed);
    /// ```
    pub fn may_crash(&self) {
        assert!(self.number != 0, "the main future's host cannot be stopped");
        self.machine(|machine| machine.may_crash = true);
    }

    /// Starts the host again some time after its program has ended by an error.
    pub(super) fn ended_by(&self, error: &str) {
        self.with(|world| {
            world.note_text(format!(
                "the program of `{}` ends by an error: {error}",
                self.name
            ));
            world.restart_later(self.number);
        });
    }

    /// Returns whether the host's program is running.
    pub fn is_running(&self) -> bool {
        self.machine(|machine| machine.power == Power::Running)
    }

    /// Waits for the next end of the host's program, or returns the last one if the host is not
    /// running.
    ///
    /// A panic of the host's main future does not fail the run while this future exists.
    ///
    /// # Example
    /// ```
    /// use joint_sim::{self as sim, Host, HostEnd};
    ///
    /// sim::run(1, async {
    ///     let host = Host::new("a");
    ///     host.run(|| async { panic!("out of memory") });
    ///     let end = host.ended().await;
    ///     assert_eq!(end, HostEnd::Panicked("out of memory".to_string()));
    /// });
    /// ```
    pub fn ended(&self) -> impl Future<Output = HostEnd> + use<> {
        let host = self.clone();
        let watched = self.machine(|machine| machine.watched.clone());
        poll_fn(move |cx| {
            let _watched = &watched;
            host.machine(|machine| machine.poll_end(cx))
        })
    }

    fn with<R>(&self, f: impl FnOnce(&World) -> R) -> R {
        world::with_own(self.run, |world| match world {
            Some(world) => f(world),
            None => panic!("the host `{}` exists only inside its simulation", self.name),
        })
    }

    fn machine<R>(&self, f: impl FnOnce(&mut Machine) -> R) -> R {
        self.with(|world| world.machines(|machines| f(&mut machines.all[self.number])))
    }
}

impl AsRef<str> for Host {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("name", &self.name)
            .field("ip", &self.ip())
            .finish()
    }
}

fn with_world<R>(f: impl FnOnce(&World) -> R) -> R {
    world::with(|world| f(world.expect("hosts exist only inside a simulation")))
}

/// Returns the host that the calling code runs on.
///
/// # Panics
/// Outside of a simulation.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host};
///
/// sim::run(1, async {
///     assert_eq!(sim::current_host().name(), "main");
///     let host = Host::new("a");
///     host.run(|| async { assert_eq!(sim::current_host().name(), "a") });
///     let _ = host.ended().await;
/// });
/// ```
pub fn current_host() -> Host {
    with_world(|world| Host::of(world, world.place().host))
}
