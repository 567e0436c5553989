//! Everything at once, for as long as it is told to: tasks of all kinds on executors that come and
//! go, spawned, joined, cancelled and let go by their own tasks and by threads outside, while one
//! of them drops the executor. Every task is accounted for, and no thread and no descriptor stays.
//!
//! As a test it takes a fixed number of rounds. `cargo xtask soak [MINUTES]` runs it for that long,
//! with other choices each time.

#[cfg(feature = "io")]
mod blocked;
#[cfg(all(feature = "io", target_os = "linux"))]
#[path = "../common/child.rs"]
mod child;
#[cfg(all(feature = "io", target_os = "linux"))]
mod forks;
mod kinds;
#[cfg(feature = "io")]
mod outside;

use std::{
    env,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    task::Waker,
    thread,
    time::{Duration, Instant, SystemTime},
};

#[cfg(feature = "io")]
use joint::block_on;
use joint_executor::Executor;

use kinds::{Choice, Counts, Round, fibonacci};

const ROUNDS: u32 = 60;
const OUTSIDERS: usize = 2;
const TASKS: usize = 150;

fn outsider(round: &Arc<Round>, mut choice: Choice) {
    for _ in 0..TASKS {
        let task = round.task(&mut choice, 2);
        let handle = round.spawn(choice.below(64) as usize, task);
        round.dispose(handle, &mut choice);
        match choice.below(40) {
            0 => round.borrow(choice.below(30)),
            1 => assert_eq!(round.executor.install(|| fibonacci(12)), 144),
            #[cfg(feature = "io")]
            2 => round.wait_for_its_timer_and_pipe(choice.below(300)),
            3 => assert!(
                round
                    .executor
                    .dump()
                    .to_string()
                    .contains(" tasks have waited\n")
            ),
            _ => {}
        }
        if choice.below(4) == 0 {
            let other = round.handles.lock().unwrap().pop();
            if let Some(other) = other {
                round.dispose(other, &mut choice);
            }
        }
    }
}

/// Waits until each task has ended, and sees to it that it was counted once.
fn come_to_rest(executor: &Executor) {
    let mut tries = 0;
    loop {
        let metrics = executor.metrics();
        let ended = metrics.finished + metrics.cancelled + metrics.panicked;
        if ended == metrics.spawned {
            break;
        }
        tries += 1;
        assert!(tries < 10_000_000, "tasks that never end: {metrics:?}");
        thread::yield_now();
    }
    let metrics = executor.metrics();
    let ended = metrics.finished + metrics.cancelled + metrics.panicked;
    assert_eq!(metrics.spawned, ended, "{metrics:?}");
}

/// How many of a kind this process has: threads (`task`), or descriptors (`fd`).
#[cfg(target_os = "linux")]
fn count(kind: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{kind}"))
        .unwrap()
        .count()
}

#[cfg(not(target_os = "linux"))]
fn count(_: &str) -> usize {
    0
}

/// Starts what is never stopped: the global executor, which serves those that wait while their own
/// executor goes.
#[cfg(feature = "io")]
fn start_what_stays() {
    let socket = block_on(joint_executor::io::UdpSocket::bind("127.0.0.1:0")).unwrap();
    drop(socket);
    // A thread that the first executor has started, and that ends by itself.
    while is_registering() {
        thread::yield_now();
    }
}

/// Whether that thread exists. It begins with the name of the thread that has started it.
#[cfg(all(feature = "io", target_os = "linux"))]
fn is_registering() -> bool {
    let own = std::fs::read("/proc/thread-self/comm").unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.filter_map(|thread| std::fs::read(thread.path().join("comm")).ok());
    // The system cuts names off after 15 bytes.
    let is_it = |name: &Vec<u8>| *name == own || name.starts_with(b"joint-membarrie");
    names.filter(is_it).count() > 1
}

#[cfg(all(feature = "io", not(target_os = "linux")))]
fn is_registering() -> bool {
    false
}

#[cfg(not(feature = "io"))]
fn start_what_stays() {}

/// One executor's life. Comes back with how many tasks it had.
fn round(choice: &mut Choice) -> u64 {
    let counts = Arc::<Counts>::default();
    let (open, all_gone): (Sender<()>, Receiver<()>) = channel();
    let (wakes, to_wake) = channel::<Waker>();
    let wakes_all = thread::spawn(move || to_wake.into_iter().for_each(Waker::wake));
    let workers = 1 + choice.below(4) as usize;
    let executor = Executor::builder().workers(workers).build().unwrap();
    let round = Arc::new(Round {
        executor,
        counts: counts.clone(),
        open: Mutex::new(open),
        handles: Mutex::default(),
        wakes: Mutex::new(wakes),
        is_quiet: choice.below(3) == 0,
    });
    let start = Arc::new(Barrier::new(OUTSIDERS));
    let threads: Vec<_> = (0..OUTSIDERS)
        .map(|_| {
            let (round, start) = (round.clone(), start.clone());
            let choice = Choice(choice.below(u64::MAX) | 1);
            thread::spawn(move || {
                start.wait();
                outsider(&round, choice);
            })
        })
        .collect();
    let held = round.is_quiet.then(|| round.clone());
    #[cfg(feature = "io")]
    let ends_blocked = (!round.is_quiet && choice.below(2) == 0).then(|| round.clone());
    // Whoever has the last share drops the executor, and with it what is left.
    let handles = round.handles.lock().unwrap().split_off(0);
    drop(handles);
    drop(round);
    for thread in threads {
        thread.join().unwrap();
    }
    #[cfg(feature = "io")]
    if let Some(round) = ends_blocked {
        Round::end_while_blocked(round, choice);
    }
    if let Some(round) = held {
        let handles = round.handles.lock().unwrap().split_off(0);
        drop(handles);
        come_to_rest(&round.executor);
    }
    // Nothing is sent: it ends when the last guard and the round have gone.
    all_gone.recv().unwrap_err();
    wakes_all.join().unwrap();
    let count = |count: &AtomicU64| count.load(Relaxed);
    assert_eq!(count(&counts.made), count(&counts.dropped));
    let answers = [&counts.output, &counts.panicked, &counts.cancelled];
    assert_eq!(count(&counts.asked), answers.map(count).iter().sum::<u64>());
    count(&counts.made)
}

fn time_to_soak() -> Option<Duration> {
    let minutes = env::var("JOINT_SOAK_MINUTES").ok()?;
    let minutes: f64 = minutes
        .parse()
        .expect("JOINT_SOAK_MINUTES is a number of minutes");
    Some(Duration::from_secs_f64(60.0 * minutes))
}

#[test]
fn every_task_is_accounted_for() {
    // The tasks' own panics are part of the game, and would fill the screen.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_expected = info
            .payload_as_str()
            .is_some_and(|text| text.starts_with("a task that panics"));
        if !is_expected {
            report(info);
        }
    }));
    let (limit, seed) = match time_to_soak() {
        None => (None, 0x9e37_79b9_7f4a_7c15),
        Some(limit) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            (Some(limit), now.unwrap().as_nanos() as u64 | 1)
        }
    };
    println!("seed {seed:#x}");
    start_what_stays();
    let before = ["task", "fd"].map(count);
    let start = Instant::now();
    let mut choice = Choice(seed);
    let (mut rounds, mut tasks) = (0, 0);
    while limit.map_or(rounds < ROUNDS, |limit| start.elapsed() < limit) {
        #[cfg(all(feature = "io", target_os = "linux"))]
        if choice.below(8) == 0 && child::may_start_threads() {
            forks::fork(&mut choice, before[0]);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| round(&mut choice)));
        match outcome {
            Ok(made) => tasks += made,
            Err(panic) => {
                println!("in round {rounds} from seed {seed:#x}");
                panic::resume_unwind(panic);
            }
        }
        rounds += 1;
    }
    println!("{rounds} executors, {tasks} tasks");
    // The system takes a joined thread off its list in its own time; and one that its own task has
    // left ends after it.
    while ["task", "fd"].map(count) != before {
        thread::yield_now();
    }
}
