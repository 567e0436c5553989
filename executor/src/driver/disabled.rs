//! The driver of an executor without the feature `io`: there is none.

use alloc::vec::Vec;
use core::{convert::Infallible, task::Waker, time::Duration};

use crate::sleep::AfterPark;

pub(crate) struct Driver;

pub(crate) struct Keeper(pub(crate) Infallible);

impl Driver {
    pub(crate) fn new(_: usize) -> Self {
        Self
    }

    pub(crate) fn is_used(&self) -> bool {
        false
    }

    pub(crate) fn is_vacant(&self) -> bool {
        false
    }

    pub(crate) fn next_blocked_look(&self) -> Option<Duration> {
        None
    }

    pub(crate) fn keep(&self) -> Option<Keeper> {
        None
    }

    pub(crate) fn next_due(&self) -> Option<Waker> {
        None
    }

    pub(crate) fn has_due(&self) -> bool {
        false
    }

    pub(crate) fn ring(&self) {}

    pub(crate) fn close(&self) -> Vec<Waker> {
        Vec::new()
    }
}

impl Keeper {
    pub(crate) fn park(&mut self, _: Option<Duration>) -> AfterPark {
        match self.0 {}
    }

    pub(crate) fn has_found(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn leave(self, _: &mut Vec<Waker>) {
        match self.0 {}
    }
}
