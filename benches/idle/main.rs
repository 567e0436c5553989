//! How often the threads of four workers wake up in a second in which there is nothing to do, or
//! work for one of them. Each contestant is measured in a process of its own. Only Linux counts how
//! often a thread falls asleep.

use std::{fs, thread, time::Duration};

use joint_benches::{
    allocator::Allocator,
    child,
    driven::{Driven, smol::Smol},
    options::Options,
    pools::{async_executor::AsyncExecutorStatic, joint::Joint, nio::Nio, tokio::DrivenTokioPool},
    report::{Figure, Report, ratio},
    runtime::{Pool, Runtime},
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const WORKERS: usize = 4;
const HOUR: Duration = Duration::from_secs(3_600);
/// The time until all threads sleep that will.
const SETTLE: Duration = Duration::from_millis(200);

/// The work of the workers in each row, or `None` if the contestant cannot do it.
type States<R> = [Option<fn(&'static R)>; 4];

/// A contestant's name, and what its process does with a row and a time.
type Child = fn(&str, Duration);

const ROWS: [&str; 4] = [
    "nothing to do",
    "a timer is pending",
    "a listener is open",
    "one of four workers is busy",
];

const CONTESTANTS: &[(&str, Child)] = &[
    ("joint", driven::<Joint>),
    ("tokio", driven::<DrivenTokioPool>),
    ("smol", driven::<Smol>),
    ("async-executor static", pool::<AsyncExecutorStatic>),
    ("nio", pool::<Nio>),
    #[cfg(joint_peers)]
    ("forte", pool::<joint_benches::pools::forte::Forte>),
];

fn driven<R: Driven + Pool>(row: &str, time: Duration) {
    let states: States<R> = [
        Some(|_| ()),
        Some(|runtime| runtime.spawn_detached(sleep::<R>())),
        Some(|runtime| runtime.spawn_detached(listen::<R>())),
        Some(keep_busy),
    ];
    measure(states, row, time);
}

fn pool<R: Pool>(row: &str, time: Duration) {
    measure::<R>([Some(|_| ()), None, None, Some(keep_busy)], row, time);
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
fn measure<R: Pool>(states: States<R>, row: &str, time: Duration) {
    let runtime = R::start(WORKERS);
    let row = ROWS.iter().position(|own| *own == row);
    let Some(begin) = states[row.expect("a row")] else {
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

fn print(options: &Options, report: &mut Report) {
    let title = "wake-ups in a second, four workers";
    report.head(title, CONTESTANTS.iter().map(|contestant| contestant.0));
    for row in ROWS.into_iter().filter(|row| options.wants(title, row)) {
        let words = [row, options.of("1000", "100")];
        // A contestant that cannot do the row prints nothing.
        let ask = |name| child::ask(name, &words).pop().unwrap_or(f64::NAN);
        let asked: Vec<_> = CONTESTANTS.iter().map(|(name, _)| ask(name)).collect();
        let figures = CONTESTANTS.iter().zip(&asked);
        let figures =
            figures.map(|((name, _), count)| Figure::new(name, *count, ratio(asked[0], *count)));
        report.row(title, row, "wake-ups", &figures.collect::<Vec<_>>());
    }
}

fn main() {
    if let Some((child, words)) = child::asked(CONTESTANTS) {
        let time = Duration::from_millis(words[1].parse().expect("a number"));
        return child(&words[0], time);
    }
    let options = Options::read();
    let mut report = Report::start("idle", &options);
    print(&options, &mut report);
    report.end();
}
