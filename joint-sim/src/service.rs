//! [`Service`]: a program of several hosts, whose world a check makes as bad as it can be.

use std::{
    fmt,
    future::{Future, IntoFuture},
    panic::Location,
    pin::Pin,
    time::Duration,
};

use joint::oneshot;
use joint_executor::time::{sleep, timeout};

use super::{failure::Kind, host::Host, verdict::Verdict, world};

/// A service that is tested by naming its hosts, its clients, and what must hold at the end.
///
/// It is what the program of a [check](super::check()) returns. The check does the rest: it kills
/// hosts that [may crash](Self::may_crash) and starts them again, cuts their power, pauses them,
/// sets their clocks wrong, cuts links, loses and doubles datagrams, fills disks and lets them
/// fail,
/// each in some of the runs, as [`Faults`](super::Faults) say. What has led to a failure is shrunk
/// and replayed as everything else.
///
/// A run goes like this:
///
/// 1. The hosts start, in the order in which they were named, and then the clients, each on a host
///    of its own.
/// 2. The faults go on until all clients have ended, or for a [time](Self::trouble) if that is
///    shorter or there are none. Then each host
///    that may crash does so once more, or not.
/// 3. The faults end: links heal, hosts that are down start again, and nothing fails any more. The
///    clients that have not ended go on.
/// 4. After a [quiet time](Self::quiet), the [invariant](Self::invariant) is judged.
///
/// So a correct service passes that repairs itself once it can. A run fails if the main future of a
/// host or of a client panics, if a client or the invariant returns an error, or if a client never
/// ends. If the main future of a host that may crash returns an error, such as that of its disk,
/// the host starts again some time later. Other hosts must not return an error.
///
/// All hosts and clients share the thread, so what the invariant must know, such as what the
/// clients
/// were promised, can be in an `Rc`. What a host has on its [disk](super::fs) survives its crashes.
///
/// # Example
/// A server counts, and keeps the count in a file. Without the sync, a power cut would take back
/// what a client was told, and this check would fail:
/// ```
/// use std::{cell::Cell, io, rc::Rc, time::Duration};
///
/// use joint_executor::{io::UdpSocket, time::timeout};
/// use joint_sim::{Check, Reached, Service, fs::File};
///
/// async fn count() -> io::Result<()> {
///     let file = match File::open("count").await {
///         Err(_) => File::create("count").await?,
///         opened => opened?,
///     };
///     joint_sim::fs::sync_dir("").await?;
///     let mut count = [0];
///     file.read_at(&mut count, 0).await?;
///     let socket = UdpSocket::bind("0.0.0.0:1").await?;
///     loop {
///         // What was read may be in the cache only.
///         file.write_all_at(&count, 0).await?;
///         file.sync_all().await?;
///         let (_, from) = socket.recv_from(&mut [0]).await?;
///         socket.send_to(&count, from).await?;
///         count[0] += 1;
///     }
/// }
///
/// let check = Check::new().seeds(50).wants(Reached::Crash);
/// check.run(|| {
///     let told = Rc::new(Cell::new(0));
///     let client = async move {
///         let socket = UdpSocket::bind("0.0.0.0:0").await?;
///         for _ in 0..5 {
///             let mut count = [0];
///             socket.send_to(&[0], "server:1").await?;
///             if timeout(Duration::from_secs(1), socket.recv(&mut count)).await.is_ok() {
///                 told.set(told.get().max(count[0]));
///             }
///         }
///         Ok::<(), io::Error>(())
///     };
///     Service::new().may_crash("server", count).client(client)
/// });
/// ```
#[must_use = "a service does nothing until a check runs it"]
pub struct Service {
    hosts: Vec<Named>,
    clients: Vec<(Judged, &'static Location<'static>)>,
    invariants: Vec<Judged>,
    trouble: Duration,
    quiet: Duration,
}

/// A future with its error, if it ends with one.
type Judged = Pin<Box<dyn Future<Output = Option<String>>>>;

struct Named {
    name: String,
    given: &'static Location<'static>,
    main: Box<dyn FnMut() -> Judged>,
    may_crash: bool,
}

fn judged<F: IntoFuture<Output: Verdict> + 'static>(future: F) -> Judged {
    Box::pin(async { future.await.error() })
}

impl Default for Service {
    fn default() -> Self {
        Self::new()
    }
}

impl Service {
    /// Creates a service without hosts.
    pub fn new() -> Self {
        Self {
            hosts: Vec::new(),
            clients: Vec::new(),
            invariants: Vec::new(),
            trouble: Duration::from_secs(60),
            quiet: Duration::from_secs(30),
        }
    }

    /// Adds a [host](Host) that never crashes. The function makes its main future.
    #[track_caller]
    pub fn host<F, M>(self, name: impl Into<String>, main: F) -> Self
    where
        F: FnMut() -> M + 'static,
        M: IntoFuture<Output: Verdict> + 'static,
    {
        self.with(name.into(), main, false)
    }

    /// Adds a [host](Host) that may crash at any time. The function makes its main future, at each
    /// of its starts.
    #[track_caller]
    pub fn may_crash<F, M>(self, name: impl Into<String>, main: F) -> Self
    where
        F: FnMut() -> M + 'static,
        M: IntoFuture<Output: Verdict> + 'static,
    {
        self.with(name.into(), main, true)
    }

    #[track_caller]
    fn with<F, M>(mut self, name: String, mut main: F, may_crash: bool) -> Self
    where
        F: FnMut() -> M + 'static,
        M: IntoFuture<Output: Verdict> + 'static,
    {
        self.hosts.push(Named {
            name,
            given: Location::caller(),
            main: Box::new(move || judged(main())),
            may_crash,
        });
        self
    }

    /// Adds a client, which has to end. The first one runs on the host `client`, and the others on
    /// `client-2` and so on, none of which crashes.
    #[track_caller]
    pub fn client<F: IntoFuture<Output: Verdict> + 'static>(mut self, client: F) -> Self {
        self.clients.push((judged(client), Location::caller()));
        self
    }

    /// Adds what must hold once the service has had time to recover. It is awaited on the host of
    /// the main future, and may ask the hosts.
    pub fn invariant<F: IntoFuture<Output: Verdict> + 'static>(mut self, invariant: F) -> Self {
        self.invariants.push(judged(invariant));
        self
    }

    /// Sets how long the faults go on at most. Otherwise it is a minute of virtual time.
    pub fn trouble(mut self, time: Duration) -> Self {
        self.trouble = time;
        self
    }

    /// Sets how long the service has to recover, after everything has come that was late. Otherwise
    /// it is 30 seconds of virtual time.
    pub fn quiet(mut self, time: Duration) -> Self {
        self.quiet = time;
        self
    }

    async fn run(self) {
        let mut ends = Vec::new();
        let clients = (1..).zip(self.clients).map(|(number, (client, given))| {
            let (ended, end) = oneshot::channel();
            ends.push(end);
            let mut all = Some((client, ended));
            Named {
                name: match number {
                    1 => "client".into(),
                    _ => format!("client-{number}"),
                },
                given,
                main: Box::new(move || {
                    let (client, ended) = all.take().expect("it is not started again");
                    Box::pin(async {
                        let error = client.await;
                        let _ = ended.send(());
                        error
                    })
                }),
                may_crash: false,
            }
        });
        let all = self.hosts.into_iter().chain(clients);
        let all: Vec<_> = all.map(|named| (named.create(), named)).collect();
        for (host, named) in all {
            named.start(&host);
        }
        let mut all = std::pin::pin!(async {
            if ends.is_empty() {
                sleep(self.trouble).await;
            }
            for end in &mut ends {
                let _ = end.await;
            }
        });
        let in_time = timeout(self.trouble, all.as_mut()).await;
        let longest = world::with(|world| {
            let world = world.expect("a service runs inside a simulation");
            world.crash_some();
            world.heal();
            world.longest_delay()
        });
        if in_time.is_err() {
            all.await;
        }
        sleep(self.quiet + longest).await;
        for invariant in self.invariants {
            fail("the invariant", invariant.await);
        }
    }
}

fn fail(whose: &str, error: Option<String>) {
    if let Some(error) = error {
        world::if_inside(|world| world.fail(Kind::Error(format!("{whose}: {error}"))));
    }
}

impl Named {
    fn create(&self) -> Host {
        let host = Host::new(self.name.clone());
        if self.may_crash {
            host.may_crash();
        }
        host
    }

    fn start(self, host: &Host) {
        let Self {
            name,
            given,
            mut main,
            may_crash,
        } = self;
        let own = host.clone();
        let main = move || {
            let (main, name, own) = (main(), name.clone(), own.clone());
            async move {
                match main.await {
                    Some(error) if may_crash => own.ended_by(&error),
                    error => fail(&name, error),
                }
            }
        };
        host.run_given(main, given);
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts.iter().map(|host| &host.name);
        f.debug_struct("Service")
            .field("hosts", &hosts.collect::<Vec<_>>())
            .field("clients", &self.clients.len())
            .finish_non_exhaustive()
    }
}

impl IntoFuture for Service {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
