//! What the benches of runtimes share: the contestants, the rows' tools, the table and the probe of the machine.

/// A runtime's `join`, `detach` and `cancel`, for a handle whose drop cancels the task.
macro_rules! cancelled_by_drop {
    ($handle:ident) => {
        fn join<T: Send + 'static>(handle: $handle<T>) -> impl Future<Output = T> + Send {
            handle
        }

        fn detach<T: Send + 'static>(handle: $handle<T>) {
            handle.detach();
        }

        fn cancel<T: Send + 'static>(handle: $handle<T>) {
            drop(handle);
        }
    };
}

/// The same for a handle whose drop lets the task run on.
macro_rules! detached_by_drop {
    ($handle:ident) => {
        async fn join<T: Send + 'static>(handle: $handle<T>) -> T {
            handle.await.expect("no task fails")
        }

        fn detach<T: Send + 'static>(handle: $handle<T>) {
            drop(handle);
        }

        fn cancel<T: Send + 'static>(handle: $handle<T>) {
            handle.abort();
        }
    };
}

#[cfg(feature = "io")]
pub(crate) mod driven;
pub(crate) mod locals;
pub(crate) mod options;
pub(crate) mod placement;
pub(crate) mod pools;
pub(crate) mod report;
pub(crate) mod runtime;
pub(crate) mod signal;
pub(crate) mod table;
