//! [`Woken`]: which children of a combinator have been woken, so that only these are polled.
//!
//! This is the combinator's side. The memory that it shares with the wakers, and the argument why
//! no wake-up is lost, are in `block.rs`.
//!
//! A few children get the waker of the task, and are all polled each time. To find out which one
//! was woken takes about 45 ns, as much as to poll two timers that have not expired.

use std::{
    mem,
    ptr::NonNull,
    task::{Context, Poll, ready},
};

use joint::{budget::Turn, waker::Registration};

use block::Block;
use joint_switch::{MODELLED, recheck};

mod block;
mod cache;

/// Up to this number, all children are polled each time. With 4 of them, three of which are timers,
/// both ways take the same time. Models race two children in the other way.
const FEW: usize = if MODELLED { 1 } else { 3 };

/// Polls the children of one combinator.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    state: State,
    turn: Turn,
}

#[derive(Debug, Default)]
enum State {
    /// Not polled yet.
    #[default]
    New,
    /// The children, which are few, wait with the waker of the task.
    Few,
    Waiting(Shared),
    /// The combinator was ready, or a child panicked.
    Ended,
}

impl Woken {
    /// Polls each child that has been woken since it was last polled, in order of their indices, or
    /// all of them if they are few. The first call polls all in any case. If `poll_child` returns
    /// an error, no other child is polled, and that error is the answer. The waker of the task has
    /// then been given up.
    ///
    /// `children` must be the same number each time.
    ///
    /// # Panics
    /// If it is called again after it was ready, or after `poll_child` panicked.
    pub(crate) fn poll<E>(
        &mut self,
        cx: &mut Context<'_>,
        children: usize,
        mut poll_child: impl FnMut(usize, &mut Context<'_>) -> Result<(), E>,
    ) -> Poll<E> {
        // With a budget that is used up, the first child that is ready would be refused, and a
        // later one might win.
        ready!(self.turn.poll_proceed(cx));
        if children <= FEW {
            return self.poll_few(|| (0..children).try_for_each(|child| poll_child(child, cx)));
        }
        // If a child panics, the state stays `Ended`, and the block is released.
        let (mut shared, is_new) = match mem::replace(&mut self.state, State::Ended) {
            State::New => (Shared::new(children), true),
            State::Waiting(shared) => (shared, false),
            State::Few | State::Ended => polled_after_the_end(),
        };
        let block = shared.block();
        let poll_one = |child| {
            let waker = block.waker(child);
            poll_child(child, &mut Context::from_waker(&waker))
        };
        let polled = match is_new {
            true => (0..children).try_for_each(poll_one),
            false => block.drain(poll_one),
        };
        if let Err(answer) = polled {
            return Poll::Ready(answer);
        }
        shared.wait(cx);
        self.state = State::Waiting(shared);
        Poll::Pending
    }

    fn poll_few<E>(&mut self, poll_all: impl FnOnce() -> Result<(), E>) -> Poll<E> {
        let (State::New | State::Few) = self.state else {
            polled_after_the_end();
        };
        // It stays so if a child panics.
        self.state = State::Ended;
        match poll_all() {
            Err(answer) => Poll::Ready(answer),
            Ok(()) => {
                self.state = State::Few;
                Poll::Pending
            }
        }
    }

    /// Ends without polling.
    ///
    /// # Panics
    /// If it has ended already.
    pub(crate) fn end(&mut self) {
        if let State::Ended = mem::replace(&mut self.state, State::Ended) {
            polled_after_the_end();
        }
    }
}

#[cold]
pub(crate) fn polled_after_the_end() -> ! {
    panic!(
        "a combinator was polled again after it was ready or had panicked; \
         do not poll it after that"
    )
}

/// The combinator's reference to its block, and its memory of the waker in it.
#[derive(Debug)]
struct Shared {
    block: NonNull<Block>,
    registered: Registration,
}

// SAFETY: what two threads can touch in a block is atomic. The functions that only the combinator
// calls are called with exclusive access to this, or by its owner.
unsafe impl Send for Shared {}
// SAFETY: nothing is done with a shared reference.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(children: usize) -> Self {
        Self {
            block: Block::new(children),
            registered: Registration::new(),
        }
    }

    fn block(&self) -> &Block {
        // SAFETY: the reference that this holds keeps the block alive.
        unsafe { self.block.as_ref() }
    }

    /// Registers the task, to be woken when a child is.
    fn wait(&mut self, cx: &mut Context<'_>) {
        if !(self.registered.is_of(cx.waker()) && self.block().has_parent()) {
            drop(self.block().register(cx.waker()));
            self.registered = Registration::of(cx.waker());
        }
        // RECHECK: wait_again. A child that was woken before the waker was there, perhaps by its
        // own poll, has woken nobody.
        if recheck!(wait_again: self.block().has_woken()) {
            cx.waker().wake_by_ref();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let parent = self.block().unregister();
        // SAFETY: the reference is given up, and this is not used again.
        unsafe { Block::release(self.block) };
        drop(parent);
    }
}
