//! Workers with real-time priorities, all on one processor. A worker that is stopped in the middle
//! of something does not continue before those of higher priority rest. So none of them may wait
//! for it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::prelude::*;

/// The number of seconds after which the process is ended, if it hangs.
const LIMIT: u32 = 120;
const WORKERS: usize = 4;
/// The number of tasks that are spawned one right after the other.
const BURST: usize = 64;
const ROUNDS: usize = 5_000;
const TICK: Duration = Duration::from_micros(50);

/// The first two processors that this process may use.
fn processors() -> Option<[CpuSet; 2]> {
    let all = sched_getaffinity(None).ok()?;
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu));
    let mut next = || {
        let mut one = CpuSet::new();
        one.set(allowed.next()?);
        Some(one)
    };
    Some([next()?, next()?])
}

/// Gives the calling thread this real-time priority on that processor.
fn compete(priority: usize, processor: &CpuSet) -> io::Result<()> {
    sched_setaffinity(None, processor)?;
    // SAFETY: it consists of integers. musl has more of them.
    let mut param: libc::sched_param = unsafe { mem::zeroed() };
    param.sched_priority = libc::c_int::try_from(priority).unwrap();
    // SAFETY: the parameter is read during the call.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Spawns tasks from another processor, so that the workers take many at a time from the injector.
fn spawn_to_competing_workers([theirs, own]: [CpuSet; 2]) {
    let (tell, told) = mpsc::channel();
    let executor = Executor::builder()
        .workers(WORKERS)
        .on_thread_start(move |worker| {
            let _ = tell.send(compete(worker + 1, &theirs));
        })
        .build()
        .unwrap();
    for _ in 0..WORKERS {
        if let Err(error) = told.recv().unwrap() {
            return println!("skipped: {error}");
        }
    }
    sched_setaffinity(None, &own).unwrap();
    // Its timer wakes a worker at any time.
    let ticks = executor.spawn(async {
        loop {
            sleep(TICK).await;
        }
    });
    let finished = Arc::new(AtomicUsize::new(0));
    for round in 1..=ROUNDS {
        for _ in 0..BURST {
            let finished = finished.clone();
            executor.spawn_detached(async move { _ = finished.fetch_add(1, Relaxed) });
        }
        wait_until(|| finished.load(Relaxed) == round * BURST);
    }
    drop(ticks);
}

#[test]
fn no_worker_waits_for_one_stopped_while_it_takes_tasks() {
    let Some(processors) = processors() else {
        return println!("skipped: one processor");
    };
    // In another process, because workers that spin forever take a processor from other tests.
    alone(|| {
        // SAFETY: it takes a number.
        unsafe { libc::alarm(LIMIT) };
        spawn_to_competing_workers(processors);
    });
}
