//! Generators: functions that give one value after another, and are suspended in between.
//!
//! | to | use |
//! |---|---|
//! | write a generator that awaits between its values | [`stream!`] |
//! | write one that can also fail, with `?` | [`try_stream!`] |
//! | filter, map, take, collect | [`StreamExt`] |
//! | iterate without `await` | [`blocking_iter`], or [`std::iter::from_fn`] if it is simple |
//! | lend its items, which may share one buffer | [`Slot::generate`] |
//! | return a value at its end | [`Slot::generate`]; a [`stream!`] sends it through a [`oneshot`](joint::oneshot) |
//! | generate from a stream of promises | its [`Receiver`](crate::stream::Receiver) as it is |
//!
//! The macros are those of the crate [async-stream](https://docs.rs/async-stream). The trait and
//! its methods are those of [futures-lite](https://docs.rs/futures-lite).
//!
//! # What holds
//! * A generator is lazy: nothing of its body runs before the first value is asked for.
//! * After a `yield`, the body is suspended until the next value is asked for.
//! * Between two values it may await anything.
//! * It ends with `None`, by falling off its end or by `return`. That is no error, and the values
//!   before it have all arrived.
//! * The error of a `?` in [`try_stream!`] is the last item, and `None` follows.
//! * A generator that is dropped is cancelled where it is suspended, and its destructors run.
//!
//! # Differences from Flow
//! Flow's `Generator` runs to its first `yield` when it is created, and its `AsyncGenerator`
//! reports the end as an error of the last call. Copies of an iterator share one coroutine there.
//! A stream here has one owner. `Generator<StringRef>`, whose items point into the generator, is
//! [`Slot::generate`], which is also Tao's `Generator<Yield, Return>`.
//!
//! Rejected for that: a function that takes an async closure and calls it with each item. The
//! future of a closure that borrows an item of any lifetime is not known to be `Send`, so such a
//! call cannot be part of a spawned task (rustc 1.95).
//!
//! # Example
//! ```
//! use std::{io, pin::pin, time::Duration};
//! use joint_flow::generator::{Stream, StreamExt, try_stream};
//!
//! fn lines() -> impl Stream<Item = io::Result<u32>> {
//!     try_stream! {
//!         for n in 1.. {
//!             joint_executor::time::sleep(Duration::ZERO).await;
//!             if n == 3 {
//!                 Err(io::ErrorKind::UnexpectedEof)?;
//!             }
//!             yield n;
//!         }
//!     }
//! }
//!
//! joint::block_on(async {
//!     let mut lines = pin!(lines());
//!     assert_eq!(lines.next().await.unwrap().unwrap(), 1);
//!     assert_eq!(lines.next().await.unwrap().unwrap(), 2);
//!     assert!(lines.next().await.unwrap().is_err());
//!     assert!(lines.next().await.is_none());
//! });
//! ```

mod lending;

use std::pin::Pin;

#[doc(no_inline)]
pub use async_stream::{stream, try_stream};
#[doc(no_inline)]
pub use futures_lite::stream::{Stream, StreamExt};

pub use lending::{Lender, Lending, Slot};

/// Makes an iterator of a generator.
///
/// If the body never awaits anything, this is a synchronous generator, and no call blocks.
/// Otherwise [`next`](Iterator::next) blocks the thread by [`joint::block_on`] until the next value
/// is there. On a worker, await the stream instead.
///
/// # Cost
/// One allocation.
///
/// # Example
/// ```
/// use joint_flow::generator::{blocking_iter, stream};
///
/// let fibonacci = stream! {
///     let (mut a, mut b) = (0, 1);
///     loop {
///         yield a;
///         (a, b) = (b, a + b);
///     }
/// };
/// let first: Vec<u32> = blocking_iter(fibonacci).take(8).collect();
/// assert_eq!(first, [0, 1, 1, 2, 3, 5, 8, 13]);
/// ```
pub fn blocking_iter<S: Stream>(stream: S) -> BlockingIter<S> {
    BlockingIter {
        stream: Box::pin(stream),
    }
}

/// The iterator of [`blocking_iter`].
#[must_use = "iterators do nothing unless asked for an item"]
pub struct BlockingIter<S> {
    stream: Pin<Box<S>>,
}

impl<S: Stream> Iterator for BlockingIter<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<S::Item> {
        joint::block_on(self.stream.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

debug!(<S> BlockingIter<S>);
