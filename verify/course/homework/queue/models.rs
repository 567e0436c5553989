//! What is demanded of the queue.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use homework::Queue;
use loom::{model, sync::Arc, thread};

/// Pops what is there, up to that many values.
fn popped(queue: &Queue<u32>, most: usize) -> Vec<u32> {
    (0..most).filter_map(|_| queue.pop()).collect()
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
        let queue = Arc::new(Queue::new());
        let poppers = queue.clone();
        let popper = thread::spawn(move || popped(&poppers, 2));
        assert_eq!((queue.push(1), queue.push(2)), (Ok(()), Ok(())));
        let mut all = popper.join().unwrap();
        all.extend(popped(&queue, 2));
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn a_slot_is_used_again_after_its_value_was_popped() {
    model(|| {
        let queue = Arc::new(Queue::new());
        let poppers = queue.clone();
        assert_eq!((queue.push(1), queue.push(2)), (Ok(()), Ok(())));
        let popper = thread::spawn(move || popped(&poppers, 1));
        others_first();
        let refused = queue.push(3).err();
        let mut all = popper.join().unwrap();
        assert_eq!(all, [1]);
        all.extend(popped(&queue, 2));
        all.extend(refused);
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn a_full_queue_refuses_and_an_empty_one_has_nothing() {
    model(|| {
        let queue = Queue::new();
        assert_eq!(queue.pop(), None);
        assert_eq!((queue.push(1), queue.push(2)), (Ok(()), Ok(())));
        assert_eq!(queue.push(3), Err(3));
        assert_eq!(popped(&queue, 3), [1, 2]);
        assert_eq!(queue.push(4), Ok(()));
        assert_eq!(queue.pop(), Some(4));
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
        let queue = Queue::new();
        assert!(queue.push(Counted).is_ok() && queue.push(Counted).is_ok());
        drop(queue.pop());
        assert_eq!(DROPS.load(Relaxed), 1);
        drop(queue);
        assert_eq!(DROPS.load(Relaxed), 2);
    });
}
