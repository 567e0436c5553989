//! Streams on threads of the system.

use joint_flow::{
    Closed,
    stream::{self, StreamExt},
};

use crate::prelude::*;

#[test]
fn the_items_of_each_thread_arrive_in_its_order() {
    const THREADS: usize = 5;
    const ITEMS: usize = if cfg!(miri) { 20 } else { 20_000 };
    let (sender, mut receiver) = stream::channel::<_, Closed>();
    let threads = [0, 1, 2, 3, 4].map(|thread| {
        let sender = sender.clone();
        thread::spawn(move || (0..ITEMS).for_each(|n| sender.send((thread, n)).unwrap()))
    });
    let mut next = [0; THREADS];
    block_on(async {
        for _ in 0..THREADS * ITEMS {
            let (thread, n) = receiver.next().await.unwrap().unwrap();
            assert_eq!(n, next[thread]);
            next[thread] += 1;
        }
    });
    assert!(receiver.is_empty());
    for thread in threads {
        thread.join().unwrap();
    }
}
