//! State that is read on one side of an await and written on the other.

use super::*;

pub(crate) async fn lost_update<R: Runtime>(version: Version) {
    let counter = Arc::new((AtomicUsize::new(0), AsyncMutex::new(())));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            R::spawn(async move {
                let (count, lock) = &*counter;
                let _guard = match version {
                    Planted => None,
                    Repaired => Some(lock.lock().await),
                };
                let before = count.load(SeqCst);
                R::yield_now().await;
                count.store(before + 1, SeqCst);
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
    assert_eq!(counter.0.load(SeqCst), 2);
}

pub(crate) async fn made_twice<R: Runtime>(version: Version) {
    let cache = Arc::new((AsyncMutex::new(None), AtomicUsize::new(0)));
    let get = || {
        let cache = cache.clone();
        R::spawn(async move {
            let (cached, made) = &*cache;
            let mut guard = cached.lock().await;
            if let Some(value) = *guard {
                return value;
            }
            if version == Planted {
                // To make the value without blocking the others.
                drop(guard);
                R::yield_now().await;
                made.fetch_add(1, SeqCst);
                guard = cached.lock().await;
            } else {
                R::yield_now().await;
                made.fetch_add(1, SeqCst);
            }
            *guard.insert(7)
        })
    };
    for value in [get(), get()] {
        assert_eq!(value.await, 7);
    }
    assert_eq!(cache.1.load(SeqCst), 1, "the value was made more than once");
}

/// The number of the request that waits there, and the answer.
#[derive(Default)]
struct Slot {
    request: usize,
    answer: Option<usize>,
}

pub(crate) async fn stale_slot<R: Runtime>(version: Version) {
    let slot = Arc::new(Mutex::new(Slot::default()));
    // The server answers each request some time later.
    let ask = |request: usize| {
        slot.lock().unwrap().request = request;
        let slot = slot.clone();
        R::spawn(async move {
            R::yield_now().await;
            let mut slot = slot.lock().unwrap();
            if version == Planted || slot.request == request {
                slot.answer = Some(request * 10);
            }
        })
    };
    let first = ask(1);
    // Given up after a while, answered or not.
    R::yield_now().await;
    slot.lock().unwrap().answer = None;
    let second = ask(2);
    let answer = loop {
        let answer = slot.lock().unwrap().answer.take();
        match answer {
            Some(answer) => break answer,
            None => R::yield_now().await,
        }
    };
    assert_eq!(answer, 20, "the answer to another request");
    first.await;
    second.await;
}
