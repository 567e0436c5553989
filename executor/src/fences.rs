//! [`Fences`]: the fences of store-load races in which only workers take part. An executor of one
//! worker has no other side, and leaves them out.

use core::sync::atomic::Ordering;

use joint_switch::fence;

#[derive(Clone, Copy)]
pub(crate) struct Fences {
    is_alone: bool,
}

impl Fences {
    pub(crate) const fn among(workers: usize) -> Self {
        let is_alone = workers == 1;
        Self { is_alone }
    }

    /// Returns whether there is only one worker.
    pub(crate) const fn is_alone(self) -> bool {
        self.is_alone
    }

    /// The fence of the frequent side.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn light(self, order: Ordering) {
        if !self.is_alone {
            fence(order);
        }
    }

    /// The fence of the rare side.
    #[track_caller]
    pub(crate) fn heavy(self, order: Ordering) {
        #[cfg(test)]
        HEAVY_FENCES.set(HEAVY_FENCES.get() + 1);
        fence(order);
    }
}

#[cfg(test)]
std::thread_local! {
    /// The number of heavy fences that this thread has made.
    pub(crate) static HEAVY_FENCES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}
