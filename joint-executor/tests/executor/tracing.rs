//! With the feature `tracing`: each task has a span, which is entered whenever its future is polled
//! or dropped.
#![cfg(feature = "tracing")]

use std::fmt::Debug;

use tracing_core::{
    Dispatch, Event, Field, Metadata, Subscriber,
    dispatcher::with_default,
    field::Visit,
    span::{Attributes, Id, Record},
};

use crate::prelude::*;

/// A span as the subscriber has seen it.
#[derive(Clone, Debug, Default)]
struct Seen {
    fields: BTreeMap<&'static str, String>,
    is_root: bool,
    name: &'static str,
    references: usize,
    entered: usize,
    exited: usize,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.into());
    }
}

thread_local! {
    /// The spans in which this thread is, the innermost one last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

static SPANS: Mutex<BTreeMap<u64, Seen>> = Mutex::new(BTreeMap::new());

fn with_span<R>(id: &Id, f: impl FnOnce(&mut Seen) -> R) -> R {
    f(SPANS.lock().unwrap().get_mut(&id.into_u64()).unwrap())
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
        assert!(!self.panics, "a subscriber's own");
        let mut seen = Seen {
            is_root: span.is_root(),
            name: span.metadata().name(),
            references: 1,
            ..Seen::default()
        };
        span.record(&mut seen);
        let mut spans = SPANS.lock().unwrap();
        let id = spans.len() as u64 + 1;
        spans.insert(id, seen);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        with_span(id, |seen| {
            assert!(seen.references > 0, "it is closed");
            seen.entered += 1;
        });
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        with_span(id, |seen| seen.exited += 1);
        let innermost = ENTERED.with_borrow_mut(Vec::pop);
        assert_eq!(innermost, Some(id.into_u64()));
    }

    fn clone_span(&self, id: &Id) -> Id {
        with_span(id, |seen| seen.references += 1);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        with_span(&id, |seen| {
            seen.references -= 1;
            seen.references == 0
        })
    }
}

/// The one span of that name.
fn span(name: &str) -> Seen {
    let spans = SPANS.lock().unwrap();
    let named = |seen: &&Seen| seen.fields.get("task.name").is_some_and(|it| it == name);
    let mut spans = spans.values().filter(named);
    let span = spans.next().unwrap().clone();
    assert!(spans.next().is_none());
    span
}

/// The name of the task whose span this thread is in.
fn current() -> Option<String> {
    let innermost = ENTERED.with_borrow(|entered| entered.last().copied())?;
    let fields = with_span(&Id::from_u64(innermost), |seen| seen.fields.clone());
    fields.get("task.name").cloned()
}

fn executor() -> Executor {
    // Only the first time: the other tests have the same one.
    let _ = tracing_core::dispatcher::set_global_default(Dispatch::new(Notes { panics: false }));
    crate::common::executor(2)
}

#[test]
fn a_span_says_which_task_it_is() {
    let executor = executor();
    let (line, handle) = (line!(), executor.task().name("which").spawn(async {}));
    block_on(handle);
    let seen = span("which");
    assert!(seen.is_root);
    assert_eq!(seen.name, "runtime.spawn");
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
    assert_eq!((seen.entered, seen.exited, seen.references), (4, 4, 0));
}

#[test]
fn a_span_is_closed_when_the_task_is_cancelled_or_panics() {
    let executor = executor();
    let waits = executor.task().name("cancelled").spawn(pending::<()>());
    assert_eq!(block_on(waits.cancel()), None);
    let panics = executor.task().name("panicked");
    assert!(block_on(panics.spawn(async { panic!("no") }).result()).is_err());
    assert_eq!(span("cancelled").references, 0);
    let seen = span("panicked");
    assert_eq!((seen.entered, seen.exited, seen.references), (2, 2, 0));
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

/// Starts tasks inside of each other, two more than may nest on a stack. Each third one panics.
fn start(place: &'static str, depth: usize, started: mpsc::Sender<(usize, JoinHandle<()>)>) {
    let (outer, own) = (current(), Some(format!("{place}, {depth}")));
    let (task, inner) = (
        TaskBuilder::new().name(own.clone().unwrap()),
        started.clone(),
    );
    let task = task.spawn_now(async move {
        assert_eq!(current(), own);
        if depth < 18 {
            start(place, depth + 1, inner);
        }
        assert_eq!(current(), own);
        assert!(depth % 3 != 0, "each third one");
    });
    assert_eq!(current(), outer);
    started.send((depth, task)).unwrap();
}

#[test]
fn a_start_is_in_its_own_span_and_its_spawner_in_its_own_again() {
    let executor = executor();
    let (sender, on_worker) = mpsc::channel();
    let spawner = executor.task().name("spawner").spawn(async {
        start("on a worker", 1, sender);
        assert_eq!(current().as_deref(), Some("spawner"));
    });
    block_on(spawner);
    let (sender, outside) = mpsc::channel();
    executor.enter(|| start("outside", 1, sender));
    for (place, started) in [("on a worker", on_worker), ("outside", outside)] {
        let ended = started.into_iter().map(|(depth, task)| {
            match block_on(task.result()) {
                Ok(()) => assert_ne!(depth % 3, 0),
                Err(error) => assert!(error.to_string().ends_with("each third one"), "{error}"),
            }
            assert_eq!(span(&format!("{place}, {depth}")).references, 0);
        });
        assert_eq!(ended.count(), 18);
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
