//! An executor with two priorities, and with timers. It is in `executor.rs`.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use executor::{Shared, Sleep, spawn};

mod executor;

pub(crate) fn main() {
    let shared = Shared::new();
    let workers = [(); 2].map(|()| {
        let shared = shared.clone();
        thread::spawn(move || shared.work())
    });
    let sleep = Sleep::new(&shared, Duration::from_millis(1));
    let urgent = spawn(&shared, 0, async {
        sleep.await;
        42
    });
    assert_eq!(joint::block_on(urgent), 42);
    let asleep = spawn(&shared, 1, Sleep::new(&shared, Duration::from_secs(3600)));
    shared.close();
    for worker in workers {
        worker.join().unwrap();
    }
    assert!(joint::block_on(asleep.result()).unwrap_err().is_cancelled());
}
