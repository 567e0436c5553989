//! The floor of each row: timers that are appended to a bucket, with the clock read once for
//! each, and the same messages by blocking system calls on the same sockets, without a runtime.

use std::{
    cell::RefCell,
    future::poll_fn,
    hint::black_box,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use joint_benches::{
    bare::{Bare, on_threads},
    pools::joint::Joint,
    runtime::{Runtime, Yield},
    signal::{Countdown, CountsDrop},
    table::{Row, Run},
};

use super::{
    descriptors::{self, CONNECTIONS, messages},
    million,
    timers::{self, FAR},
};

type Floors = Vec<(&'static str, u64, Run)>;

/// How many tasks are spawned in one poll, so that no ring grows.
const BATCH: usize = 1_000;

// Rows run one after another.
static DROPPED: Countdown = Countdown::new();
static FIRED: Countdown = Countdown::new();

/// The floors of those rows that `floor` has one for, given their titles and how often each does
/// its operation.
fn of<R>(rows: Vec<Row<R>>, floor: impl Fn(&str, usize) -> Option<Run>) -> Floors {
    let floors = rows.into_iter().filter_map(|row| {
        let run = floor(row.title, row.operations as usize)?;
        Some((row.title, row.operations, run))
    });
    floors.collect()
}

fn timed(f: impl FnOnce()) -> Duration {
    let start = Instant::now();
    f();
    start.elapsed()
}

/// On one thread, also for several workers: the rows of one task, and those that both can do.
pub(crate) fn timers(is_for_two: bool) -> Floors {
    let rows = match is_for_two {
        true => timers::two_workers::<Joint>(),
        false => timers::one_worker::<Joint>(),
    };
    of(rows, |title, times| {
        let run: Run = if title.starts_with("DELAY") || title.starts_with("YIELD") {
            Box::new(move || {
                Bare.run(async move {
                    let start = Instant::now();
                    for _ in 0..times {
                        Yield::default().await;
                    }
                    start.elapsed()
                })
            })
        } else if title.starts_with("arm and drop on both") {
            Box::new(move || on_threads(2, |_| arm_and_drop(times / 2)))
        } else if title.starts_with("arm and drop") {
            Box::new(move || timed(|| arm_and_drop(times)))
        } else if title.starts_with("timeout") {
            Box::new(move || {
                Bare.run(async move {
                    let start = Instant::now();
                    for _ in 0..times {
                        let armed = Armed::new(FAR);
                        Yield::default().await;
                        drop(armed);
                    }
                    start.elapsed()
                })
            })
        } else {
            return None;
        };
        Some(run)
    })
}

thread_local! {
    /// Timers in the order in which they were armed.
    static BUCKET: RefCell<Vec<Option<(Instant, Waker)>>> = const { RefCell::new(Vec::new()) };
}

/// A place in the bucket, which is empty when this is dropped. The last place is dropped first, or
/// all are cleared at once.
struct Armed(usize);

impl Armed {
    fn new(duration: Duration) -> Self {
        Self::with(duration, Waker::noop().clone())
    }

    fn with(duration: Duration, waker: Waker) -> Self {
        let due = Instant::now() + duration;
        BUCKET.with_borrow_mut(|bucket| {
            bucket.push(Some((due, waker)));
            Self(bucket.len() - 1)
        })
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        BUCKET.with_borrow_mut(|bucket| {
            if self.0 + 1 == bucket.len() {
                bucket.pop();
            } else if let Some(place) = bucket.get_mut(self.0) {
                *place = None;
            }
        });
    }
}

fn arm_and_drop(times: usize) {
    for _ in 0..times {
        drop(black_box(Armed::new(FAR)));
    }
}

pub(crate) fn a_million() -> Floors {
    of(million::rows::<Joint>(), |title, count| {
        let run: fn(usize) -> Duration = match title {
            "a million tasks fall asleep" => |count| sleep_and_cancel(count)[0],
            "a million tasks that sleep are cancelled" => |count| sleep_and_cancel(count)[1],
            "a million sleeps of one task are armed" => |count| all_armed(count)[0],
            "a million armed sleeps are dropped" => |count| all_armed(count)[1],
            "a million tasks are woken by their timers" => fire,
            _ => return None,
        };
        Some(Box::new(move || run(count)))
    })
}

/// Arms a timer, and waits until it fires.
async fn asleep(drops: &'static Countdown) {
    let _counts = CountsDrop(drops);
    let mut armed = None;
    poll_fn(|cx| match armed {
        Some(_) => Poll::Ready(()),
        None => {
            armed = Some(Armed::with(FAR, cx.waker().clone()));
            Poll::Pending
        }
    })
    .await;
}

fn sleep_and_cancel(count: usize) -> [Duration; 2] {
    let times = Bare.run(async move {
        DROPPED.start(count);
        let mut handles = Vec::with_capacity(count);
        let start = Instant::now();
        while handles.len() < count {
            let batch = (count - handles.len()).min(BATCH);
            handles.extend((0..batch).map(|_| Bare.spawn(asleep(&DROPPED))));
            Yield::default().await;
        }
        let armed = start.elapsed();
        let start = Instant::now();
        handles.into_iter().for_each(Bare::cancel);
        DROPPED.over().await;
        [armed, start.elapsed()]
    });
    BUCKET.take();
    times
}

fn all_armed(count: usize) -> [Duration; 2] {
    let mut all = Vec::with_capacity(count);
    let armed = timed(|| all.extend((0..count).map(|_| Armed::new(FAR))));
    let dropped = timed(|| drop(all));
    BUCKET.take();
    [armed, dropped]
}

/// Wakes all in the order in which they were armed.
fn fire(count: usize) -> Duration {
    Bare.run(async move {
        FIRED.start(count);
        for _ in 0..count.div_ceil(BATCH) {
            (0..BATCH.min(count)).for_each(|_| Bare.spawn_detached(asleep(&FIRED)));
            Yield::default().await;
        }
        let start = Instant::now();
        for (_, waker) in BUCKET.take().into_iter().flatten() {
            waker.wake();
        }
        FIRED.over().await;
        start.elapsed()
    })
}

/// Each message is written, read, written back and read, by one thread. Two threads have half of
/// the connections each.
pub(crate) fn descriptors(threads: usize) -> Floors {
    of(descriptors::rows::<Joint>(), |title, _| {
        let run: Run = match title {
            "TCP echo, 100 x 1,000 messages of 64 bytes" => {
                Box::new(move || echo::<64>(CONNECTIONS, threads))
            }
            "TCP echo, 100 x 1,000 messages of 4 KiB" => {
                Box::new(move || echo::<4_096>(CONNECTIONS, threads))
            }
            "TCP echo, one connection" => Box::new(|| echo::<64>(1, 1)),
            #[cfg(unix)]
            "ping-pong through two pipes" => Box::new(ping_pong),
            _ => return None,
        };
        Some(run)
    })
}

/// A client and its server.
fn connected(listener: &TcpListener) -> [TcpStream; 2] {
    let address = listener.local_addr().expect("a port");
    let client = TcpStream::connect(address).expect("it listens");
    let (server, _) = listener.accept().expect("a connection");
    [client, server].map(|stream| {
        stream.set_nodelay(true).expect("it is open");
        stream
    })
}

fn echo<const SIZE: usize>(connections: usize, threads: usize) -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let pairs = (0..connections).map(|_| connected(&listener));
    let pairs: Vec<_> = pairs.collect();
    let talk = |pairs: &[[TcpStream; 2]]| {
        let message = [7; SIZE];
        let mut room = [0; SIZE];
        for _ in 0..messages() {
            for [client, server] in pairs {
                let (mut client, mut server) = (client, server);
                client.write_all(&message).expect("it is open");
                server.read_exact(&mut room).expect("a message");
                server.write_all(&room).expect("it is open");
                client.read_exact(&mut room).expect("an echo");
            }
        }
    };
    match threads {
        1 => timed(|| talk(&pairs)),
        _ => on_threads(2, |i| {
            let (one, other) = pairs.split_at(pairs.len() / 2);
            talk([one, other][i]);
        }),
    }
}

#[cfg(unix)]
fn ping_pong() -> Duration {
    use std::fs::File;

    let pipe = || {
        let (reader, writer) = rustix::pipe::pipe().expect("descriptors");
        (File::from(reader), File::from(writer))
    };
    let (mut here, mut to_here) = pipe();
    let (mut there, mut to_there) = pipe();
    let mut ball = [7];
    timed(|| {
        for _ in 0..messages() {
            to_there.write_all(&ball).expect("a pipe");
            there.read_exact(&mut ball).expect("a pipe");
            to_here.write_all(&ball).expect("a pipe");
            here.read_exact(&mut ball).expect("a pipe");
        }
    })
}
