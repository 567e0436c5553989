//! How often the threads of four workers wake up in a second in which there is nothing to do, or
//! work for one of them. Each contestant is measured in a process of its own.
//!
//! `cargo xtask bench idle`, or `cargo bench -p joint-benches --bench idle`; with `-- FILTER` only
//! the rows whose titles contain it; with `-- --test` a tenth of a second. Only Linux counts how
//! often a thread falls asleep.

use std::{env, fs, process::Command, thread, time::Duration};

use joint_benches::{
    allocator::Allocator,
    driven::{Driven, smol::Smol},
    options::Options,
    pools::{async_executor::AsyncExecutorStatic, joint::Joint, nio::Nio, tokio::DrivenTokioPool},
    report::{Measured, Report},
    runtime::{Pool, Runtime},
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const WORKERS: usize = 4;
const HOUR: Duration = Duration::from_secs(3_600);
/// The time until all threads sleep that will.
const SETTLE: Duration = Duration::from_millis(200);

/// The work of the workers, or `None` if the contestant cannot do it.
type State<R> = (&'static str, Option<fn(&'static R)>);

/// A contestant's name, and what its process does with a row and a time.
type Child = fn(&str, Duration);

const ROWS: [&str; 4] = [
    "nothing to do",
    "a timer is pending",
    "a listener is open",
    "one of four workers is busy",
];

const CONTESTANTS: &[(&str, Child)] = &[
    ("joint", |row, time| driven::<Joint>(row, time)),
    ("tokio", |row, time| driven::<DrivenTokioPool>(row, time)),
    ("smol", |row, time| driven::<Smol>(row, time)),
    ("async-executor static", |row, time| {
        pool::<AsyncExecutorStatic>(row, time);
    }),
    ("nio", |row, time| pool::<Nio>(row, time)),
    #[cfg(joint_peers)]
    ("forte", |row, time| {
        pool::<joint_benches::pools::forte::Forte>(row, time);
    }),
];

fn driven<R: Driven + Pool>(row: &str, time: Duration) {
    let states: [State<R>; 4] = [
        (ROWS[0], Some(|_| ())),
        (
            ROWS[1],
            Some(|runtime| runtime.spawn_detached(sleep::<R>())),
        ),
        (
            ROWS[2],
            Some(|runtime| runtime.spawn_detached(listen::<R>())),
        ),
        (ROWS[3], Some(keep_busy)),
    ];
    measure(states, row, time);
}

fn pool<R: Pool>(row: &str, time: Duration) {
    let states: [State<R>; 4] = [
        (ROWS[0], Some(|_| ())),
        (ROWS[1], None),
        (ROWS[2], None),
        (ROWS[3], Some(keep_busy)),
    ];
    measure(states, row, time);
}

async fn sleep<R: Driven>() {
    R::sleep(HOUR).await;
}

async fn listen<R: Driven>() {
    let (mut listener, _) = R::listen().await.expect("a port");
    R::accept(&mut listener).await.expect("a connection");
}

/// One task that always has something to do, and never needs another worker.
fn keep_busy<R: Runtime>(runtime: &'static R) {
    runtime.spawn_detached(async {
        loop {
            R::join(runtime.spawn(async {})).await;
        }
    });
}

/// Measures, prints, and ends the process.
fn measure<R: Pool>(states: [State<R>; 4], row: &str, time: Duration) {
    let runtime = R::start(WORKERS);
    let (_, begin) = states
        .into_iter()
        .find(|state| state.0 == row)
        .expect("a row");
    let Some(begin) = begin else {
        return;
    };
    runtime.run(async move {
        begin(runtime);
        let (sender, answer) = joint::oneshot::channel();
        thread::spawn(move || {
            thread::sleep(SETTLE);
            let before = sleeps();
            thread::sleep(time);
            sender.send(sleeps().zip(before).map(|(after, before)| after - before))
        });
        match answer.await.expect("the thread ends") {
            Some(count) => println!("{}", count as f64 / time.as_secs_f64()),
            None => println!("NaN"),
        }
        std::process::exit(0);
    })
}

/// How often the other threads have fallen asleep so far.
fn sleeps() -> Option<u64> {
    let of = |status: &str, name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    let own = fs::read_to_string("/proc/thread-self/status").ok()?;
    let mut count = 0;
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let status = fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        if of(&status, "Pid:") != of(&own, "Pid:") {
            count += of(&status, "voluntary_ctxt_switches:")?;
        }
    }
    Some(count)
}

/// The output of a contestant's process.
fn ask(contestant: &str, row: &str, options: &Options) -> Option<f64> {
    let program = env::current_exe().expect("the path of this program");
    let child = Command::new(program)
        .args(["child", contestant, row, options.of("1000", "100")])
        .output()
        .expect("a process can be started");
    assert!(
        child.status.success(),
        "{contestant}, {row}: {}",
        String::from_utf8_lossy(&child.stderr)
    );
    let printed = String::from_utf8_lossy(&child.stdout);
    let count = printed.trim().parse::<f64>().ok();
    count.filter(|count| !count.is_nan())
}

fn print(options: &Options, report: &mut Report) {
    let title = "wake-ups in a second, four workers";
    report.head(title, CONTESTANTS.iter().map(|contestant| contestant.0));
    for row in ROWS.into_iter().filter(|row| options.wants(title, row)) {
        let asked = CONTESTANTS.iter().map(|(name, _)| ask(name, row, options));
        let asked: Vec<_> = asked.collect();
        // There is no ratio to nothing, so what is more than nothing counts from one.
        let ratio = |count: f64| match asked[0] {
            Some(own) if own > 0.0 => count / own,
            _ => 1.0 + count,
        };
        let figures: Vec<_> = (CONTESTANTS.iter().zip(&asked))
            .map(|((name, _), count)| Measured {
                contestant: (*name).to_owned(),
                value: *count,
                ratio: count.map_or(f64::NAN, ratio),
                is_peer: !name.starts_with("joint"),
            })
            .collect();
        report.row(title, row, "wake-ups", &figures);
    }
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["child", contestant, row, time] => {
            let child = CONTESTANTS.iter().find(|(name, _)| *name == contestant);
            let time = Duration::from_millis(time.parse().expect("a number"));
            child.expect("a contestant's name").1(row, time);
        }
        _ => {
            let options = Options::read();
            let mut report = Report::start("idle", &options);
            print(&options, &mut report);
            report.end();
        }
    }
}
