//! Groups that are lists: futures of one type, in an array or a `Vec`.

use std::{
    array,
    pin::Pin,
    task::{Context, Poll},
};

use super::{Children, Group, TryChildren, TryGroup, sealed, stage::Stage};

/// An array or a `Vec` of futures that return `Result`s.
///
/// This trait is sealed, like [`Group`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of futures that return `Result`s",
    note = "a list is an array or a `Vec`"
)]
pub trait TryList:
    Group<
    Children: Stages<
        Future = Self::Future,
        Output = Result<Self::Value, Self::Error>,
        Of<Option<Self::Value>> = Self::Successes,
    > + Stages<Of<Option<Self::Error>> = Self::Failures>
                  + Stages<Of<Self::Error> = Self::Errors>,
>
{
    /// The type of the futures.
    type Future: Future<Output = Result<Self::Value, Self::Error>>;
    /// The output of a future that succeeds.
    type Value;
    /// The error of a future that fails.
    type Error;
    /// The values of the futures that have succeeded, and `None` for each of the others: an array
    /// or a `Vec`, like the list.
    type Successes;
    /// The errors of the futures that have failed, and `None` for each of the others.
    type Failures;
    /// The errors of all futures.
    type Errors;
}

/// The stages of a list.
pub trait Stages: Sized {
    type Future: Future<Output = Self::Output>;
    type Output;
    /// A `T` for each future.
    type Of<T>;

    fn all(self: Pin<&mut Self>) -> Pin<&mut [Stage<Self::Future, Self::Output>]>;
    fn count(&self) -> usize;
    fn collect<T>(each: impl Iterator<Item = T>, count: usize) -> Self::Of<T>;
    fn into_boxed(self) -> Boxed<Self::Future, Self::Output>;

    fn stage(self: Pin<&mut Self>, child: usize) -> Pin<&mut Stage<Self::Future, Self::Output>> {
        // SAFETY: the element of a pinned slice is pinned, and is not moved by this.
        unsafe { self.all().map_unchecked_mut(|stages| &mut stages[child]) }
    }

    /// Calls `f` with each stage, in order, and collects what it returns.
    fn map<T>(
        mut self: Pin<&mut Self>,
        mut f: impl FnMut(Pin<&mut Stage<Self::Future, Self::Output>>) -> T,
    ) -> Self::Of<T> {
        let count = self.count();
        let each = (0..count).map(|child| f(self.as_mut().stage(child)));
        Self::collect(each, count)
    }
}

impl<F: Future<Output = T>, T, const N: usize> Stages for [Stage<F, T>; N] {
    type Future = F;
    type Output = T;
    type Of<U> = [U; N];

    fn all(self: Pin<&mut Self>) -> Pin<&mut [Stage<F, T>]> {
        // SAFETY: the elements of a pinned array are pinned, and nothing is moved.
        unsafe { self.map_unchecked_mut(|stages| stages.as_mut_slice()) }
    }

    fn count(&self) -> usize {
        N
    }

    fn collect<U>(mut each: impl Iterator<Item = U>, _: usize) -> [U; N] {
        array::from_fn(|_| each.next().expect("there is one for each future"))
    }

    fn into_boxed(self) -> Boxed<F, T> {
        Boxed(Box::into_pin(Box::new(self) as Box<[_]>))
    }
}

/// The stages of a `Vec`, in one allocation.
#[derive(Debug)]
pub struct Boxed<F, T>(Pin<Box<[Stage<F, T>]>>);

impl<F: Future<Output = T>, T> Stages for Boxed<F, T> {
    type Future = F;
    type Output = T;
    type Of<U> = Vec<U>;

    fn all(self: Pin<&mut Self>) -> Pin<&mut [Stage<F, T>]> {
        self.get_mut().0.as_mut()
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn collect<U>(each: impl Iterator<Item = U>, count: usize) -> Vec<U> {
        let mut all = Vec::with_capacity(count);
        all.extend(each);
        all
    }

    fn into_boxed(self) -> Self {
        self
    }
}

impl<F: Future<Output = T>, T> Boxed<F, T> {
    /// Returns how many children have not ended.
    pub(crate) fn running(&self) -> usize {
        self.0.iter().filter(|stage| stage.is_running()).count()
    }
}

#[diagnostic::do_not_recommend]
impl<S: Stages> Children for S {
    type First = (usize, S::Output);
    type Outputs = S::Of<S::Output>;

    fn len(&self) -> usize {
        self.count()
    }

    fn poll(self: Pin<&mut Self>, child: usize, cx: &mut Context<'_>) -> Poll<()> {
        self.stage(child).poll(cx)
    }

    fn poll_first(self: Pin<&mut Self>, child: usize, cx: &mut Context<'_>) -> Poll<Self::First> {
        self.stage(child)
            .poll_output(cx)
            .map(|output| (child, output))
    }

    fn outputs(self: Pin<&mut Self>) -> Self::Outputs {
        self.map(Stage::output)
    }

    fn drop_one(self: Pin<&mut Self>, child: usize) {
        self.stage(child).set(Stage::Gone);
    }
}

#[diagnostic::do_not_recommend]
impl<S: Stages<Output = Result<T, E>>, T, E> TryChildren for S {
    type Values = S::Of<T>;
    type Error = E;

    fn error(self: Pin<&mut Self>, child: usize) -> Option<E> {
        self.stage(child).error()
    }

    fn values(self: Pin<&mut Self>) -> S::Of<T> {
        self.map(Stage::value)
    }
}

impl<F: IntoFuture, const N: usize> sealed::Group for [F; N] {
    type Children = [Stage<F::IntoFuture, F::Output>; N];

    fn into_children(self) -> Self::Children {
        self.map(Stage::new)
    }
}

impl<F: IntoFuture, const N: usize> Group for [F; N] {
    type First = (usize, F::Output);
    type Outputs = [F::Output; N];
}

impl<F: IntoFuture<Output = Result<T, E>>, T, E, const N: usize> TryList for [F; N] {
    type Future = F::IntoFuture;
    type Value = T;
    type Error = E;
    type Successes = [Option<T>; N];
    type Failures = [Option<E>; N];
    type Errors = [E; N];
}

impl<F: IntoFuture<Output = Result<T, E>>, T, E, const N: usize> TryGroup for [F; N] {
    type Values = [T; N];
    type Error = E;
}

impl<F: IntoFuture> sealed::Group for Vec<F> {
    type Children = Boxed<F::IntoFuture, F::Output>;

    fn into_children(self) -> Self::Children {
        Boxed(Box::into_pin(self.into_iter().map(Stage::new).collect()))
    }
}

impl<F: IntoFuture> Group for Vec<F> {
    type First = (usize, F::Output);
    type Outputs = Vec<F::Output>;
}

impl<F: IntoFuture<Output = Result<T, E>>, T, E> TryList for Vec<F> {
    type Future = F::IntoFuture;
    type Value = T;
    type Error = E;
    type Successes = Vec<Option<T>>;
    type Failures = Vec<Option<E>>;
    type Errors = Vec<E>;
}

impl<F: IntoFuture<Output = Result<T, E>>, T, E> TryGroup for Vec<F> {
    type Values = Vec<T>;
    type Error = E;
}
