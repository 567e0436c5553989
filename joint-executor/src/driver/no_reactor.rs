//! The reactor without the feature `io`: there are no descriptors, so none is ever made.

use alloc::vec::Vec;
use core::task::Waker;
use std::io;

pub(crate) use super::event_source::EventSource;

pub(crate) enum Reactor {}

impl EventSource for Reactor {
    type Events = ();

    fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn wait(&self, (): &mut (), _: u64, _: &mut Vec<Waker>) {
        match *self {}
    }

    fn interrupt(&self) {
        match *self {}
    }

    fn has_sources(&self) -> bool {
        match *self {}
    }

    fn close(&self) -> Vec<Waker> {
        match *self {}
    }
}
