//! What the package in std's place adds: memory, statics, and time.

use std::{
    hint::black_box,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

#[test]
#[should_panic(expected = "memory of 8 bytes is freed twice")]
fn memory_is_freed_twice() {
    joint_check::model(|| {
        let value = black_box(Box::into_raw(Box::new(1_u64)));
        unsafe { drop(Box::from_raw(value)) };
        unsafe { drop(Box::from_raw(value)) };
    });
}

#[test]
#[should_panic(expected = "AtomicUsize is used after its memory was freed")]
fn an_atomic_is_used_after_its_memory_was_freed() {
    joint_check::model(|| {
        let value = Box::into_raw(Box::new(AtomicUsize::new(1)));
        unsafe { drop(Box::from_raw(value)) };
        unsafe { &*value }.load(SeqCst);
    });
}

#[test]
#[should_panic(expected = "used after its memory was freed")]
fn an_atomic_is_freed_while_it_is_used() {
    joint_check::model(|| {
        let value: &_ = Box::leak(Box::new(AtomicUsize::new(1)));
        let uses = thread::spawn(move || value.load(SeqCst));
        unsafe { drop(Box::from_raw(std::ptr::from_ref(value).cast_mut())) };
        uses.join().unwrap();
    });
}

static LIST: Mutex<Vec<u8>> = Mutex::new(Vec::new());

#[test]
fn a_static_is_new_in_each_execution() {
    let adds = thread::spawn(|| LIST.lock().unwrap().push(1));
    LIST.lock().unwrap().push(2);
    adds.join().unwrap();
    let mut list = LIST.lock().unwrap().clone();
    list.sort();
    assert_eq!(list, [1, 2]);
}

#[test]
fn time_passes_for_the_thread_that_waits() {
    let start = Instant::now();
    let sleeps = thread::spawn(|| thread::sleep(Duration::from_secs(5)));
    thread::park_timeout(Duration::from_secs(3));
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    sleeps.join().unwrap();
}
