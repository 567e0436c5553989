//! Orders that are taken for granted.

use joint_executor::spawn_now;

use super::*;

pub(crate) async fn locks_in_two_orders<R: Runtime>(version: Version) {
    let accounts = Arc::new([AsyncMutex::new(50), AsyncMutex::new(50)]);
    let transfer = |from: usize, to: usize| {
        let accounts = accounts.clone();
        R::spawn(async move {
            let (first, second) = match version {
                Planted => (from, to),
                Repaired => (from.min(to), from.max(to)),
            };
            let mut first_account = accounts[first].lock().await;
            R::yield_now().await;
            let mut second_account = accounts[second].lock().await;
            let sign = if first == from { 1 } else { -1 };
            *first_account -= sign * 10;
            *second_account += sign * 10;
        })
    };
    for transfer in [transfer(0, 1), transfer(1, 0)] {
        transfer.await;
    }
    assert_eq!(*accounts[0].lock().await + *accounts[1].lock().await, 100);
}

pub(crate) async fn first_come<R: Runtime>(version: Version) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for entry in 0..3 {
        let log = log.clone();
        let task = R::spawn(async move {
            let position = log.lock().unwrap().len();
            log.lock().unwrap().push(entry);
            position
        });
        match version {
            Planted => tasks.push(task),
            Repaired => assert_eq!(task.await, entry),
        }
    }
    for task in tasks {
        task.await;
    }
    assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
}

/// What a task of `spawn_now` does before its spawner goes on, or after it: a simulation has both.
pub(crate) async fn starts_at_once<R: Runtime>(version: Version) {
    let cache = Arc::new(AtomicUsize::new(0));
    let inner = cache.clone();
    let filled = spawn_now(async move { inner.store(7, SeqCst) });
    if version == Repaired {
        filled.await;
    }
    assert_eq!(cache.load(SeqCst), 7);
}

pub(crate) async fn starts_later<R: Runtime>(version: Version) {
    let lock = Arc::new(Mutex::new(0));
    let guard = (version == Planted).then(|| lock.try_lock().unwrap());
    let inner = lock.clone();
    let adds = spawn_now(async move { *inner.try_lock().expect("nobody has the lock") += 1 });
    drop(guard);
    adds.await;
    assert_eq!(*lock.lock().unwrap(), 1);
}

/// Jobs that are left, workers that are at one, and jobs that are done.
#[derive(Default)]
struct Pool {
    jobs: Mutex<Vec<usize>>,
    busy: AtomicUsize,
    done: AtomicUsize,
}

pub(crate) async fn stopped_too_early<R: Runtime>(version: Version) {
    let pool = Arc::new(Pool::default());
    pool.jobs.lock().unwrap().extend([1, 2, 3]);
    let worker = || {
        let pool = pool.clone();
        R::spawn(async move {
            loop {
                if version == Repaired {
                    pool.busy.fetch_add(1, SeqCst);
                }
                let job = pool.jobs.lock().unwrap().pop();
                if job.is_none() {
                    if version == Repaired {
                        pool.busy.fetch_sub(1, SeqCst);
                    }
                    return;
                }
                // To read what the job needs.
                R::yield_now().await;
                if version == Planted {
                    pool.busy.fetch_add(1, SeqCst);
                }
                R::yield_now().await;
                pool.done.fetch_add(1, SeqCst);
                pool.busy.fetch_sub(1, SeqCst);
            }
        })
    };
    let workers = [worker(), worker()];
    // Waits until no job is left and nobody is at one.
    while !(pool.jobs.lock().unwrap().is_empty() && pool.busy.load(SeqCst) == 0) {
        R::yield_now().await;
    }
    assert_eq!(
        pool.done.load(SeqCst),
        3,
        "stopped although a job was under way"
    );
    for worker in workers {
        worker.await;
    }
}
