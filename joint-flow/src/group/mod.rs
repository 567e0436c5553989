//! [`Group`]: the futures that a combinator awaits together, as tuples, arrays and `Vec`s.
//!
//! A combinator is written once, on the traits of this module. A group pins its futures in place,
//! each in a [`Stage`](stage::Stage), and its combinator refers to them by their indices.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

pub(crate) mod list;
mod one_of;
pub(crate) mod stage;
mod tuples;

pub use list::TryList;
pub use one_of::{OneOf2, OneOf3, OneOf4, OneOf5, OneOf6, OneOf7, OneOf8};

/// Futures that are awaited together: a tuple of 2 to 8 futures, an array, or a `Vec`.
///
/// The futures of a tuple may have different types. Whatever implements [`IntoFuture`] will do, and
/// so a slice of futures that must not be moved is awaited as a `Vec` or an array of pinned
/// references.
///
/// This trait is sealed: it is implemented here, and nowhere else.
///
/// # Cost
/// A tuple and an array keep their futures in place. A `Vec` moves them into one allocation.
///
/// # Example
/// ```
/// use joint_flow::all;
/// use std::{future::ready, pin::{Pin, pin}};
///
/// # joint::block_on(async {
/// let (mut a, mut b) = (pin!(async { 1 }), pin!(async { 2 }));
/// assert_eq!(all((a.as_mut(), b.as_mut())).await, (1, 2));
///
/// let mut slice = [ready(1), ready(2), ready(3)];
/// let futures: Vec<_> = slice.iter_mut().collect();
/// assert_eq!(all(futures).await, [1, 2, 3]);
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no group of futures",
    note = "a group is a tuple of 2 to 8 futures, an array, or a `Vec`"
)]
pub trait Group:
    sealed::Group<Children: Children<First = Self::First, Outputs = Self::Outputs>>
{
    /// The output of the future that was ready first. For a tuple, it is a variant that says which
    /// one ([`OneOf2`] to [`OneOf8`]), and otherwise a pair of its index and its output.
    type First;
    /// All outputs in order: a tuple, an array or a `Vec`, like the group.
    type Outputs;
}

/// A [`Group`] whose futures return `Result`s with one type of error.
///
/// This trait is sealed, like `Group`.
pub trait TryGroup:
    Group<Children: TryChildren<Values = Self::Values, Error = Self::Error>>
{
    /// The values in order: a tuple, an array or a `Vec`, like the group.
    type Values;
    /// The error of each future.
    type Error;
}

/// How the future of a combinator keeps the futures of a group. It is the parameter of that
/// future's type: [`race`](crate::race()) of two futures `A` and `B` is a `Race<Kept<(A, B)>>`.
pub type Kept<G> = <G as sealed::Group>::Children;

pub(crate) mod sealed {
    /// How a group becomes its pinned children.
    pub trait Group {
        type Children: super::Children;

        fn into_children(self) -> Self::Children;
    }
}

/// The futures of a group, pinned, and the outputs of those that have ended.
#[diagnostic::on_unimplemented(
    message = "a member of the group is not a future of the output that is awaited",
    label = "this group cannot be awaited"
)]
pub trait Children {
    type First;
    type Outputs;

    fn len(&self) -> usize;

    /// Polls one child. If it is ready, the future is dropped, and its output kept. A child that
    /// has ended is pending.
    fn poll(self: Pin<&mut Self>, child: usize, cx: &mut Context<'_>) -> Poll<()>;

    /// Polls one child. If it is ready, the future is dropped, and its output returned.
    fn poll_first(self: Pin<&mut Self>, child: usize, cx: &mut Context<'_>) -> Poll<Self::First>;

    /// Takes the outputs of all children, which have ended.
    fn outputs(self: Pin<&mut Self>) -> Self::Outputs;

    /// Drops one child, or its output.
    fn drop_one(self: Pin<&mut Self>, child: usize);

    /// Drops all children, from the first to the last, and all outputs.
    fn drop_all(mut self: Pin<&mut Self>) {
        (0..self.len()).for_each(|child| self.as_mut().drop_one(child));
    }
}

/// Children whose outputs are `Result`s.
#[diagnostic::on_unimplemented(
    message = "a member of the group is no future that returns a `Result` with the common error",
    label = "this group cannot be awaited"
)]
pub trait TryChildren: Children {
    type Values;
    type Error;

    /// Takes the error of a child that has ended with one.
    fn error(self: Pin<&mut Self>, child: usize) -> Option<Self::Error>;

    /// Takes the values of all children, which have ended without an error.
    fn values(self: Pin<&mut Self>) -> Self::Values;
}
