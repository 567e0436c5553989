//! Services with a planted bug, each with its repair. None of them has faults of its own: the check
//! does all that goes wrong. It must find the bug, and pass the repaired service.

mod clocks;
mod crashes;
mod leaders;
mod messages;
mod replicas;

use std::net::SocketAddr;

use joint_executor::io::{TcpListener, TcpStream, UdpSocket};
use joint_sim::{
    Reached, Service,
    fs::{self, File},
};

use crate::prelude::*;

/// What the hosts, the clients and the invariant share.
type Shared<T> = Rc<RefCell<T>>;

thread_local! {
    /// The number of the last request of this run.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// Begins a run, with the first number.
fn service() -> Service {
    LAST.set(0);
    Service::new()
}

/// Who has asked, and the number of the request, which the answer repeats: a port may have belonged
/// to another socket, whose answers are late.
struct Asked {
    from: SocketAddr,
    number: [u8; 4],
}

impl Asked {
    async fn receive<const LENGTH: usize>(socket: &UdpSocket) -> io::Result<(Self, [u8; LENGTH])> {
        let (mut datagram, mut number, mut request) = ([0; 16], [0; 4], [0; LENGTH]);
        let (_, from) = socket.recv_from(&mut datagram).await?;
        number.copy_from_slice(&datagram[..4]);
        request.copy_from_slice(&datagram[4..4 + LENGTH]);
        Ok((Self { from, number }, request))
    }

    async fn answer(&self, socket: &UdpSocket, answer: &[u8]) -> io::Result<()> {
        let datagram = [&self.number, answer].concat();
        socket.send_to(&datagram, self.from).await.map(drop)
    }
}

/// Answers each datagram that comes to an address, unless the answer is empty.
async fn serve<const LENGTH: usize>(
    address: &str,
    mut answer: impl AsyncFnMut([u8; LENGTH]) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let socket = UdpSocket::bind(address).await?;
    loop {
        let (asked, request) = Asked::receive(&socket).await?;
        let answer = answer(request).await?;
        if !answer.is_empty() {
            asked.answer(&socket, &answer).await?;
        }
    }
}

/// Serves each stream that comes to an address in a task of its own.
async fn serve_streams<F: Future<Output = ()> + 'static>(
    address: &str,
    connection: impl Fn(TcpStream) -> F,
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    loop {
        // A connection that fails is no reason to refuse the next one.
        if let Ok((stream, _)) = listener.accept().await {
            spawn_local(connection(stream)).detach();
        }
    }
}

/// Asks once, and waits for a second.
async fn ask_once(whom: &str, request: &[u8]) -> Option<[u8; 8]> {
    let socket = UdpSocket::bind("0.0.0.0:0").await.ok()?;
    LAST.set(LAST.get() + 1);
    let number = LAST.get().to_le_bytes();
    socket
        .send_to(&[&number, request].concat(), whom)
        .await
        .ok()?;
    let answer = async {
        let mut answer = [0; 12];
        while answer[..4] != number {
            socket.recv(&mut answer).await.ok()?;
        }
        answer[4..].try_into().ok()
    };
    timeout(SECOND, answer).await.ok()?
}

/// Asks until there is an answer.
async fn ask(whom: &str, request: &[u8]) -> [u8; 8] {
    loop {
        if let Some(answer) = ask_once(whom, request).await {
            return answer;
        }
    }
}

/// Opens a file, which is made if there is none. Its name is on the disk then.
async fn open(path: &str) -> io::Result<File> {
    let file = match File::open(path).await {
        Err(error) if error.kind() == ErrorKind::NotFound => File::create(path).await?,
        opened => opened?,
    };
    fs::sync_dir("").await?;
    Ok(file)
}

/// Reads a whole file, which is empty if there is none.
async fn read(path: &str) -> io::Result<Vec<u8>> {
    match fs::read(path).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        bytes => bytes,
    }
}

/// Makes the main future of a host, whose starts share this.
fn sharing<T, M, F>(shared: &T, main: F) -> impl Fn() -> M + use<T, M, F>
where
    T: Clone,
    F: Fn(T) -> M,
{
    let shared = shared.clone();
    move || main(shared.clone())
}

/// The name, the mistake, and the service.
type Bug = (&'static str, &'static str, fn(Version) -> Service);

macro_rules! bugs {
    ($($module:ident :: $name:ident: $what:literal,)*) => {
        [$((stringify!($name), $what, $module::$name)),*]
    };
}

const BUGS: [Bug; 20] = bugs! {
    crashes::acknowledged_before_sync: "a record is acknowledged, and synced after that",
    crashes::record_without_sync: "a record counts as written before it is synced",
    crashes::trusted_cache: "what a start reads from the cache counts as written",
    crashes::torn_record: "a record of several sectors is overwritten where it is",
    crashes::rename_without_folder: "a file is renamed, and its folder is not synced",
    crashes::sync_tried_again: "a sync that has failed is tried again, without the write",
    crashes::exactly_once: "what was done is on the disk, and what was asked for in memory",
    messages::duplicated_delta: "a request without a number is sent again, and adds again",
    messages::reordered_dedupe: "a duplicate is known by the last number only, and others overtake it",
    messages::overtaken_write: "the last datagram to arrive is taken as the newest",
    messages::order_across_reconnect: "what an old connection has sent arrives after what the new one has",
    messages::fill_after_invalidation: "a cache is filled with what was read before it was invalidated",
    replicas::quorums_apart: "a write is over when one of three replicas has it, and a read asks two",
    replicas::tie: "of two writes with the same time, each replica keeps the one that came first",
    replicas::last_writer_by_clock: "the newest write is the one with the latest time of its writer's clock",
    clocks::token_of_another_clock: "the end of a token is checked by another host's clock",
    clocks::holders_clock: "a lease is taken for valid by its holder's wall clock",
    leaders::paused_holder: "a lease is checked, and used after a pause",
    leaders::deposed_leader: "what an old leader has sent arrives when there is another one",
    leaders::split_brain: "a candidate needs the votes of most of those that answer",
};

/// A correct service of files and datagrams, and a client.
pub(crate) fn repaired() -> Service {
    crashes::exactly_once(Version::Repaired)
}

/// `JOINT_SIM_SEEDS=10000 cargo test -p joint-sim --test sim services -- --nocapture` makes as many
/// runs of the repaired services, and prints the table.
#[test]
fn each_bug_is_found_and_no_repaired_service_fails() {
    println!("| service | mistake | runs until found |\n|---|---|---|");
    for (name, what, service) in BUGS {
        let check = Check::new().canary(0).shrink_runs(0).seeds(10_000);
        let found = crate::found(&check, || service(Version::Planted));
        println!("| `{name}` | {what} | {} |", found.runs());
        Check::new().seeds(5).run(|| service(Version::Repaired));
    }
}

/// What a stranger needs to see the mistake, in the report of the shrunk run.
#[test]
fn a_report_shows_what_has_led_to_the_failure() {
    let acknowledged = [
        " wrote 1 bytes at ",
        "the power of `log` is cut: `log` has kept ",
        " records are left",
    ];
    let order = [
        "log:1 received a reset from client:",
        "woken by the network",
    ];
    let clock = [
        "fault: the wall clock of `",
        " ms behind the true time, and its clocks ",
    ];
    let services = [
        crashes::acknowledged_before_sync as fn(Version) -> Service,
        messages::order_across_reconnect,
        clocks::holders_clock,
    ];
    let told: [&[&str]; 3] = [&acknowledged, &order, &clock];
    for (service, tells) in services.into_iter().zip(told) {
        let check = Check::new().canary(0).shrink_runs(300).seeds(10_000);
        let found = crate::found(&check, || service(Version::Planted));
        for part in tells {
            says(&found, part);
        }
        assert!(found.shrunk_decisions().unwrap() <= 20, "{found}");
        let replay = Check::new().replay(found.shrunk_replay().unwrap());
        let again = crate::found(&replay, || service(Version::Planted));
        assert_eq!(again.failure().steps(), found.failure().steps());
    }
}

#[test]
fn a_check_says_what_it_has_reached_and_fails_if_too_little() {
    let wants = Check::new()
        .seeds(40)
        .wants(Reached::CrashBeforeSync)
        .wants("the end");
    let found = wants.find(repaired).unwrap_err();
    assert_eq!(found.to_string(), "no run has reached: the end\n");
    let checked = wants
        .wants(Reached::Loss)
        .find(|| repaired().invariant(async { sim::reached("the end") }));
    says(checked.unwrap(), "  the end: 40 times\n");
}

/// A host that is down, and one that waits for it.
#[test]
fn a_wait_for_a_socket_says_whose_peer_is_down_since_when() {
    let failure = Builder::new(1).run(async {
        let [server, client] = ["server", "client"].map(Host::new);
        server.run(|| async {
            let listener = TcpListener::bind("0.0.0.0:1").await.unwrap();
            let _stream = listener.accept().await.unwrap();
            pending::<()>().await;
        });
        client.run(|| async {
            sleep(SECOND).await;
            let stream = TcpStream::connect("server:1").await.unwrap();
            let _ = stream.read_exact(&mut [0]).await;
        });
        sleep(2 * SECOND).await;
        server.cut_power();
        let _end = client.ended().await;
    });
    let report = failure.unwrap_err();
    says(
        &report,
        "for data from `server:1`, whose host is down since 2s; ",
    );
    says(&report, "\n  the host `server` is down since 2s\n");
}
