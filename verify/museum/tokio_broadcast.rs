//! tokio up to 1.44.1, repaired in 1.44.2: RUSTSEC-2025-0023. A broadcast channel clones a value in
//! two threads at once, although the value need not be `Sync`.

use std::{cell::UnsafeCell, thread};

use tokio::sync::broadcast;

struct Counted(UnsafeCell<u32>);

// SAFETY: nobody else may use it: it is not `Sync`.
unsafe impl Send for Counted {}

impl Clone for Counted {
    fn clone(&self) -> Self {
        unsafe { *self.0.get() += 1 };
        Self(UnsafeCell::new(0))
    }
}

#[test]
fn two_receivers_receive() {
    let (sender, mut receiver) = broadcast::channel(1);
    let mut other = sender.subscribe();
    _ = sender.send(Counted(UnsafeCell::new(0)));
    let receives = thread::spawn(move || _ = other.try_recv());
    _ = receiver.try_recv();
    receives.join().unwrap();
}
