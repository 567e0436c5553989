//! With the feature `tracing`: each task has a span, which is entered whenever its future is polled
//! or dropped.
#![cfg(feature = "tracing")]

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::atomic::AtomicU64,
};

use tracing_core::{
    Dispatch, Event, Field, Metadata, Subscriber,
    dispatcher::with_default,
    field::Visit,
    span::{Attributes, Current, Id, Record},
};

use crate::prelude::*;

/// A span as the subscriber has seen it.
#[derive(Clone, Debug, Default)]
struct Seen {
    fields: BTreeMap<&'static str, String>,
    is_root: bool,
    metadata: Option<&'static Metadata<'static>>,
    references: usize,
    entered: usize,
    exited: usize,
    closed: bool,
}

static SPANS: Mutex<Option<HashMap<u64, Seen>>> = Mutex::new(None);
static NEXT: AtomicU64 = AtomicU64::new(1);

fn with_span<R>(id: &Id, f: impl FnOnce(&mut Seen) -> R) -> R {
    let mut spans = SPANS.lock().unwrap();
    let spans = spans.get_or_insert_default();
    f(spans.entry(id.into_u64()).or_default())
}

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<(Id, &'static Metadata<'static>)>> = const { RefCell::new(Vec::new()) };
}

/// Panics when a span is made, or notes all spans.
struct Notes {
    panics: bool,
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "joint::task"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);
        impl Visit for Fields<'_> {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                self.0.insert(field.name(), format!("{value:?}"));
            }

            fn record_str(&mut self, field: &Field, value: &str) {
                self.0.insert(field.name(), value.into());
            }
        }
        assert!(!self.panics, "a subscriber's own");
        let id = Id::from_u64(NEXT.fetch_add(1, Relaxed));
        with_span(&id, |seen| {
            span.record(&mut Fields(&mut seen.fields));
            seen.is_root = span.is_root();
            seen.metadata = Some(span.metadata());
            seen.references = 1;
        });
        id
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        let metadata = with_span(id, |seen| {
            assert!(!seen.closed);
            seen.entered += 1;
            seen.metadata
        });
        let entered = (id.clone(), metadata.unwrap());
        ENTERED.with_borrow_mut(|spans| spans.push(entered));
    }

    fn exit(&self, id: &Id) {
        with_span(id, |seen| seen.exited += 1);
        ENTERED.with_borrow_mut(|spans| {
            let last = spans.iter().rposition(|(entered, _)| entered == id);
            spans.remove(last.expect("it was entered on this thread"));
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        with_span(id, |seen| seen.references += 1);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        with_span(&id, |seen| {
            seen.references -= 1;
            seen.closed = seen.references == 0;
            seen.closed
        })
    }

    fn current_span(&self) -> Current {
        ENTERED.with_borrow(|spans| match spans.last() {
            Some((id, metadata)) => Current::new(id.clone(), metadata),
            None => Current::none(),
        })
    }
}

/// The one span of that name.
fn span(name: &str) -> Seen {
    // Whichever test comes first.
    let spans = SPANS.lock().unwrap();
    let named = |seen: &&Seen| seen.fields.get("task.name").is_some_and(|it| it == name);
    let mut spans = spans.iter().flat_map(HashMap::values).filter(named);
    let span = spans.next().unwrap().clone();
    assert!(spans.next().is_none());
    span
}

fn executor() -> Executor {
    // Only the first time: the other tests have the same one.
    let _ = tracing_core::dispatcher::set_global_default(Dispatch::new(Notes { panics: false }));
    Executor::builder().workers(2).build().unwrap()
}

#[test]
fn a_span_says_which_task_it_is() {
    let executor = executor();
    let (line, handle) = (line!(), executor.task().name("which").spawn(async {}));
    block_on(handle);
    let seen = span("which");
    assert!(seen.is_root);
    assert_eq!(seen.metadata.unwrap().name(), "runtime.spawn");
    assert_eq!(seen.fields["kind"], "normal");
    assert_eq!(seen.fields["loc.file"], file!());
    assert_eq!(seen.fields["loc.line"], line.to_string());
    assert!(seen.fields.contains_key("loc.col"));
}

#[test]
fn a_span_is_entered_for_each_poll_and_for_the_drop() {
    let executor = executor();
    block_on(executor.task().name("polled").spawn(async {
        yield_now().await;
        yield_now().await;
    }));
    let seen = span("polled");
    assert_eq!((seen.entered, seen.exited, seen.closed), (4, 4, true));
}

#[test]
fn a_span_is_closed_when_the_task_is_cancelled_or_panics() {
    let executor = executor();
    let waits = executor.task().name("cancelled").spawn(pending::<()>());
    assert_eq!(block_on(waits.cancel()), None);
    let panics = executor.task().name("panicked");
    assert!(block_on(panics.spawn(async { panic!("no") }).result()).is_err());
    assert!(span("cancelled").closed);
    let seen = span("panicked");
    assert!(seen.closed);
    assert_eq!((seen.entered, seen.exited), (2, 2));
}

#[test]
fn a_span_says_what_kind_of_task_it_is() {
    let executor = executor();
    let high = executor.task().name("a high one").priority(Priority::High);
    block_on(high.spawn(async {}));
    let pinned = executor.task().name("a pinned one").on_worker(1);
    block_on(pinned.spawn(async {}));
    block_on(executor.spawn(async {
        spawn_local(async {}).await;
        let local = TaskBuilder::new().name("a local one");
        local.spawn_local(async {}).await;
    }));
    for kind in ["high", "pinned", "local"] {
        assert_eq!(span(&format!("a {kind} one")).fields["kind"], kind);
    }
}

/// The child has not been started, so the scope has nothing to wait for.
#[test]
fn a_panic_before_a_scope_has_started_a_child_passes_on() {
    let executor = executor();
    let spawn = || executor.scope(|s| drop(s.spawn(async {})));
    let panics = Dispatch::new(Notes { panics: true });
    let with_subscriber = || with_default(&panics, spawn);
    let payload = catch_unwind(AssertUnwindSafe(with_subscriber)).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a subscriber's own"));
}
