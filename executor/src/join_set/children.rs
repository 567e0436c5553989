//! The children of a set: found by key, and linked in the order in which they were added.

use alloc::sync::Arc;
use core::{
    future::Future,
    ops::Index,
    pin::Pin,
    task::{Context, Poll},
};

use slab::Slab;

use super::ready::Node;
use joint::task::{JoinError, JoinHandle, JoinResult};

/// Not a key, because a slab cannot be that large.
const NONE: usize = usize::MAX;

/// One child, and the node that wakes its set.
#[derive(Debug)]
pub(super) struct Child<T> {
    pub(super) node: Arc<Node>,
    pub(super) task: Task<T>,
}

/// The task of a child, as the set holds it.
#[derive(Debug)]
pub(super) enum Task<T> {
    Running(JoinResult<T>),
    /// The task had already ended when it was added. `None` once the result was taken.
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

    /// The key of the child that is added next.
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

    /// Polls for the result of a child. The caller must remove the child once it is ready.
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

    /// Replaces the handle by the result, and returns the handle for the caller to drop.
    pub(super) fn end(&mut self, key: usize, result: Result<T, JoinError>) -> Task<T> {
        let task = &mut self.entries[key].child.task;
        core::mem::replace(task, Task::Ended(Some(result)))
    }

    /// Removes the child that was added first.
    pub(super) fn pop(&mut self) -> Option<Child<T>> {
        (self.first != NONE).then(|| self.remove(self.first))
    }

    /// All children, in the order in which they were added.
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
