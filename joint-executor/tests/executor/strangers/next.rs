//! A worker that wakes a task at the driver, and runs it next, need not announce it. It must
//! announce another task that has got the memory of the first one.

use std::hint;

use joint::task::{Builder, Id, Runnable};

use super::support::{Quiet, Stranger, stranger};
use crate::prelude::*;

/// The first task has this many sizes, one of which is that of the second.
const SIZES: usize = 12;
const WORKERS: usize = 3;
const ROUNDS: usize = 300;
/// The length of a part of the second task, in words.
const PAD: usize = 40;

/// The data of the schedule function. The function itself has no size, because the memory of its
/// task is freed during its call only then.
struct Round {
    stranger: Arc<Stranger>,
    release: mpsc::Sender<()>,
    parks: Arc<AtomicUsize>,
    /// The worker that has polled the first task.
    worker: Option<usize>,
}

static ROUND: Mutex<Option<(Round, Id)>> = Mutex::new(None);
/// The number of rounds in which the second task has got the memory of the first.
static HITS: AtomicUsize = AtomicUsize::new(0);

/// Frees the first task, and makes a second one. Wakes that one after its first poll, and waits for
/// its second one.
fn schedule(runnable: Runnable<usize>) {
    let Some((round, first)) = ROUND.lock().unwrap().take() else {
        return;
    };
    if current_worker() != round.worker {
        // A worker that has waited in the driver. It announces everything.
        let release = || _ = round.release.send(());
        return round.stranger.call_after(release);
    }
    let (tell, told) = mpsc::channel::<Waker>();
    let parks = round.parks.load(Relaxed);
    let (release, pad) = (round.release, [0usize; PAD]);
    let mut is_first_poll = true;
    drop(runnable);
    let second = spawn(poll_fn(move |cx| {
        if mem::take(&mut is_first_poll) {
            tell.send(cx.waker().clone()).unwrap();
            return Poll::Pending;
        }
        hint::black_box(&pad);
        let _ = release.send(());
        Poll::Ready(())
    }));
    HITS.fetch_add(usize::from(second.id() == first), Relaxed);
    second.detach();
    let waker = told.recv().unwrap();
    // The worker that has polled it rests again, most times.
    wait_until(|| round.parks.load(Relaxed) > parks);
    spin(Duration::from_micros(200));
    round.stranger.call_after(|| waker.wake());
}

fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        hint::spin_loop();
    }
}

/// Polls a first task of a certain size. Its timer is due by the end of this poll, so the worker
/// finds it when it looks at the driver next.
fn begin<const WORDS: usize>(round: Round) {
    let time = Duration::from_micros(20);
    let (deadline, pad) = (Instant::now() + time, [0usize; WORDS]);
    let future = async move {
        sleep_until(deadline).await;
        hint::black_box(&pad);
    };
    let round = Round {
        worker: current_worker(),
        ..round
    };
    let (runnable, handle) = Builder::new().metadata(0).spawn(|_| future, schedule);
    *ROUND.lock().unwrap() = Some((round, handle.id()));
    handle.detach();
    runnable.run();
    spin(time);
}

const BEGIN: [fn(Round); SIZES] = [
    begin::<22>,
    begin::<24>,
    begin::<26>,
    begin::<28>,
    begin::<30>,
    begin::<32>,
    begin::<34>,
    begin::<36>,
    begin::<38>,
    begin::<40>,
    begin::<42>,
    begin::<44>,
];

#[test]
fn a_task_with_the_memory_of_the_one_that_was_woken_runs() {
    let quiet = Quiet::new(Executor::builder().workers(WORKERS));
    block_on(quiet.executor.spawn(sleep(MILLI)));
    let mut size = 0;
    for _ in 0..ROUNDS {
        wait_until(|| quiet.rest(WORKERS));
        let (stranger, watched) = stranger();
        let (begin, hits) = (BEGIN[size], HITS.load(Relaxed));
        let round = Round {
            stranger,
            release: watched.release(),
            parks: quiet.parks.clone(),
            worker: None,
        };
        let first = quiet.executor.spawn(async move { begin(round) });
        watched.begun();
        watched.assert_released();
        block_on(first);
        if HITS.load(Relaxed) == hits {
            size = (size + 1) % SIZES;
        }
    }
    if HITS.load(Relaxed) == 0 {
        println!("skipped: the allocator gives no task the memory of another");
    }
}
