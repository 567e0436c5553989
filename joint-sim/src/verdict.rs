//! [`Verdict`]: what a program may return that is run many times.

use std::fmt::Debug;

/// The output of a program that [`check()`](super::check()) runs: nothing, or a [`Result`], whose
/// error fails the run.
///
/// It is to a simulation what [`Termination`](std::process::Termination) is to a test, so a program
/// can use `?`. No other crate can implement it.
///
/// # Example
/// ```
/// use joint::oneshot;
/// use joint_sim as sim;
/// use joint_executor::spawn_detached;
///
/// sim::check(|| async {
///     let (sender, receiver) = oneshot::channel();
///     spawn_detached(async {
///         let _ = sender.send(4);
///     });
///     assert_eq!(receiver.await?, 4);
///     Ok::<(), oneshot::RecvError>(())
/// });
/// ```
pub trait Verdict: sealed::Sealed {
    /// Returns the error, as text, if it is one.
    #[doc(hidden)]
    fn error(self) -> Option<String>;
}

impl Verdict for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<T: Verdict, E: Debug> Verdict for Result<T, E> {
    fn error(self) -> Option<String> {
        match self {
            Ok(verdict) => verdict.error(),
            Err(error) => Some(format!("{error:?}")),
        }
    }
}

/// The output of a program that ends only by a panic or at a limit.
impl Verdict for Never {
    fn error(self) -> Option<String> {
        self
    }
}

/// The type `!`, which has no name yet on stable Rust.
type Never = <fn() -> ! as sealed::Returns>::Output;

mod sealed {
    use super::Never;

    pub trait Sealed {}

    impl Sealed for () {}
    impl<T: Sealed, E> Sealed for Result<T, E> {}
    impl Sealed for Never {}

    pub trait Returns {
        type Output;
    }

    impl<T> Returns for fn() -> T {
        type Output = T;
    }
}
