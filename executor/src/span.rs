//! A span for each task, entered whenever its future is polled or dropped (feature `tracing`).

#[cfg(feature = "tracing")]
use alloc::vec::Vec;
use core::panic::Location;

#[cfg(feature = "tracing")]
use tracing::{
    Dispatch, Instrument, Span, debug_span, dispatcher, instrument::Instrumented, span::Id,
};

/// The largest number of spans that are left. It is larger than any number of spans that are
/// entered at once. It bounds the loop for a subscriber whose exits leave the current span
/// unchanged.
#[cfg(feature = "tracing")]
const MOST_LEFT: usize = 256;

/// A future in its task's span.
#[cfg(feature = "tracing")]
pub(super) type Traced<F> = Instrumented<F>;
/// A future.
#[cfg(not(feature = "tracing"))]
pub(super) type Traced<F> = F;

/// Puts a future into its task's span. The span has no parent, because the task outlives the code
/// that spawns it. It follows from the span in which it was spawned.
#[cfg(feature = "tracing")]
pub(super) fn traced<F>(
    future: F,
    kind: &'static str,
    name: Option<&str>,
    spawned: &'static Location<'static>,
) -> Traced<F> {
    let span = debug_span!(
        target: "joint::task",
        parent: None,
        "task",
        task.name = name,
        task.kind = kind,
        task.spawned = %spawned,
    );
    span.follows_from(Span::current());
    future.instrument(span)
}

/// Without the feature there are no spans.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(super) fn traced<F>(
    future: F,
    _kind: &'static str,
    _name: Option<&str>,
    _spawned: &'static Location<'static>,
) -> Traced<F> {
    future
}

/// The spans that a thread has left temporarily. They are entered again when this is dropped.
#[cfg(feature = "tracing")]
struct Left {
    subscriber: Dispatch,
    /// The innermost span first, each with a reference that keeps it open, because an exit may
    /// close a span.
    spans: Vec<(Id, Id)>,
}

#[cfg(feature = "tracing")]
impl Left {
    fn leave_all() -> Self {
        let mut left = Self {
            subscriber: dispatcher::get_default(Dispatch::clone),
            spans: Vec::new(),
        };
        while left.spans.len() < MOST_LEFT {
            let current = left.subscriber.current_span();
            let Some(id) = current.id() else { break };
            let kept = left.subscriber.clone_span(id);
            left.spans.push((id.clone(), kept));
            left.subscriber.exit(id);
        }
        left
    }
}

#[cfg(feature = "tracing")]
impl Drop for Left {
    fn drop(&mut self) {
        while let Some((id, kept)) = self.spans.pop() {
            self.subscriber.enter(&id);
            self.subscriber.try_close(kept);
        }
    }
}

/// Runs `f` in no span. The thread's spans are left before it and entered again after it.
#[cfg(feature = "tracing")]
pub(super) fn without_spans<R>(f: impl FnOnce() -> R) -> R {
    let _left = Left::leave_all();
    f()
}

/// Without the feature there are no spans.
#[cfg(not(feature = "tracing"))]
#[inline(always)]
pub(super) fn without_spans<R>(f: impl FnOnce() -> R) -> R {
    f()
}
