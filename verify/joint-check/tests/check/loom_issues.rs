//! Programs from the issues of other checkers' users. Each test says what loom 0.7.2 answers, and
//! asserts what is right. The numbers are those of <https://github.com/tokio-rs/loom/issues>.

use joint_check::{
    hint,
    model::{Builder, last_count},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*},
    },
    thread,
};

use crate::{Shared, beside, count, ends};

/// #180: store buffering with `SeqCst` accesses. loom fails: both loads read 0, because it takes a
/// `SeqCst` access for an acquire or a release.
#[test]
fn seq_cst_accesses_have_one_order() {
    let ends = ends(|| {
        let side = |own: usize| {
            move |words: &[AtomicUsize; 2]| {
                words[own].store(1, SeqCst);
                words[1 - own].load(SeqCst)
            }
        };
        beside([0; 2].map(AtomicUsize::new), side(0), side(1))
    });
    assert_eq!(ends, [(0, 1), (1, 0), (1, 1)]);
}

/// #191: two writers and two readers that wait, from the reference of C++. loom does not come to an
/// end.
#[test]
fn two_readers_agree_on_the_order_of_two_writers() {
    joint_check::model(|| {
        let flags = Arc::new([false; 2].map(AtomicBool::new));
        let both = Arc::new(AtomicUsize::new(0));
        let writer = |which: usize| {
            let flags = flags.clone();
            thread::spawn(move || flags[which].store(true, SeqCst))
        };
        let reader = |first: usize| {
            let (flags, both) = (flags.clone(), both.clone());
            move || {
                while !flags[first].load(SeqCst) {
                    thread::yield_now();
                }
                if flags[1 - first].load(SeqCst) {
                    both.fetch_add(1, SeqCst);
                }
            }
        };
        let others = [writer(0), writer(1), thread::spawn(reader(0))];
        reader(1)();
        let _: [(); 3] = others.map(|other| other.join().unwrap());
        assert_ne!(both.load(SeqCst), 0, "each reader saw its writer first");
    });
}

/// #254: an exchange against a store. loom fails: the store comes between the read and the write of
/// the exchange.
#[test]
fn nothing_comes_between_the_halves_of_an_exchange() {
    let ends = ends(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let swaps = |flag: &Arc<AtomicBool>| flag.swap(false, Relaxed);
        let (before, ()) = beside(flag.clone(), swaps, |flag| flag.store(true, Relaxed));
        (before, flag.load(Relaxed))
    });
    assert_eq!(ends, [(false, true), (true, false)]);
    assert_eq!(last_count().complete, 2);
}

/// #282: a thread that has read 1 and then 2 knows their order, and so do all others. loom fails:
/// it lets a later read disagree. (In
/// the issue the words are lazy statics, and a lock keeps what is seen.)
#[test]
fn all_threads_agree_on_the_order_of_the_writes_to_a_location() {
    joint_check::model(|| {
        let words = Arc::new([0, 0, 21].map(AtomicU32::new));
        let [first, second, third] = [(); 3].map(|()| words.clone());
        let first = thread::spawn(move || {
            let [lock, data, _] = &*first;
            data.store(42, Relaxed);
            lock.store(1, Release);
        });
        let second = thread::spawn(move || {
            let [lock, data, seen] = &*second;
            lock.swap(2, AcqRel);
            seen.store(data.load(Relaxed), Relaxed);
        });
        let third = thread::spawn(move || {
            let [lock, _, seen] = &*third;
            if [(); 2].map(|()| lock.load(Relaxed)) == [1, 2] {
                while seen.load(Relaxed) == 21 {
                    thread::yield_now();
                }
                assert_eq!(seen.load(Relaxed), 42);
            }
        });
        let _: [(); 3] = [first, second, third].map(|thread| thread.join().unwrap());
    });
}

/// #389: an exchange that has read the first value comes before the other thread's store, so the
/// store is what is left. loom fails.
#[test]
fn what_an_exchange_has_not_read_comes_after_it() {
    joint_check::model(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let stores = |flag: &Arc<AtomicBool>| flag.store(true, Relaxed);
        let ((), before) = beside(flag.clone(), stores, |flag| flag.swap(false, Relaxed));
        assert_ne!(flag.load(Relaxed), before);
    });
}

/// #392: a thread that begins with a load. loom runs one of the two executions, and so sees one of
/// the two values.
#[test]
fn a_load_before_a_store_hides_nothing() {
    let ends = ends(|| {
        let stores = |flag: &AtomicBool| {
            flag.load(Relaxed);
            flag.store(true, Relaxed);
        };
        beside(AtomicBool::new(false), stores, |flag| flag.load(Relaxed)).1
    });
    assert_eq!(ends, [false, true]);
}

/// #162: a spin lock. loom exceeds its number of branches unless the loop yields, and then needs
/// many more runs.
#[test]
fn a_spin_lock_is_explored_to_its_end() {
    joint_check::model(|| {
        let shared = Arc::new((AtomicBool::new(false), Shared::new()));
        let add = |shared: &(AtomicBool, Shared)| {
            let (lock, value) = shared;
            while lock
                .compare_exchange(false, true, Acquire, Relaxed)
                .is_err()
            {
                hint::spin_loop();
            }
            value.write(value.read() + 1);
            lock.store(false, Release);
        };
        beside(shared.clone(), move |it| add(it), |it| add(it));
        assert_eq!(shared.1.read(), 2);
    });
    // Each order of the two threads, and the second looks at the lock that is held or does not.
    assert_eq!(last_count().complete, 4);
}

/// #312: threads that borrow. loom has no `thread::scope`.
#[test]
fn threads_of_a_scope_borrow_and_end_before_it() {
    let counted = count(|| {
        let word = AtomicU32::new(0);
        let mut total = 0;
        thread::scope(|scope| {
            let one = scope.spawn(|| word.fetch_add(1, Relaxed));
            scope.spawn(|| word.fetch_add(2, Relaxed));
            total += one.join().unwrap();
        });
        assert!(total == 0 || total == 2);
        assert_eq!(word.load(Relaxed), 3);
    });
    assert_eq!(counted.complete, 2);
}

/// #156: a weak handle against the last strong one. loom has no `Weak`.
#[test]
fn a_weak_handle_is_upgraded_or_not() {
    let ends = ends(|| {
        let strong = Arc::new(7);
        let weak = Arc::downgrade(&strong);
        let other = thread::spawn(move || weak.upgrade().is_some());
        drop(strong);
        assert!(Weak::<u32>::new().upgrade().is_none());
        other.join().unwrap()
    });
    assert_eq!(ends, [false, true]);
}

/// The ranges of a work-stealing loop as in <https://github.com/gendx/paralight/issues/17>: each a
/// word with its begin and its end. All orderings are relaxed.
struct Ranges(Vec<AtomicU64>);

impl Ranges {
    /// Divides the items among this many threads.
    fn new(items: u64, threads: u64) -> Self {
        let range = |n| AtomicU64::new(pack(n * items / threads, (n + 1) * items / threads));
        Self((0..threads).map(range).collect())
    }

    /// Takes an item of the thread's own range, or half of the longest other range.
    fn next(&self, own: usize) -> Option<u64> {
        let mut range = self.0[own].load(Relaxed);
        while let (begin, end) = unpack(range)
            && begin < end
        {
            match self.0[own].compare_exchange(range, pack(begin + 1, end), Relaxed, Relaxed) {
                Ok(_) => return Some(begin),
                Err(now) => range = now,
            }
        }
        loop {
            let others = (0..self.0.len()).filter(|&other| other != own);
            let others = others.map(|other| (other, self.0[other].load(Relaxed)));
            let length = |range| unpack(range).1 - unpack(range).0;
            let (victim, range) = others.max_by_key(|&(_, range)| length(range))?;
            if length(range) == 0 {
                return None;
            }
            let (begin, end) = unpack(range);
            let middle = (begin + end) / 2;
            let taken = pack(begin, middle);
            let exchange = self.0[victim].compare_exchange(range, taken, Relaxed, Relaxed);
            if exchange.is_ok() {
                self.0[own].store(pack(middle + 1, end), Relaxed);
                return Some(middle);
            }
        }
    }
}

fn pack(begin: u64, end: u64) -> u64 {
    begin | end << 32
}

fn unpack(range: u64) -> (u64, u64) {
    (range & 0xffff_ffff, range >> 32)
}

/// Each item is taken once. What a thread is about to take is nowhere to be found for a moment, so
/// a thread may end early, but nothing is lost.
fn each_item_is_taken_once(items: u64, threads: u64) {
    Builder::new().check(move || {
        let ranges = Arc::new(Ranges::new(items, threads));
        let take = |ranges: &Ranges, own| std::iter::from_fn(|| ranges.next(own)).collect();
        let others: Vec<_> = (1..threads as usize)
            .map(|own| {
                let ranges = ranges.clone();
                thread::spawn(move || -> Vec<u64> { take(&ranges, own) })
            })
            .collect();
        let mut all: Vec<u64> = take(&ranges, 0);
        for other in others {
            all.extend(other.join().unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..items));
    });
}

#[test]
fn two_threads_that_steal_take_each_item_once() {
    each_item_is_taken_once(4, 2);
    assert_eq!(last_count().complete, 425);
}

#[test]
fn three_threads_that_steal_take_each_item_once() {
    each_item_is_taken_once(3, 3);
    assert_eq!(last_count().complete, 32_739);
}
