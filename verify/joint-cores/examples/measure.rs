//! Measures the costs of this machine by one thread, or by two that take turns on one processor.
//! On Linux.

use std::{
    hint::{black_box, spin_loop},
    sync::atomic::{
        AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
    thread,
    time::{Duration, Instant},
};

// SAFETY: these are the declarations of the C library.
unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn sched_setaffinity(thread: i32, size: usize, set: *const u64) -> i32;
    fn prctl(option: i32, ...) -> i32;
}

#[cfg(target_arch = "x86_64")]
const FUTEX: i64 = 202;
#[cfg(not(target_arch = "x86_64"))]
const FUTEX: i64 = 98;
const WAIT: i32 = 128;
const WAKE: i32 = 129;
const ROUNDS: usize = 20;

fn futex(word: &AtomicU32, what: i32, value: u32) {
    // SAFETY: the word is there, and there is no time limit.
    unsafe { syscall(FUTEX, word.as_ptr(), what, value, 0_usize, 0_usize, 0_u32) };
}

/// Keeps this thread, and those that it starts, on one processor.
fn stay() {
    // SAFETY: the set has the size that is given.
    assert_eq!(unsafe { sched_setaffinity(0, 8, &1) }, 0);
}

/// The median time of one call, in nanoseconds.
fn each(calls: u32, mut f: impl FnMut()) -> f64 {
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| f());
            start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// Two threads wake each other on one processor: the time of the call, and of a switch.
fn wake_and_switch() -> (f64, f64) {
    static TURN: AtomicU32 = AtomicU32::new(0);
    const TURNS: u32 = 20_000;
    let play = |own: u32| {
        let mut calls = Vec::new();
        for _ in 0..TURNS {
            while TURN.load(Acquire) != own {
                futex(&TURN, WAIT, 1 - own);
            }
            TURN.store(1 - own, Release);
            let start = Instant::now();
            futex(&TURN, WAKE, 1);
            calls.push(start.elapsed().as_secs_f64() * 1e9);
        }
        calls.sort_by(f64::total_cmp);
        calls[TURNS as usize / 2]
    };
    let start = Instant::now();
    let other = thread::spawn(move || play(1));
    let call = play(0);
    other.join().expect("it does not panic");
    let turn = start.elapsed().as_secs_f64() * 1e9 / f64::from(2 * TURNS);
    (call, turn)
}

fn main() {
    stay();
    // SAFETY: sets the slack of this thread's timers.
    unsafe { prctl(29, 1_u64) };
    let (count, word) = (AtomicUsize::new(0), AtomicU32::new(0));
    let exchange = each(100_000, || _ = black_box(&count).fetch_add(1, SeqCst));
    let load = each(100_000, || _ = black_box(black_box(&count).load(Relaxed)));
    let fences = each(100_000, || {
        black_box(&count).store(1, Relaxed);
        fence(SeqCst);
    });
    let pause = each(10_000, spin_loop);
    let clock = each(10_000, || _ = black_box(Instant::now()));
    let nobody = each(10_000, || futex(&word, WAKE, 1));
    let yields = each(10_000, thread::yield_now);
    let (wake, turn) = wake_and_switch();
    let late = each(100, || thread::sleep(Duration::from_micros(100))) - 100_000.0;
    let start = each(100, || {
        thread::spawn(|| ()).join().expect("it does not panic")
    });
    println!("load {load:.2}\nexchange {exchange:.2}\nstore and fence {fences:.2}");
    println!("pause {pause:.1}\nclock {clock:.1}\nwake of nobody {nobody:.0}\nyield {yields:.0}");
    println!("wake on one processor {wake:.0}\nturn of two threads on one processor {turn:.0}");
    println!("a sleep of 100 us is late by {late:.0}\nstart and join a thread {start:.0}");
}
