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
    sync::{
        Arc, Barrier, Condvar, Mutex, Notify, RwLock,
        atomic::{AtomicBool, AtomicI8, AtomicUsize, Ordering::*},
        mpsc,
    },
    thread,
};

use crate::{Shared, assert_fails, count, ends};

#[test]
fn a_condition_variable_wakes_the_waiter_that_a_flag_is_for() {
    let run = |notifies: bool| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                *theirs.0.lock().unwrap() = true;
                if notifies {
                    theirs.1.notify_one();
                }
            });
            let guard = shared.0.lock().unwrap();
            let guard = shared.1.wait_while(guard, |is_set| !*is_set).unwrap();
            assert!(*guard);
            drop(guard);
            other.join().unwrap();
        }
    };
    assert!(count(run(true)).complete >= 2);
    assert_fails("deadlock", run(false));
}

/// A notification does not stay, so one that comes before the wait is lost.
#[test]
fn a_notification_before_the_wait_is_lost() {
    assert_fails("deadlock", || {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.1.notify_one());
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait(guard).unwrap());
        other.join().unwrap();
    });
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
            for waiter in waiters {
                waiter.join().unwrap();
            }
        }
    };
    assert!(count(run(true)).complete >= 6);
    assert_fails("deadlock", run(false));
}

#[test]
fn a_limited_wait_ends_by_notification_and_by_its_limit() {
    let ends = ends(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let guard = shared.0.lock().unwrap();
        let (guard, result) = shared.1.wait_timeout(guard, Duration::ZERO).unwrap();
        let end = (*guard, result.timed_out());
        drop(guard);
        other.join().unwrap();
        end
    });
    assert_eq!(ends, [(false, true), (true, false), (true, true)]);
}

#[test]
fn a_loop_of_waits_with_a_limit_ends() {
    let run = |is_set: bool| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || *theirs.0.lock().unwrap() = is_set);
            let mut guard = shared.0.lock().unwrap();
            while !*guard {
                guard = shared.1.wait_timeout(guard, Duration::ZERO).unwrap().0;
            }
            drop(guard);
            other.join().unwrap();
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
            for reader in readers {
                assert!(reader.join().unwrap() < 2);
            }
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
        for sender in senders {
            sender.join().unwrap();
        }
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
            let notify = Arc::new(Notify::new());
            let theirs = notify.clone();
            let other = thread::spawn(move || (0..notifications).for_each(|_| theirs.notify()));
            notify.wait();
            other.join().unwrap();
        }
    };
    assert!(count(run(1)).complete == 1);
    assert!(count(run(2)).complete == 2);
    assert_fails("deadlock", run(0));
}

/// The drop of the value comes after all that other handles did, without any other order.
#[test]
fn the_last_handle_drops_the_value_after_all_others() {
    struct Owner(Shared);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.write(2);
        }
    }
    let counted = count(|| {
        let owner = Arc::new(Owner(Shared::new()));
        let theirs = owner.clone();
        let other = thread::spawn(move || {
            theirs.0.write(1);
            drop(theirs);
        });
        drop(owner);
        other.join().unwrap();
    });
    assert_eq!(counted.complete, 2);
    assert_fails("data race", || {
        let owner = Arc::new(Owner(Shared::new()));
        let theirs = owner.clone();
        let other = thread::spawn(move || theirs.0.write(1));
        owner.0.write(3);
        other.join().unwrap();
    });
}

#[test]
fn a_handle_that_is_forgotten_is_a_leak() {
    assert_fails("is never dropped", || std::mem::forget(Arc::new(1)));
    assert_fails("is never dropped", || {
        let layout = alloc::Layout::new::<u64>();
        // SAFETY: the layout has a size.
        _ = unsafe { alloc::alloc(layout) };
    });
    count(|| {
        let layout = alloc::Layout::new::<u64>();
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

joint_check::lazy_static! {
    static ref TOTAL: AtomicUsize = AtomicUsize::new(0);
    static ref MADE: Mutex<u32> = Mutex::new(*ONCE);
    static ref ONCE: u32 = {
        TOTAL.fetch_add(1, Relaxed);
        7
    };
}

#[test]
fn a_lazy_static_is_made_once_in_each_execution() {
    let counted = count(|| {
        let other = thread::spawn(|| *MADE.lock().unwrap());
        assert_eq!(*MADE.lock().unwrap(), 7);
        assert_eq!(other.join().unwrap(), 7);
        assert_eq!(TOTAL.load(Relaxed), 1);
    });
    assert!(counted.complete >= 2);
}

joint_check::thread_local! {
    static MINE: std::cell::Cell<u32> = std::cell::Cell::new(1);
}

#[test]
fn a_thread_local_is_of_one_thread() {
    count(|| {
        MINE.with(|mine| mine.set(2));
        thread::spawn(|| MINE.with(|mine| assert_eq!(mine.get(), 1)))
            .join()
            .unwrap();
        MINE.with(|mine| assert_eq!(mine.get(), 2));
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
        let flag = Arc::new(AtomicBool::new(false));
        let (theirs, main) = (flag.clone(), thread::current());
        let other = thread::spawn(move || {
            theirs.store(true, Relaxed);
            main.unpark();
        });
        thread::park_timeout(Duration::ZERO);
        let is_raised = flag.load(Relaxed);
        other.join().unwrap();
        is_raised
    });
    assert_eq!(found, [false, true]);
}

#[test]
fn a_future_is_polled_when_it_is_woken() {
    let run = |wakes: bool| {
        move || {
            let shared = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                theirs.0.store(true, Release);
                if wakes {
                    theirs.1.wake();
                }
            });
            block_on(poll_fn(|context| {
                shared.1.register_by_ref(context.waker());
                if shared.0.load(Acquire) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }));
            other.join().unwrap();
        }
    };
    assert!(count(run(true)).complete >= 2);
    assert_fails("deadlock", run(false));
}

/// An access to a cell lasts until its closure ends, or its pointer is dropped.
#[test]
fn a_long_access_races_with_concurrent_ones() {
    let run = |is_short: bool| {
        move || {
            let shared = Arc::new((Shared::new(), AtomicBool::new(false)));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                if theirs.1.load(Acquire) {
                    theirs.0.write(1);
                }
            });
            let pointer = shared.0.0.get_mut();
            if is_short {
                drop(pointer);
                shared.1.store(true, Release);
            } else {
                shared.1.store(true, Release);
                drop(pointer);
            }
            other.join().unwrap();
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
            let shared = Arc::new((Barrier::new(threads), Shared::new()));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                theirs.1.write(1);
                theirs.0.wait().is_leader()
            });
            let is_leader = shared.0.wait().is_leader();
            assert_eq!(shared.1.read(), 1);
            assert_ne!(other.join().unwrap(), is_leader);
        }
    };
    assert!(count(run(2)).complete >= 2);
    assert_fails("deadlock", run(3));
}
