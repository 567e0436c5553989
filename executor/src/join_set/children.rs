//! The children of a set, by their keys.

use alloc::sync::Arc;
use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::ready::Node;
use joint::task::{JoinError, JoinResult};

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
    /// Polls for the result. The caller must remove the child once it is ready.
    pub(super) fn poll(&mut self) -> Poll<Result<T, JoinError>> {
        match &mut self.task {
            Task::Running(result) => poll(result, &self.node),
            Task::Ended(result) => match result.take() {
                Some(result) => Poll::Ready(result),
                None => unreachable!("a child was kept after its result was taken"),
            },
        }
    }
}

/// Polls a handle, so that `node` learns of the end.
pub(super) fn poll<T>(result: &mut JoinResult<T>, node: &Arc<Node>) -> Poll<Result<T, JoinError>> {
    Pin::new(result).poll(&mut Context::from_waker(&node.waker()))
}
