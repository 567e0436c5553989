//! Values that a model must drop.

use crate::run::track;

/// A value that must be dropped before an execution ends.
#[derive(Debug)]
pub struct Track<T>(T);

impl<T> Track<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        track(1);
        Self(value)
    }

    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        track(-1);
    }
}
