//! A span for each task, entered whenever its future is polled or dropped (feature `tracing`).

use core::{future::Future, panic::Location};

#[cfg(feature = "tracing")]
use tracing::{Instrument, Span, debug_span};

/// Puts a future into its task's span, if the feature is enabled. The span has no parent, because
/// the task outlives the code that spawns it. It follows from the span in which it was spawned.
///
/// Its name and its fields are those by which `tokio-console` knows the tasks of any runtime.
#[cfg_attr(not(feature = "tracing"), inline(always))]
pub(super) fn traced<F: Future>(
    future: F,
    kind: &'static str,
    name: Option<&str>,
    spawned: &'static Location<'static>,
) -> impl Future<Output = F::Output> + use<F> {
    #[cfg(feature = "tracing")]
    let future = future.instrument(span(kind, name, spawned));
    #[cfg(not(feature = "tracing"))]
    let _ = (kind, name, spawned);
    future
}

#[cfg(feature = "tracing")]
fn span(kind: &'static str, name: Option<&str>, spawned: &'static Location<'static>) -> Span {
    let span = debug_span!(
        target: "joint::task",
        parent: None,
        "runtime.spawn",
        task.name = name,
        kind,
        loc.file = spawned.file(),
        loc.line = spawned.line(),
        loc.col = spawned.column(),
    );
    span.follows_from(Span::current());
    span
}
