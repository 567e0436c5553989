//! What is demanded of the queue.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use homework::{Popper, queue};
use loom::{model, thread};

/// Pops what is there, up to that many values.
fn popped(popper: &mut Popper<u32>, most: usize) -> Vec<u32> {
    (0..most).filter_map(|_| popper.pop()).collect()
}

/// Lets the threads that were started run first. loom remembers only the last access of each place,
/// and each side loads its own count before it stores it, which hides an earlier load by the other
/// side. So in each model the side comes first whose store the model is about.
fn others_first() {
    thread::spawn(|| ()).join().unwrap();
}

#[test]
fn values_are_popped_in_the_order_in_which_they_were_pushed() {
    model(|| {
        let (mut pusher, mut popper) = queue();
        let first = thread::spawn(move || (popped(&mut popper, 2), popper));
        assert_eq!((pusher.push(1), pusher.push(2)), (Ok(()), Ok(())));
        let (mut all, mut popper) = first.join().unwrap();
        all.extend(popped(&mut popper, 2));
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn a_slot_is_used_again_after_its_value_was_popped() {
    model(|| {
        let (mut pusher, mut popper) = queue();
        assert_eq!((pusher.push(1), pusher.push(2)), (Ok(()), Ok(())));
        let first = thread::spawn(move || (popped(&mut popper, 1), popper));
        others_first();
        let refused = pusher.push(3).err();
        let (mut all, mut popper) = first.join().unwrap();
        assert_eq!(all, [1]);
        all.extend(popped(&mut popper, 2));
        all.extend(refused);
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn a_full_queue_refuses_and_an_empty_one_has_nothing() {
    model(|| {
        let (mut pusher, mut popper) = queue();
        assert_eq!(popper.pop(), None);
        assert_eq!((pusher.push(1), pusher.push(2)), (Ok(()), Ok(())));
        assert_eq!(pusher.push(3), Err(3));
        assert_eq!(popped(&mut popper, 3), [1, 2]);
        assert_eq!(pusher.push(4), Ok(()));
        assert_eq!(popper.pop(), Some(4));
    });
}

#[test]
fn what_is_left_is_dropped_with_the_queue() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);

    struct Counted;

    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }

    model(|| {
        DROPS.store(0, Relaxed);
        let (mut pusher, mut popper) = queue();
        assert!(pusher.push(Counted).is_ok() && pusher.push(Counted).is_ok());
        drop(popper.pop());
        assert_eq!(DROPS.load(Relaxed), 1);
        drop((pusher, popper));
        assert_eq!(DROPS.load(Relaxed), 2);
    });
}
