//! A budget that does nothing: without the feature `io` there are no operations.

#[inline]
pub(crate) fn begin() {}

pub(crate) struct Outer;

impl Outer {
    #[inline]
    pub(crate) fn keep() -> Self {
        Self
    }
}

pub(crate) fn set_on_refused(_: Option<fn()>) {}

#[inline]
pub(crate) fn is_used_up() -> bool {
    false
}
