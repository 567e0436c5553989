//! How much memory a task takes, among a million tasks, beside the peers. Each contestant is
//! measured in a process of its own, with one worker.

use std::future::pending;

mod heap;

use heap::Memory;
use joint_benches::{
    child,
    locals::{
        joint::JointLocal,
        queue::{AsyncTaskQueue, JointQueue},
    },
    options::Options,
    pools::{
        async_executor::{AsyncExecutor, AsyncExecutorStatic},
        joint::Joint,
        nio::Nio,
        tokio::TokioPool,
    },
    report::{Figure, Report},
    runtime::{Pool, Runtime},
    signal::Countdown,
};

/// How the tasks are when the memory is read.
#[derive(Clone, Copy, Debug)]
enum State {
    Queued,
    Waiting,
}

/// A contestant's name, and what its process does with a state and a number of tasks.
type Child = fn(State, usize);

const CONTESTANTS: &[(&str, Child)] = &[
    ("joint", pool::<Joint>),
    ("joint LocalExecutor", |state, count| {
        measure(&JointLocal, state, count)
    }),
    ("joint queue", |state, count| {
        measure(&JointQueue, state, count)
    }),
    ("async-task queue", |state, count| {
        measure(&AsyncTaskQueue, state, count)
    }),
    ("tokio", pool::<TokioPool>),
    ("async-executor", pool::<AsyncExecutor>),
    ("async-executor static", pool::<AsyncExecutorStatic>),
    ("nio", pool::<Nio>),
    #[cfg(unix)]
    ("monoio", |state, count| {
        measure(&joint_benches::locals::monoio::MonoioLocal, state, count)
    }),
    #[cfg(joint_peers)]
    ("forte", pool::<joint_benches::pools::forte::Forte>),
];

fn pool<R: Pool>(state: State, count: usize) {
    measure(R::start(1), state, count);
}

/// Tasks that are polled before the next ones are spawned, so that no queue grows.
const BATCH: usize = 1_000;

/// Measures, prints, and ends the process.
fn measure<R: Runtime>(runtime: &'static R, state: State, count: usize) {
    static POLLED: Countdown = Countdown::new();

    runtime.run(async move {
        // Memory that is allocated only once is not counted.
        R::join_all((0..BATCH).map(|_| runtime.spawn(async { 7u32 })).collect()).await;
        let mut handles = touched(count);
        let before = Memory::now();
        match state {
            // The only worker's current poll spawns them.
            State::Queued => handles.extend((0..count).map(|_| runtime.spawn(async { 7u32 }))),
            State::Waiting => {
                for _ in 0..count / BATCH {
                    POLLED.start(BATCH);
                    let one = |_| {
                        runtime.spawn(async {
                            POLLED.done();
                            pending::<u32>().await
                        })
                    };
                    handles.extend((0..BATCH).map(one));
                    POLLED.over().await;
                }
            }
        }
        let (live, resident) = Memory::now().each_since(before, count);
        println!("{live} {}", resident.unwrap_or(f64::NAN));
        std::process::exit(0);
    })
}

/// A vector whose memory the system has provided already.
fn touched<T>(count: usize) -> Vec<T> {
    let mut room: Vec<T> = Vec::with_capacity(count);
    for slot in room.spare_capacity_mut() {
        let byte = slot.as_mut_ptr().cast::<u8>();
        assert_ne!(size_of::<T>(), 0, "a handle has a first byte");
        // SAFETY: this is the first byte of an element's memory, which belongs to the vector. The
        // compiler cannot remove a volatile write.
        unsafe { byte.write_volatile(0) };
    }
    room
}

fn print(options: &Options, report: &mut Report) {
    let count = if options.once { BATCH } else { 1_000_000 };
    let title = "bytes for each of a million tasks";
    report.head(title, CONTESTANTS.iter().map(|contestant| contestant.0));
    for (state, name) in [
        (State::Queued, "spawned, not run yet"),
        (State::Waiting, "polled once, waiting"),
    ] {
        let words = [&*format!("{state:?}"), &*count.to_string()];
        let asked = CONTESTANTS.iter().map(|(name, _)| child::ask(name, &words));
        let asked: Vec<_> = asked.collect();
        for (kind, what) in ["live heap", "resident"].iter().enumerate() {
            let row = format!("{name}: {what}");
            if asked.iter().any(|figures| figures[kind].is_nan()) {
                println!("\nThe system does not report the resident memory.");
                continue;
            }
            let figures = CONTESTANTS.iter().zip(&asked).map(|((name, _), figures)| {
                let value = figures[kind];
                Figure::new(name, value, value / asked[0][kind])
            });
            report.row(title, &row, "bytes", &figures.collect::<Vec<_>>());
        }
    }
}

fn main() {
    if let Some((child, words)) = child::asked(CONTESTANTS) {
        let state = match &*words[0] {
            "Queued" => State::Queued,
            _ => State::Waiting,
        };
        return child(state, words[1].parse().expect("a number of tasks"));
    }
    let options = Options::read();
    let mut report = Report::start("memory", &options);
    print(&options, &mut report);
    report.end();
}
