//! The primitives of std that loom has as well, each with what it promises and one mistake that is
//! found.

use std::{
    future::poll_fn,
    sync::mpsc::{RecvError, TryRecvError},
    task::Poll,
    time::Duration,
};

use joint_check::{
    alloc,
    future::{AtomicWaker, block_on},
    model::{Builder, last_count},
    sync::{
        Arc, Barrier, Condvar, Mutex, Notify, RwLock,
        atomic::{AtomicBool, AtomicI8, Ordering::*},
        mpsc,
    },
    thread,
};

use crate::{Shared, assert_fails, beside, count, ends};

#[test]
fn a_condition_variable_wakes_the_waiter_that_a_flag_is_for() {
    let run = |notifies: bool| {
        move || {
            let sets = move |(flag, changed): &(Mutex<bool>, Condvar)| {
                *flag.lock().unwrap() = true;
                if notifies {
                    changed.notify_one();
                }
            };
            beside((Mutex::new(false), Condvar::new()), sets, |shared| {
                let guard = shared.0.lock().unwrap();
                let guard = shared.1.wait_while(guard, |is_set| !*is_set).unwrap();
                assert!(*guard);
            });
        }
    };
    assert!(count(run(true)).complete >= 2);
    assert_fails("deadlock", run(false));
}

#[test]
fn one_notification_wakes_one_of_two_waiters_and_all_wakes_both() {
    let run = |all: bool| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let wait = || {
                let shared = shared.clone();
                thread::spawn(move || {
                    let guard = shared.0.lock().unwrap();
                    drop(shared.1.wait_while(guard, |is_set| !*is_set).unwrap());
                })
            };
            let waiters = [wait(), wait()];
            *shared.0.lock().unwrap() = true;
            if all {
                shared.1.notify_all();
            } else {
                shared.1.notify_one();
            }
            let _: [(); 2] = waiters.map(|waiter| waiter.join().unwrap());
        }
    };
    assert!(count(run(true)).complete >= 6);
    assert_fails("deadlock", run(false));
}

#[test]
fn a_limited_wait_ends_by_notification_and_by_its_limit() {
    let ends = ends(|| {
        let sets = |shared: &(Mutex<bool>, Condvar)| {
            *shared.0.lock().unwrap() = true;
            shared.1.notify_one();
        };
        let waits = |shared: &(Mutex<bool>, Condvar)| {
            let guard = shared.0.lock().unwrap();
            let (guard, result) = shared.1.wait_timeout(guard, Duration::ZERO).unwrap();
            (*guard, result.timed_out())
        };
        beside((Mutex::new(false), Condvar::new()), sets, waits).1
    });
    assert_eq!(ends, [(false, true), (true, false), (true, true)]);
}

#[test]
fn a_loop_of_waits_with_a_limit_ends() {
    let run = |is_set: bool| {
        move || {
            let sets = move |shared: &(Mutex<bool>, _)| *shared.0.lock().unwrap() = is_set;
            beside((Mutex::new(false), Condvar::new()), sets, |shared| {
                let mut guard = shared.0.lock().unwrap();
                while !*guard {
                    guard = shared.1.wait_timeout(guard, Duration::ZERO).unwrap().0;
                }
            });
        }
    };
    assert!(count(run(true)).complete >= 2);
    assert_fails("deadlock", run(false));
}

#[test]
fn readers_share_a_lock_and_a_writer_does_not() {
    let run = |locks: bool| {
        move || {
            let shared = Arc::new((RwLock::new(()), Shared::new()));
            let reader = || {
                let shared = shared.clone();
                thread::spawn(move || {
                    let _guard = shared.0.read().unwrap();
                    shared.1.read()
                })
            };
            let readers = [reader(), reader()];
            {
                let _guard = locks.then(|| shared.0.write().unwrap());
                shared.1.write(1);
            }
            let seen = readers.map(|reader| reader.join().unwrap());
            assert!(seen.into_iter().all(|seen| seen < 2));
        }
    };
    // The writer is first, last, or in the middle, where the readers are not at the same time.
    assert!(count(run(true)).complete >= 4);
    assert_fails("data race", run(false));
}

#[test]
fn a_channel_keeps_each_senders_order_and_then_ends() {
    let orders = ends(|| {
        let (sender, receiver) = mpsc::channel();
        let send = |numbers: &'static [u32]| {
            let sender = sender.clone();
            thread::spawn(move || numbers.iter().for_each(|&n| sender.send(n).unwrap()))
        };
        let senders = [send(&[1, 2]), send(&[3])];
        drop(sender);
        let got = [(); 3].map(|()| receiver.recv().unwrap());
        assert_eq!(receiver.recv(), Err(RecvError));
        let _: [(); 2] = senders.map(|sender| sender.join().unwrap());
        got
    });
    assert_eq!(orders, [[1, 2, 3], [1, 3, 2], [3, 1, 2]]);
}

#[test]
fn a_channel_without_one_side_is_an_error_for_the_other() {
    count(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        let (sender, receiver) = mpsc::channel::<u32>();
        drop(receiver);
        assert_eq!(sender.send(1).unwrap_err().0, 1);
    });
    assert_fails("deadlock", || {
        let (sender, receiver) = mpsc::channel::<u32>();
        _ = receiver.recv();
        drop(sender);
    });
}

#[test]
fn a_notification_is_remembered_once() {
    let run = |notifications: usize| {
        move || {
            let notifies = move |it: &Notify| (0..notifications).for_each(|_| it.notify());
            beside(Notify::new(), notifies, Notify::wait);
        }
    };
    let count = |notifications: usize| {
        let mut builder = Builder::new();
        builder.spurious = Some(0);
        builder.check(run(notifications));
        last_count().complete
    };
    assert_eq!([count(1), count(2)], [1, 2]);
    assert_fails("deadlock", run(0));
}

#[test]
fn a_handle_that_is_forgotten_is_a_leak() {
    assert_fails("is never dropped", || std::mem::forget(Arc::new(1)));
    let layout = alloc::Layout::new::<u64>();
    assert_fails("is never dropped", move || {
        // SAFETY: the layout has a size.
        _ = unsafe { alloc::alloc(layout) };
    });
    count(move || {
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        // SAFETY: the memory is freed once.
        unsafe { alloc::dealloc(memory, layout) };
        let raw = Arc::into_raw(Arc::new(1));
        // SAFETY: the pointer is of this handle.
        assert_eq!(*unsafe { Arc::from_raw(raw) }, 1);
    });
}

#[test]
fn only_an_only_handle_gives_the_value_back() {
    count(|| {
        let mut one = Arc::new(1);
        *Arc::get_mut(&mut one).unwrap() += 1;
        let two = one.clone();
        assert_eq!((Arc::strong_count(&one), *two), (2, 2));
        let one = Arc::try_unwrap(one).unwrap_err();
        let other = thread::spawn(move || drop(two));
        other.join().unwrap();
        assert_eq!(Arc::try_unwrap(one).unwrap(), 2);
    });
}

#[test]
fn threads_have_the_names_of_their_builder() {
    count(|| {
        let named = thread::Builder::new().name("worker".to_owned());
        let handle = named.spawn(|| thread::current().name().map(str::to_owned));
        let handle = handle.unwrap();
        assert_eq!(handle.thread().name(), Some("worker"));
        assert_eq!(handle.join().unwrap().as_deref(), Some("worker"));
        assert_eq!(thread::current().name(), None);
    });
}

#[test]
fn a_park_with_a_limit_ends_by_itself_and_takes_the_token() {
    let found = ends(|| {
        let main = thread::current();
        let unparks = move |flag: &AtomicBool| {
            flag.store(true, Relaxed);
            main.unpark();
        };
        let parks = |flag: &AtomicBool| {
            thread::park_timeout(Duration::ZERO);
            flag.load(Relaxed)
        };
        beside(AtomicBool::new(false), unparks, parks).1
    });
    assert_eq!(found, [false, true]);
}

#[test]
fn a_future_is_polled_when_it_is_woken() {
    let run = |wakes: bool| {
        move || {
            let sets = move |(flag, waker): &(AtomicBool, AtomicWaker)| {
                flag.store(true, Release);
                if wakes {
                    waker.wake();
                }
            };
            beside((AtomicBool::new(false), AtomicWaker::new()), sets, |it| {
                block_on(poll_fn(|context| {
                    it.1.register_by_ref(context.waker());
                    match it.0.load(Acquire) {
                        true => Poll::Ready(()),
                        false => Poll::Pending,
                    }
                }));
            });
        }
    };
    assert!(count(run(true)).complete >= 2);
    assert_fails("deadlock", run(false));
}

/// An access to a cell lasts until its closure ends, or its pointer is dropped, as far as the steps
/// of its thread show.
#[test]
fn a_long_access_races_with_concurrent_ones() {
    let run = |is_short: bool| {
        move || {
            let writes = |(cell, flag): &(Shared, AtomicBool)| {
                if flag.load(Acquire) {
                    cell.write(1);
                }
            };
            beside((Shared::new(), AtomicBool::new(false)), writes, |it| {
                let mut pointer = Some(it.0.0.get_mut());
                if is_short {
                    pointer = None;
                }
                it.1.store(true, Release);
                it.1.load(Relaxed);
                drop(pointer);
            });
        }
    };
    assert_eq!(count(run(true)).complete, 2);
    assert_fails("data race", run(false));
}

#[test]
fn every_update_of_an_atomic_does_what_std_says() {
    count(|| {
        let byte = AtomicI8::new(-3);
        assert_eq!(byte.fetch_add(-2, Relaxed), -3);
        assert_eq!(byte.fetch_sub(1, Relaxed), -5);
        assert_eq!(byte.fetch_max(1, Relaxed), -6);
        assert_eq!(byte.fetch_min(-1, Relaxed), 1);
        assert_eq!(byte.fetch_and(6, Relaxed), -1);
        assert_eq!(byte.fetch_nand(2, Relaxed), 6);
        assert_eq!(byte.fetch_or(1, Relaxed), -3);
        assert_eq!(byte.fetch_xor(1, Relaxed), -3);
        assert_eq!(
            byte.fetch_update(Relaxed, Relaxed, |value| value.checked_mul(2)),
            Ok(-4)
        );
        assert_eq!(byte.fetch_update(Relaxed, Relaxed, |_| None), Err(-8));
        assert_eq!(byte.compare_and_swap(-8, 4, AcqRel), -8);
        assert_eq!(byte.into_inner(), 4);
        let flag = AtomicBool::default();
        assert!(!flag.fetch_nand(true, Relaxed));
        assert!(flag.fetch_xor(true, Relaxed));
        assert!(!flag.load(Relaxed));
    });
}

#[test]
fn a_barrier_lets_all_go_when_the_last_has_come() {
    let run = |threads: usize| {
        move || {
            let writes = |(barrier, cell): &(Barrier, Shared)| {
                cell.write(1);
                barrier.wait().is_leader()
            };
            let leaders = beside((Barrier::new(threads), Shared::new()), writes, |it| {
                let is_leader = it.0.wait().is_leader();
                assert_eq!(it.1.read(), 1);
                is_leader
            });
            assert_ne!(leaders.0, leaders.1);
        }
    };
    assert!(count(run(2)).complete >= 2);
    assert_fails("deadlock", run(3));
}
