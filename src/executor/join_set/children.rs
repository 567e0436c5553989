//! The children of a set: found by key, and linked in the order in which they came.

use alloc::sync::Arc;
use core::{
    future::Future,
    ops::Index,
    pin::Pin,
    task::{Context, Poll},
};

use slab::Slab;

use super::ready::Node;
use crate::task::{JoinError, JoinHandle, JoinResult};

/// No key: a slab cannot be that large.
const NONE: usize = usize::MAX;

/// One child, and how it will wake its set.
#[derive(Debug)]
pub(super) struct Child<T> {
    pub(super) node: Arc<Node>,
    pub(super) task: Task<T>,
}

/// What a set has of a child.
#[derive(Debug)]
pub(super) enum Task<T> {
    Running(JoinResult<T>),
    /// It had ended when it came. `None` once the result was taken.
    Ended(Option<Result<T, JoinError>>),
}

impl<T> Child<T> {
    pub(super) fn into_handle(self) -> Option<JoinHandle<T>> {
        match self.task {
            Task::Running(result) => Some(result.into_handle()),
            Task::Ended(_) => None,
        }
    }
}

/// Polls a handle, so that `node` learns of the end.
pub(super) fn poll<T>(result: &mut JoinResult<T>, node: &Arc<Node>) -> Poll<Result<T, JoinError>> {
    Pin::new(result).poll(&mut Context::from_waker(&node.waker()))
}

#[derive(Debug)]
struct Entry<T> {
    child: Child<T>,
    before: usize,
    after: usize,
}

#[derive(Debug)]
pub(super) struct Children<T> {
    entries: Slab<Entry<T>>,
    first: usize,
    last: usize,
}

impl<T> Children<T> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Slab::new(),
            first: NONE,
            last: NONE,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The key that the next child gets.
    pub(super) fn next_key(&self) -> usize {
        self.entries.vacant_key()
    }

    pub(super) fn push(&mut self, child: Child<T>) {
        let key = self.entries.insert(Entry {
            child,
            before: self.last,
            after: NONE,
        });
        *self.link_after(self.last) = key;
        self.last = key;
    }

    pub(super) fn remove(&mut self, key: usize) -> Child<T> {
        let Entry {
            child,
            before,
            after,
        } = self.entries.remove(key);
        *self.link_after(before) = after;
        *self.link_before(after) = before;
        child
    }

    /// The result of a child that has ended, which is to be removed then.
    pub(super) fn poll(&mut self, key: usize) -> Poll<Result<T, JoinError>> {
        let child = &mut self.entries[key].child;
        match &mut child.task {
            Task::Running(result) => poll(result, &child.node),
            Task::Ended(result) => match result.take() {
                Some(result) => Poll::Ready(result),
                None => unreachable!("a child was kept after its result was taken"),
            },
        }
    }

    /// Puts the result in the place of the handle, which comes back to be dropped.
    pub(super) fn end(&mut self, key: usize, result: Result<T, JoinError>) -> Task<T> {
        let task = &mut self.entries[key].child.task;
        core::mem::replace(task, Task::Ended(Some(result)))
    }

    /// Takes the one that came first.
    pub(super) fn pop(&mut self) -> Option<Child<T>> {
        (self.first != NONE).then(|| self.remove(self.first))
    }

    /// In the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Child<T>> {
        let mut next = self.first;
        core::iter::from_fn(move || {
            let entry = self.entries.get(next)?;
            next = entry.after;
            Some(&entry.child)
        })
    }

    fn link_after(&mut self, key: usize) -> &mut usize {
        match self.entries.get_mut(key) {
            Some(entry) => &mut entry.after,
            None => &mut self.first,
        }
    }

    fn link_before(&mut self, key: usize) -> &mut usize {
        match self.entries.get_mut(key) {
            Some(entry) => &mut entry.before,
            None => &mut self.last,
        }
    }
}

impl<T> Index<usize> for Children<T> {
    type Output = Child<T>;

    fn index(&self, key: usize) -> &Child<T> {
        &self.entries[key].child
    }
}
