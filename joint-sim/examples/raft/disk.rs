//! A server's disk, which survives its crashes.

use std::{cell::RefCell, rc::Rc, time::Duration};

use joint_executor::time::sleep;

use crate::{chance::Chance, protocol::Persistent};

#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Rc<RefCell<Persistent>>);

impl Disk {
    pub(crate) fn read(&self) -> Persistent {
        self.0.borrow().clone()
    }

    /// Writes all or nothing. A crash before the end leaves the disk as it was.
    pub(crate) async fn write(&self, state: Persistent, chance: &mut Chance) {
        sleep(chance.between(WRITE.0, WRITE.1)).await;
        *self.0.borrow_mut() = state;
    }
}

/// The shortest and the longest time of a write.
const WRITE: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(4));
