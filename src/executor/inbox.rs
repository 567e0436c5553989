//! A stack of runnables that any thread pushes to and one takes all of: linked through the tasks' own words, so that it takes no
//! memory.
//!
//! A push is one exchange, repeated while other pushes come in between; taking all is one swap. No node is ever taken off
//! singly, so a node that is seen on top twice does no harm.

use core::ptr::{self, NonNull};

use crate::{
    sync::{AtomicPtr, order},
    task::Runnable,
};

pub(crate) struct Inbox<M> {
    top: AtomicPtr<()>,
    _tasks: core::marker::PhantomData<Runnable<M>>,
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> Self {
        Self {
            top: AtomicPtr::new(ptr::null_mut()),
            _tasks: core::marker::PhantomData,
        }
    }

    /// Lock-free.
    pub(crate) fn push(&self, runnable: Runnable<M>) {
        let raw = runnable.into_raw();
        // ORDERING: push_look. Relaxed: the exchange decides, and nothing is read through the value.
        let mut top = self.top.load(order!(push_look: Relaxed));
        loop {
            // SAFETY: the address came from `into_raw` above, and nobody else has it before the exchange.
            let link = unsafe { Runnable::<M>::raw_link(raw) };
            // ORDERING: link. Relaxed: published by the exchange.
            link.set(top, order!(link: Relaxed));
            // ORDERING: push, push_again. Release, with `take`: the task and its link are whole for whoever takes them. A push on
            // top of another continues that one's release sequence. On failure nothing is read through the value.
            let exchange = self.top.compare_exchange(
                top,
                raw.as_ptr(),
                order!(push: Release),
                order!(push_again: Relaxed),
            );
            match exchange {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: is_empty. Relaxed: whoever must not miss a push has a fence before this look.
        self.top.load(order!(is_empty: Relaxed)).is_null()
    }

    /// Takes all, oldest first. Wait-free but for the turning round, which visits each.
    pub(crate) fn take_all(&self) -> Chain<M> {
        if self.is_empty() {
            return Chain::new();
        }
        // ORDERING: take. Acquire, with `push`: what was pushed is whole.
        let mut left = self.top.swap(ptr::null_mut(), order!(take: Acquire));
        let mut chain = Chain::new();
        while let Some(raw) = NonNull::new(left) {
            // SAFETY: the address came from `into_raw`, and is the chain's alone from the swap on.
            let link = unsafe { Runnable::<M>::raw_link(raw) };
            // ORDERING: turn_look, turn. Relaxed: read after `take`, and nobody else has it.
            left = link.get(order!(turn_look: Relaxed));
            link.set(chain.first, order!(turn: Relaxed));
            chain.first = raw.as_ptr();
        }
        chain
    }
}

impl<M> Drop for Inbox<M> {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}

/// Runnables in a row, linked through their tasks. Those that are left when it is dropped are dropped, in order.
pub(crate) struct Chain<M> {
    first: *mut (),
    _tasks: core::marker::PhantomData<Runnable<M>>,
}

// SAFETY: it owns runnables, and nothing else.
unsafe impl<M> Send for Chain<M> where Runnable<M>: Send {}

impl<M> Chain<M> {
    pub(crate) fn new() -> Self {
        Self {
            first: ptr::null_mut(),
            _tasks: core::marker::PhantomData,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }
}

impl<M> Iterator for Chain<M> {
    type Item = Runnable<M>;

    #[inline]
    fn next(&mut self) -> Option<Runnable<M>> {
        let raw = NonNull::new(self.first)?;
        // SAFETY: the address came from `into_raw`, and is the chain's alone.
        let link = unsafe { Runnable::<M>::raw_link(raw) };
        // ORDERING: next. Relaxed: only the chain's owner has it.
        self.first = link.get(order!(next: Relaxed));
        // SAFETY: from `into_raw`, once for each link of the chain, and off the chain now.
        Some(unsafe { Runnable::from_raw(raw) })
    }
}

impl<M> Drop for Chain<M> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
