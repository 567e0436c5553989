//! What the machine charges, by programs whose times can be computed.

use std::{panic::catch_unwind, rc::Rc, time::Duration};

use joint_cores::{
    Costs, Waits, counts, now, simulate,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

const COSTS: Costs = Costs {
    work: 1.0,
    hit: 1.0,
    exchange: 5.0,
    fence: 5.0,
    pause: 10.0,
    clock: 0.0,
    call: 100.0,
    yields: 100.0,
    wake: 500.0,
    latency: 5_000.0,
    switch: 500.0,
    start: 1_000.0,
    slice: 1e6,
    near: 20.0,
    far: 100.0,
    cluster: 2,
    waits: Waits::Looks,
};
const TURNS: usize = 1_000;

/// The time in which so many threads add to a counter, and the lines that move meanwhile.
fn adds(cores: usize, threads: usize, seed: u64) -> (f64, u64) {
    simulate(cores, COSTS, seed, move || {
        let count = Rc::new(AtomicUsize::new(0));
        let (start, before) = (now(), counts().moves);
        let add = |_| {
            let count = count.clone();
            thread::spawn(move || (0..TURNS).for_each(|_| _ = count.fetch_add(1, SeqCst)))
        };
        let threads: Vec<_> = (0..threads).map(add).collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let time = now().duration_since(start).as_secs_f64() * 1e9;
        (time / TURNS as f64, counts().moves - before)
    })
}

#[test]
fn a_line_of_one_core_does_not_move_and_one_of_two_takes_turns() {
    let (alone, moves) = adds(2, 1, 0);
    assert!(moves < 10, "{moves}");
    let (two, moves) = adds(2, 2, 0);
    assert!(moves > TURNS as u64, "{moves}");
    assert!(two > 1.5 * COSTS.near && two > 2.0 * alone, "{alone} {two}");
    let (four, _) = adds(4, 4, 0);
    assert!(four > 2.0 * COSTS.far, "the clusters are far apart: {four}");
}

#[test]
fn a_seed_decides_all() {
    // The memory of a thread of the system is used again, in another order.
    let first = |seed| std::thread::spawn(move || adds(4, 4, seed)).join().unwrap();
    assert_eq!(first(7), first(7));
    assert_ne!(first(7), first(8));
}

#[test]
fn more_threads_than_cores_take_turns() {
    let (time, _) = adds(1, 3, 0);
    assert!(time > 0.0);
}

#[test]
fn a_sleep_takes_its_time_and_the_latency() {
    let late = simulate(1, COSTS, 0, || {
        let start = now();
        thread::park_timeout(Duration::from_micros(100));
        now().duration_since(start)
    });
    let least = Duration::from_micros(105);
    assert!(
        late >= least && late < least + Duration::from_micros(2),
        "{late:?}"
    );
}

#[test]
fn a_condition_variable_wakes_who_waits() {
    simulate(2, COSTS, 0, || {
        let shared = Rc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            let is_set = theirs.0.lock().unwrap();
            drop(theirs.1.wait_while(is_set, |is_set| !*is_set));
        });
        thread::sleep(Duration::from_micros(50));
        *shared.0.lock().unwrap() = true;
        shared.1.notify_one();
        waits.join().unwrap();
    });
}

#[test]
fn a_mutex_that_is_held_stays_so_whoever_tries() {
    simulate(1, COSTS, 0, || {
        let mutex = Mutex::new(());
        let _held = mutex.lock();
        assert!(mutex.try_lock().is_err() && mutex.try_lock().is_err());
    });
}

#[test]
fn a_program_that_only_sleeps_fails() {
    let ended = catch_unwind(|| simulate(1, COSTS, 0, thread::park));
    assert!(ended.is_err());
}
