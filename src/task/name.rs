//! The name of a task, which takes no memory if there is none.

/// The type of a task's name. No other crate can name it, so it is implemented here alone.
pub trait Name {
    /// Returns the name, if there is one.
    fn get(&self) -> Option<&str>;
}

/// The name of a task without a name.
#[derive(Clone, Copy, Debug)]
pub struct Unnamed;

/// The name of a task with a name.
#[derive(Clone, Debug)]
pub struct Named(pub(super) Text);

/// The text of a name.
#[cfg(feature = "alloc")]
pub(super) type Text = alloc::borrow::Cow<'static, str>;
#[cfg(not(feature = "alloc"))]
pub(super) use super::no_alloc::Text;

impl Name for Unnamed {
    fn get(&self) -> Option<&str> {
        None
    }
}

impl Name for Named {
    #[allow(clippy::needless_borrow, reason = "with `alloc` it is needed")]
    fn get(&self) -> Option<&str> {
        Some(&self.0)
    }
}
