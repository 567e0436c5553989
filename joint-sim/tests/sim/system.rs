//! std's clocks and the system's random numbers, which a simulation answers on Linux.

use std::{
    ffi::{c_uint, c_void},
    sync::{Condvar, Mutex, mpsc},
    time::{Instant, SystemTime},
};

use joint_executor::time::{sleep_until, wall};

use crate::prelude::*;

const HOUR: Duration = Duration::from_secs(3600);

unsafe extern "C" {
    fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize;
}

fn thirteen_random_bytes() -> [u8; 13] {
    let mut bytes = [0; 13];
    // SAFETY: it has this many bytes.
    let filled = unsafe { getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(filled, 13);
    bytes
}

#[test]
fn clocks_of_std_show_the_time_of_the_run() {
    let before = (Instant::now(), SystemTime::now());
    sim::run(1, async {
        let (start, start_wall) = (Instant::now(), SystemTime::now());
        assert_eq!((start, start_wall), (now(), wall()));
        sleep(HOUR).await;
        assert_eq!(start.elapsed(), HOUR);
        assert_eq!(start_wall.elapsed().unwrap(), HOUR);
        sleep_until(Instant::now() + HOUR).await;
        let elapsed = spawn_blocking(move || start.elapsed()).await;
        assert_eq!(elapsed, 2 * HOUR);
    });
    assert!(before.0.elapsed() < HOUR && before.1.elapsed().unwrap() < HOUR);
}

#[test]
fn a_host_with_other_clocks_reads_them_by_std() {
    sim::run(1, async {
        let host = Host::new("a");
        host.clock(5_000, 1_000_000);
        let times = on_host(&host, || async {
            let (start, start_wall) = (Instant::now(), SystemTime::now());
            assert_eq!(start_wall, wall());
            sleep(HOUR).await;
            (start.elapsed(), start_wall.elapsed().unwrap())
        });
        let start = Instant::now();
        assert_eq!(times.await, (HOUR, HOUR));
        assert_eq!(start.elapsed(), HOUR / 2);
    });
}

#[test]
fn what_is_decided_by_std_is_decided_again() {
    let program = || async {
        let mut decided = Vec::new();
        for _ in 0..5 {
            sleep(SECOND / 7).await;
            decided.push((Instant::now(), SystemTime::now(), thirteen_random_bytes()));
            sim::note(format!("{decided:?}"));
        }
        decided
    };
    let run = |seed| sim::run(seed, program());
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    Check::new().seeds(20).canary(1).run(|| async {
        program().await;
    });
    // SAFETY: nothing is filled.
    assert_eq!(unsafe { getrandom([].as_mut_ptr(), 0, 0) }, 0);
    assert_ne!(thirteen_random_bytes(), thirteen_random_bytes());
}

/// However far the time of the run is ahead of the system's.
#[test]
fn a_wait_of_std_with_a_limit_ends_and_takes_as_long() {
    let waits = || {
        let start = Instant::now();
        let (_sender, receiver) = mpsc::channel::<()>();
        receiver.recv_timeout(HOUR).unwrap_err();
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let wait = condvar.wait_timeout_while(mutex.lock().unwrap(), HOUR, |()| true);
        assert!(wait.unwrap().1.timed_out());
        start.elapsed()
    };
    sim::run(1, async move {
        for _ in 0..2 {
            sleep(48 * HOUR).await;
            let start = now();
            let elapsed = waits();
            assert!(elapsed >= 2 * HOUR, "{elapsed:?}");
            yield_now().await;
            assert!(now() - start >= elapsed);
            assert!(spawn_blocking(waits).await >= 2 * HOUR);
        }
    });
}

#[test]
fn a_sleep_that_is_due_meanwhile_fires_after_the_poll() {
    sim::run(1, async {
        let start = now();
        let sleeper = spawn(async move {
            sleep(SECOND).await;
            now() - start
        });
        yield_now().await;
        while start.elapsed() < HOUR {}
        assert!(sleeper.await >= HOUR);
    });
}
