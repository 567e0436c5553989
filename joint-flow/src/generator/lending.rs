//! [`Lending`]: a generator that lends its items, and may return a value at its end.
//!
//! The body moves an item into the slot. The consumer moves it on into the generator, from which
//! it borrows it, and moves it back into the slot when it asks for the next one.

use std::{
    future::{Future, poll_fn},
    ops::ControlFlow,
    pin::Pin,
    sync::PoisonError,
    task::{Context, Poll},
};

use joint_switch::{Mutex, MutexGuard};
use pin_project_lite::pin_project;

/// The place through which a generator lends its items: see [`generate`](Slot::generate).
pub struct Slot<T>(Mutex<Content<T>>);

struct Content<T> {
    item: Option<T>,
    /// Whether the consumer has given the item back.
    is_back: bool,
}

impl<T> Slot<T> {
    /// Creates an empty slot.
    #[must_use]
    pub fn new() -> Self {
        Self(Mutex::new(Content {
            item: None,
            is_back: false,
        }))
    }

    /// Makes a generator whose items are borrowed, and whose body may return a value.
    ///
    /// The body [lends](Lender::lend) one item after another. It is suspended while the item is
    /// out, and then gets the item back, so it can use one buffer for all. It is lazy, and may
    /// await anything in between, as a [`stream!`](super::stream).
    ///
    /// # Cost
    /// No allocation. The slot has a lock, which nobody ever waits for.
    ///
    /// # Example
    /// Random strings, all in one buffer:
    /// ```
    /// use std::{ops::ControlFlow::{Break, Continue}, pin::pin};
    /// use joint_flow::generator::{Lender, Slot};
    ///
    /// async fn random_strings(mut lender: Lender<'_, String>, count: usize) -> &'static str {
    ///     let mut buffer = String::with_capacity(8);
    ///     for seed in 0..count {
    ///         buffer.clear();
    ///         buffer.extend((0..=seed % 8).map(|n| char::from(b'a' + (7 * seed + n) as u8 % 26)));
    ///         buffer = lender.lend(buffer).await;
    ///     }
    ///     "no more"
    /// }
    ///
    /// joint::block_on(async {
    ///     let mut slot = Slot::new();
    ///     let mut strings = pin!(slot.generate(|lender| random_strings(lender, 3)));
    ///     let mut all = String::new();
    ///     let last = loop {
    ///         match strings.as_mut().next().await {
    ///             Continue(text) => all += text,
    ///             Break(returned) => break returned,
    ///         }
    ///     };
    ///     assert_eq!((all.as_str(), last), ("ahiopq", "no more"));
    /// });
    /// ```
    pub fn generate<'a, F: Future>(
        &'a mut self,
        body: impl FnOnce(Lender<'a, T>) -> F,
    ) -> Lending<'a, T, F> {
        let slot = &*self;
        Lending {
            body: body(Lender { slot }),
            out: None,
            slot,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Content<T>> {
        // Nothing panics under the lock: items are dropped outside of it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, item: Option<T>, is_back: bool) -> Option<T> {
        let mut content = self.lock();
        content.is_back = is_back;
        std::mem::replace(&mut content.item, item)
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

debug!(<T> Slot<T>);

/// Lends the items of a generator, inside of its body: see [`Slot::generate`].
pub struct Lender<'a, T> {
    slot: &'a Slot<T>,
}

impl<T> Lender<'_, T> {
    /// Lends an item to the consumer, and returns it when the next one is asked for. The consumer
    /// may have changed it.
    ///
    /// If the returned future is dropped first, so is the item, and if the consumer has not seen
    /// it, it never will. Only the body may await it: elsewhere, nothing wakes it.
    ///
    /// # Example
    /// ```
    /// use std::{ops::ControlFlow::Continue, pin::pin};
    /// use joint_flow::generator::Slot;
    ///
    /// let mut slot = Slot::new();
    /// let mut counts = pin!(slot.generate(async |mut lender| {
    ///     let mut count = 0;
    ///     loop {
    ///         count = 1 + lender.lend(count).await;
    ///     }
    /// }));
    /// joint::block_on(async {
    ///     let Continue(count) = counts.as_mut().next().await else { panic!() };
    ///     *count += 10;
    ///     assert_eq!(counts.next().await, Continue::<(), _>(&mut 11));
    /// });
    /// ```
    pub async fn lend(&mut self, item: T) -> T {
        /// Takes the item out of the slot.
        struct Lent<'a, T>(&'a Slot<T>);
        impl<T> Drop for Lent<'_, T> {
            fn drop(&mut self) {
                drop(self.0.replace(None, false));
            }
        }
        let lent = Lent(self.slot);
        drop(lent.0.replace(Some(item), false));
        poll_fn(|_| {
            let mut content = lent.0.lock();
            match content.is_back {
                true => content.item.take().map_or(Poll::Pending, Poll::Ready),
                false => Poll::Pending,
            }
        })
        .await
    }
}

debug!(<T> Lender<'_, T>);

pin_project! {
    /// A generator that lends its items, and may return a value: see [`Slot::generate`]. If it is
    /// dropped, its body is cancelled where it is suspended, and its destructors run.
    #[must_use = "a generator does nothing unless asked for an item"]
    pub struct Lending<'a, T, F> {
        #[pin]
        body: F,
        out: Option<T>,
        slot: &'a Slot<T>,
    }
}

impl<T, F: Future> Lending<'_, T, F> {
    /// Waits for the next item, which may be used until the one after it is asked for, or for the
    /// value that the body returns at its end. No item is lost if this is cancelled.
    ///
    /// # Panics
    /// As the future of an `async` block does, if it is called again after the end.
    pub async fn next(mut self: Pin<&mut Self>) -> ControlFlow<F::Output, &mut T> {
        let this = self.as_mut().project();
        if let Some(item) = this.out.take() {
            drop(this.slot.replace(Some(item), true));
        }
        let end = poll_fn(|cx| self.as_mut().poll_next(cx)).await;
        match end {
            Some(returned) => ControlFlow::Break(returned),
            None => ControlFlow::Continue(self.project().out.as_mut().expect("it was lent")),
        }
    }

    /// Returns `None` if there is an item.
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let this = self.project();
        if let Poll::Ready(returned) = this.body.poll(cx) {
            return Poll::Ready(Some(returned));
        }
        let mut content = this.slot.lock();
        if !content.is_back {
            *this.out = content.item.take();
        }
        match this.out {
            Some(_) => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

debug!(<T, F> Lending<'_, T, F>);
