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

    pub(crate) const fn is_alone(self) -> bool {
        self.is_alone
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn fence(self, order: Ordering) {
        if !self.is_alone {
            fence(order);
        }
    }
}
