//! The events of a thread, in memory that other graphs have used before.
//!
//! A run of a large model makes and drops some graphs of a few hundred kilobytes. An allocator
//! gives memory of that size back to the system, which clears it for the next graph.

use core::{
    cell::RefCell,
    ops::{Deref, DerefMut},
};

use super::Event;

/// Vectors with room for this many events are kept for other graphs. Allocators keep smaller ones.
const LARGE: usize = 512;

/// A copy has room for this many events more, because a step is added to it.
const ROOM: usize = 4;

/// At most this many vectors are kept.
const KEPT: usize = 8;

std::thread_local! {
    static SPARE: RefCell<Vec<Vec<Event>>> = const { RefCell::new(Vec::new()) };
}

/// The events of a thread in program order.
#[derive(Debug, Default)]
pub(crate) struct Events(Vec<Event>);

/// Returns the smallest kept vector with room for this many events.
fn take_spare(room: usize) -> Option<Vec<Event>> {
    if room < LARGE {
        return None;
    }
    SPARE.with_borrow_mut(|spare| {
        let fits = spare.iter().enumerate();
        let fits = fits.filter(|(_, events)| events.capacity() >= room);
        let (at, _) = fits.min_by_key(|(_, events)| events.capacity())?;
        Some(spare.swap_remove(at))
    })
}

impl Clone for Events {
    fn clone(&self) -> Self {
        if self.is_empty() {
            return Self::default();
        }
        let room = self.len() + ROOM;
        let mut events = take_spare(room).unwrap_or_else(|| Vec::with_capacity(room));
        events.extend_from_slice(self);
        Self(events)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if self.capacity() < LARGE {
            return;
        }
        // A thread of the system that ends has none.
        _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT {
                self.0.clear();
                spare.push(core::mem::take(&mut self.0));
            }
        });
    }
}

impl Deref for Events {
    type Target = Vec<Event>;

    fn deref(&self) -> &Vec<Event> {
        &self.0
    }
}

impl DerefMut for Events {
    fn deref_mut(&mut self) -> &mut Vec<Event> {
        &mut self.0
    }
}
