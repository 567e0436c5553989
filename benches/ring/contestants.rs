//! The contestants, and the rows that each of them runs.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::RefCell,
    convert::identity,
    env,
    fs::{self, File},
    io::Write as _,
    os::{
        fd::AsRawFd as _,
        unix::fs::{FileExt as _, OpenOptionsExt as _},
    },
    sync::{Arc, LazyLock},
    time::Instant,
};

use joint_benches::{
    allocator::Allocator,
    driven::Io,
    echo::{converse, repeat},
    options::Options,
    runtime::leak,
    table::{Run, Table},
};
use joint_executor::Executor;

/// How many tasks read at once, unless it is one.
const DEPTH: usize = 64;
/// The size of a read and of a place in the file.
const BLOCK: usize = 4_096;
/// The number of places in the file.
const BLOCKS: u64 = 16_384;
const CONNECTIONS: usize = 64;
const MESSAGE: usize = 64;

/// The allocator of the program, by which the buffer of a read is aligned as `O_DIRECT` wants it.
struct Aligned;

#[global_allocator]
static ALLOCATOR: Aligned = Aligned;

impl Aligned {
    fn layout(layout: Layout) -> Layout {
        match layout.size() == BLOCK {
            true => layout.align_to(BLOCK).expect("a block is small"),
            false => layout,
        }
    }
}

// SAFETY: a block is freed with the layout with which it was allocated, by the size that both have.
unsafe impl GlobalAlloc for Aligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on from the caller.
        unsafe { Allocator.alloc(Self::layout(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: passed on from the caller.
        unsafe { Allocator.dealloc(block, Self::layout(layout)) }
    }
}

/// The number of reads of one task, or of messages through one connection.
fn turns() -> usize {
    Options::read().of(200, 3)
}

/// A file that the first row creates, without a name.
static FILE: LazyLock<File> = LazyLock::new(|| {
    let path = env::temp_dir().join(format!("joint-bench-ring-{}", std::process::id()));
    let mut file = fs::OpenOptions::new();
    let file = file.read(true).write(true).create_new(true).open(&path);
    let mut file = file.expect("a file can be created");
    fs::remove_file(&path).expect("it has just been created");
    for block in 0..BLOCKS {
        file.write_all(&[block as u8; BLOCK])
            .expect("there is room");
    }
    file.sync_all().expect("there is room");
    file
});

/// The offset that a task reads next. Each task has a part of the file to itself.
fn offset(task: usize, turn: usize) -> u64 {
    let part = BLOCKS / DEPTH as u64;
    (task as u64 * part + (turn as u64 * 37) % part) * BLOCK as u64
}

/// Flags of the file: its reads come from the page cache.
const CACHED: i32 = 0;

/// Opens the file once more, with an offset of its own.
fn opened(flags: i32) -> File {
    let path = format!("/proc/self/fd/{}", FILE.as_raw_fd());
    let mut file = fs::OpenOptions::new();
    let file = file.read(true).custom_flags(flags).open(path);
    file.expect("it is open, and its file system has O_DIRECT")
}

/// The names and the numbers of operations of the rows.
fn titles() -> [(&'static str, u64); 6] {
    let turns = turns() as u64;
    let (many, one) = (DEPTH as u64 * turns, 10 * turns);
    [
        ("64 tasks read 4 KiB each, cached", many),
        ("one task reads 4 KiB, cached", one),
        ("64 tasks read 4 KiB each, O_DIRECT", many),
        ("one task reads 4 KiB, O_DIRECT", one),
        (
            "TCP echo, 64 connections, 64 bytes",
            CONNECTIONS as u64 * turns,
        ),
        ("TCP echo, one connection, 64 bytes", one),
    ]
}

fn rows(runs: [Run; 6]) -> Vec<(&'static str, u64, Run)> {
    let rows = titles().into_iter().zip(runs);
    rows.map(|((title, operations), run)| (title, operations, run))
        .collect()
}

/// The rows of a contestant. `$run` runs a future to its end, `$spawn` makes a task of one,
/// `$socket` gives access to the options of a `$stream`, and the others are what the tasks do.
macro_rules! contestant {
    ($run:expr, $spawn:expr, $join:expr, $file:expr, $read_at:expr, $listen:expr, $stream:ty, $socket:expr, $echo:expr, $ask:expr) => {{
        let read = |flags: i32, depth: usize, turns: usize| {
            $run(async move {
                let file = Arc::new($file(opened(flags)).await);
                let start = Instant::now();
                let mut tasks = Vec::new();
                for task in 0..depth {
                    let file = file.clone();
                    tasks.push($spawn(async move {
                        let mut buffer = vec![0; BLOCK];
                        for turn in 0..turns {
                            buffer = $read_at(&file, buffer, offset(task, turn)).await;
                            assert_eq!(buffer.len(), BLOCK);
                        }
                    }));
                }
                for task in tasks {
                    let () = $join(task.await);
                }
                start.elapsed()
            })
        };
        let talk = |connections: usize, turns: usize| {
            $run(async move {
                let (listener, address) = $listen().await;
                let server = $spawn(async move {
                    let mut tasks = Vec::new();
                    for _ in 0..connections {
                        let (stream, _) = listener.accept().await.expect("a connection");
                        $socket(&stream).set_nodelay(true).expect("a socket");
                        tasks.push($spawn(async move { $echo(stream).await }));
                    }
                    tasks
                });
                let mut streams = Vec::new();
                for _ in 0..connections {
                    let stream = <$stream>::connect(address).await;
                    let stream = stream.expect("the server accepts");
                    $socket(&stream).set_nodelay(true).expect("a socket");
                    streams.push(stream);
                }
                let servers = $join(server.await);
                let start = Instant::now();
                let mut clients = Vec::new();
                for stream in streams {
                    clients.push($spawn(async move { $ask(stream, turns).await }));
                }
                for client in clients {
                    let () = $join(client.await);
                }
                let taken = start.elapsed();
                for server in servers {
                    let () = $join(server.await);
                }
                taken
            })
        };
        let runs: [Run; 6] = [
            Box::new(move || read(CACHED, DEPTH, turns())),
            Box::new(move || read(CACHED, 1, 10 * turns())),
            Box::new(move || read(libc::O_DIRECT, DEPTH, turns())),
            Box::new(move || read(libc::O_DIRECT, 1, 10 * turns())),
            Box::new(move || talk(CONNECTIONS, turns())),
            Box::new(move || talk(1, 10 * turns())),
        ];
        rows(runs)
    }};
}

/// Echoes and asks with buffers that are passed along. The functions return the result and the
/// buffer.
macro_rules! with_owned_buffers {
    ($module:ident, $stream:ty, $read:expr, $write_all:expr) => {
        mod $module {
            use super::*;

            pub(super) async fn echo(mut stream: $stream) {
                let mut buffer = Vec::with_capacity(8_192);
                loop {
                    let (count, bytes) = $read(&mut stream, buffer).await;
                    if count.expect("the client is there") == 0 {
                        break;
                    }
                    let (sent, bytes) = $write_all(&mut stream, bytes).await;
                    sent.expect("the client waits for it");
                    buffer = bytes;
                    buffer.clear();
                }
            }

            pub(super) async fn ask(mut stream: $stream, messages: usize) {
                let mut message = vec![7; MESSAGE];
                let mut room = Vec::with_capacity(MESSAGE);
                for _ in 0..messages {
                    let sent;
                    (sent, message) = $write_all(&mut stream, message).await;
                    sent.expect("the server is there");
                    let mut missing = MESSAGE;
                    while missing > 0 {
                        room.clear();
                        let count;
                        (count, room) = $read(&mut stream, room).await;
                        missing -= count.expect("the server answers");
                    }
                }
            }
        }
    };
}

with_owned_buffers!(
    on_ring,
    joint_ring::TcpStream,
    async |stream: &mut joint_ring::TcpStream, buffer| stream.read(buffer).await,
    async |stream: &mut joint_ring::TcpStream, buffer| stream.write_all(buffer).await
);

with_owned_buffers!(
    on_monoio,
    monoio::net::TcpStream,
    async |stream: &mut monoio::net::TcpStream, buffer| {
        monoio::io::AsyncReadRent::read(stream, buffer).await
    },
    async |stream: &mut monoio::net::TcpStream, buffer| {
        monoio::io::AsyncWriteRentExt::write_all(stream, buffer).await
    }
);

#[cfg(joint_peers)]
with_owned_buffers!(
    on_tokio_uring,
    tokio_uring::net::TcpStream,
    async |stream: &mut tokio_uring::net::TcpStream, buffer| stream.read(buffer).await,
    async |stream: &mut tokio_uring::net::TcpStream, buffer| stream.write_all(buffer).await
);

#[cfg(joint_peers)]
with_owned_buffers!(
    on_compio,
    compio::net::TcpStream,
    async |stream: &mut compio::net::TcpStream, buffer| {
        compio::io::AsyncRead::read(stream, buffer).await.into()
    },
    async |stream: &mut compio::net::TcpStream, buffer| {
        compio::io::AsyncWriteExt::write_all(stream, buffer)
            .await
            .into()
    }
);

async fn run_on<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    joint_executor::spawn(future).await
}

fn executor() -> &'static Executor {
    let executor = Executor::builder().workers(1).build();
    leak(executor.expect("threads can be started"))
}

/// Adds all contestants to a table.
pub(crate) fn all(table: Table) -> Table {
    let executor: &'static Executor = executor();
    let ring = contestant!(
        |future| executor.block_on(run_on(future)),
        joint_executor::spawn,
        identity,
        async |file| joint_ring::File::from(file),
        async |file: &joint_ring::File, buffer, offset| {
            let (count, buffer): (_, Vec<u8>) = file.read_at(buffer, offset).await;
            count.expect("the file is there");
            buffer
        },
        async || {
            let listener = joint_ring::TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.get_ref().local_addr().expect("a port");
            (listener, address)
        },
        joint_ring::TcpStream,
        joint_ring::TcpStream::get_ref,
        on_ring::echo,
        on_ring::ask
    );
    let threads = contestant!(
        |future| executor.block_on(run_on(future)),
        joint_executor::spawn,
        identity,
        async |file| Arc::new(file),
        async |file: &Arc<File>, mut buffer: Vec<u8>, offset| {
            let file = file.clone();
            let read = joint_executor::spawn_blocking(move || {
                file.read_exact_at(&mut buffer, offset)
                    .expect("the file is there");
                buffer
            });
            read.await
        },
        async || {
            let listener = joint_executor::io::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("a port");
            let address = listener.local_addr().expect("a port");
            (listener, address)
        },
        joint_executor::io::TcpStream,
        identity,
        |stream| repeat(Io(stream)),
        |stream, messages| converse::<MESSAGE>(Io(stream), messages)
    );
    let table = table
        .with_runs("joint-ring", ring)
        .with_runs("joint, threads and epoll", threads)
        .with_runs("monoio", monoio());
    #[cfg(joint_peers)]
    let table = table
        .with_runs("compio", compio())
        .with_runs("tokio-uring", tokio_uring());
    table
}

fn monoio() -> Vec<(&'static str, u64, Run)> {
    use monoio::{
        IoUringDriver, Runtime, RuntimeBuilder,
        fs::File,
        net::{TcpListener, TcpStream},
    };

    thread_local! {
        static RUNTIME: RefCell<Runtime<IoUringDriver>> = RefCell::new(
            RuntimeBuilder::<IoUringDriver>::new().build().expect("io_uring is there"),
        );
    }
    contestant!(
        |future| RUNTIME.with_borrow_mut(|runtime| runtime.block_on(future)),
        monoio::spawn,
        identity,
        async |file| File::from_std(file).expect("it is open"),
        async |file: &File, buffer, offset| {
            let (count, buffer): (_, Vec<u8>) = file.read_at(buffer, offset).await;
            count.expect("the file is there");
            buffer
        },
        async || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("a port");
            (listener, address)
        },
        TcpStream,
        identity,
        on_monoio::echo,
        on_monoio::ask
    )
}

#[cfg(joint_peers)]
fn compio() -> Vec<(&'static str, u64, Run)> {
    use compio::{
        fs::File,
        io::AsyncReadAt,
        net::{TcpListener, TcpStream},
        runtime::Runtime,
    };
    use std::os::fd::{FromRawFd as _, IntoRawFd as _};

    thread_local! {
        static RUNTIME: Runtime = Runtime::new().expect("io_uring is there");
    }
    contestant!(
        |future| RUNTIME.with(|runtime| runtime.block_on(future)),
        compio::runtime::spawn,
        |output: Result<_, _>| output.expect("no task panics"),
        async |file: std::fs::File| {
            // SAFETY: it is a file, and passed on.
            unsafe { File::from_raw_fd(file.into_raw_fd()) }
        },
        async |file: &File, buffer, offset| {
            let (count, buffer): (_, Vec<u8>) = file.read_at(buffer, offset).await.into();
            count.expect("the file is there");
            buffer
        },
        async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("a port");
            (listener, address)
        },
        TcpStream,
        identity,
        on_compio::echo,
        on_compio::ask
    )
}

#[cfg(joint_peers)]
fn tokio_uring() -> Vec<(&'static str, u64, Run)> {
    use tokio_uring::{
        Runtime, builder,
        fs::File,
        net::{TcpListener, TcpStream},
    };

    thread_local! {
        static RUNTIME: Runtime = Runtime::new(&builder()).expect("io_uring is there");
    }
    contestant!(
        |future| RUNTIME.with(|runtime| runtime.block_on(future)),
        tokio_uring::spawn,
        |output: Result<_, _>| output.expect("no task panics"),
        async |file| File::from_std(file),
        async |file: &File, buffer, offset| {
            let (count, buffer): (_, Vec<u8>) = file.read_at(buffer, offset).await;
            count.expect("the file is there");
            buffer
        },
        async || {
            let any = "127.0.0.1:0".parse().expect("an address");
            let listener = TcpListener::bind(any).expect("a port");
            let address = listener.local_addr().expect("a port");
            (listener, address)
        },
        TcpStream,
        identity,
        on_tokio_uring::echo,
        on_tokio_uring::ask
    )
}
