//! [`Members`]: the children of a collection, and what is decided about it, under one lock.
//!
//! The lock makes each end, addition and poll one step, and so gives the ends an order. User code
//! never runs under it: a future is dropped, a waker cloned, woken or dropped before or after.
//! Otherwise a destructor that adds a child would wait for itself.

use std::{
    any::Any,
    future::Future,
    mem,
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use super::list::List;
use crate::{
    task::{Abandon, Canceller, Driver, Sink},
    waiting::poll_locked,
};
use joint_switch::{Mutex, MutexGuard};

pub(super) enum Decision<E> {
    Emptied,
    Failed(E),
    Panicked(Box<dyn Any + Send>),
}

enum Decided<E> {
    Open,
    Ready(Decision<E>),
    Returned,
}

pub(super) struct Members<E>(Mutex<Inner<E>>);

struct Inner<E> {
    children: List<Canceller>,
    decided: Decided<E>,
    waiter: Option<Waker>,
    until_empty: bool,
    /// The collection has been dropped.
    is_closed: bool,
}

impl<E> Members<E> {
    pub(super) fn new(until_empty: bool) -> Self {
        Self(Mutex::new(Inner {
            children: List::new(),
            decided: Decided::Open,
            waiter: None,
            until_empty,
            is_closed: false,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner<E>> {
        // Nothing panics under the lock but an allocation that is too large.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().children.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Decision<E>> {
        let is_decided = |inner: &Inner<E>| !matches!(inner.decided, Decided::Open);
        let inner = poll_locked(cx, || self.lock(), is_decided, |it| &mut it.waiter);
        let decided = mem::replace(&mut ready!(inner).decided, Decided::Returned);
        match decided {
            Decided::Ready(decision) => Poll::Ready(decision),
            Decided::Open | Decided::Returned => {
                panic!(
                    "a collection was polled again after it was ready; do not poll it after that"
                )
            }
        }
    }

    /// Refuses children from now on, and cancels all in the order in which they were added.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        Rest(self).cancel();
        let mut inner = self.lock();
        let waiter = inner.waiter.take();
        let decided = mem::replace(&mut inner.decided, Decided::Returned);
        drop(inner);
        drop((waiter, decided));
    }

    fn pop(&self) -> Option<Canceller> {
        self.lock().children.pop()
    }
}

impl<E: Send + 'static> Members<E> {
    pub(super) fn enter<F>(this: &Arc<Self>, future: F) -> Option<Driver<F, Member<E>>>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let mut inner = this.lock();
        if inner.is_closed {
            drop(inner);
            drop(future);
            return None;
        }
        let members = this.clone();
        let key = inner.children.next_key();
        let (driver, child, _) = Driver::pair(future, Member { members, key });
        inner.children.push(child);
        drop(inner);
        Some(driver)
    }
}

/// The children that are still to be cancelled. Dropping it cancels them, so that a destructor that
/// panics keeps none of them alive. A second panic ends the program.
struct Rest<'a, E>(&'a Members<E>);

impl<E> Rest<'_, E> {
    fn cancel(&self) {
        // A child has one handle, whose drop cancels it.
        while let Some(child) = self.0.pop() {
            drop(child);
        }
    }
}

impl<E> Drop for Rest<'_, E> {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// A child's place in the collection.
pub(super) struct Member<E> {
    members: Arc<Members<E>>,
    key: usize,
}

impl<E> Sink<Result<(), E>> for Member<E> {
    unsafe fn finish(&self, result: Result<Result<(), E>, Box<dyn Any + Send>>) {
        let mut inner = self.members.lock();
        // The collection's drop may have taken it out. The key is not another child's then, because
        // none is added any more.
        let child = inner.children.remove(self.key);
        let is_empty = inner.children.len() == 0;
        let decision = match result {
            Ok(Ok(())) => (inner.until_empty && is_empty).then_some(Decision::Emptied),
            Ok(Err(error)) => Some(Decision::Failed(error)),
            Err(payload) => Some(Decision::Panicked(payload)),
        };
        let (mut waiter, mut unused) = (None, decision);
        if unused.is_some() && matches!(inner.decided, Decided::Open) {
            if let Some(decision) = unused.take() {
                inner.decided = Decided::Ready(decision);
            }
            waiter = inner.waiter.take();
        }
        drop(inner);
        drop((child, unused));
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<E> Abandon for Member<E> {
    /// The child is counted on.
    unsafe fn abandon(&self, _: bool) {}
}
