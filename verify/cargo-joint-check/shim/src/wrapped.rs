//! What else has operations of the model.

use real::sync::atomic::Ordering;

use joint_check::sync as checked;

use crate::memory::checker;

pub use checked::BarrierWaitResult;

#[track_caller]
pub fn fence(order: Ordering) {
    let _side = checker();
    checked::atomic::fence(order);
}

#[track_caller]
pub fn spin_loop() {
    let _side = checker();
    crate::spins::wrote();
    joint_check::hint::spin_loop();
}

#[derive(Debug)]
pub struct Barrier(checked::Barrier);

impl Barrier {
    #[track_caller]
    pub fn new(threads: usize) -> Self {
        let _side = checker();
        Self(checked::Barrier::new(threads))
    }

    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let _side = checker();
        self.0.wait()
    }
}
