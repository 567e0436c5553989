//! [`MainWaker`]: the waker of the main future, which is no task.

use alloc::{sync::Arc, task::Wake};

use super::{super::record::Actor, with};
use crate::sync::{AtomicUsize, order};

/// Tells the main future's wake-ups from those of tasks.
pub(super) struct MainWaker {
    is_woken: AtomicUsize,
    /// Who woke it, by number.
    by: AtomicUsize,
}

impl MainWaker {
    /// That of a main future that has yet to be polled.
    pub(super) fn woken() -> Self {
        Self {
            is_woken: AtomicUsize::new(1),
            by: AtomicUsize::new(Actor::OUTSIDE.0 as usize),
        }
    }

    /// Who has woken the main future since the last call.
    #[inline]
    pub(super) fn take(&self) -> Option<Actor> {
        // ORDERING: main_look. Relaxed: the threads of a world take turns.
        if self.is_woken.load(order!(main_look: Relaxed)) == 0 {
            return None;
        }
        // ORDERING: main_taken. Relaxed: as for `main_look`.
        self.is_woken.store(0, order!(main_taken: Relaxed));
        // ORDERING: main_by_look. Relaxed: as for `main_look`.
        let by = self.by.load(order!(main_by_look: Relaxed));
        Some(u32::try_from(by).map_or(Actor::OUTSIDE, Actor))
    }
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let by = with(|world| world.map_or(Actor::OUTSIDE, |world| world.acting.get()));
        // ORDERING: main_by. Relaxed: as for `main_look`.
        self.by.store(by.0 as usize, order!(main_by: Relaxed));
        // ORDERING: main_woken. Relaxed: as for `main_look`.
        self.is_woken.store(1, order!(main_woken: Relaxed));
    }
}
