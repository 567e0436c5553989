//! Traces: what is kept of a run, and the JSON that it is written as.
#![cfg(feature = "trace")]

use std::{
    collections::BTreeMap,
    future::pending,
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

use joint::{block_on, oneshot};
use joint_executor::{Executor, Span, SpanKind, TaskBuilder, TaskEnd, Trace, spawn, yield_now};
use serde_json::Value;

fn executor(workers: usize) -> Executor {
    let builder = Executor::builder().workers(workers);
    builder.trace(100_000).build().unwrap()
}

/// Takes a trace once the run before this is in it to its end.
fn settled(executor: &Executor) -> Trace {
    for worker in 0..executor.workers() {
        block_on(executor.spawn_on(worker, async {}));
    }
    executor.trace().unwrap()
}

/// The events of the JSON.
fn events(trace: &Trace) -> Vec<Value> {
    let mut json = Vec::new();
    trace.write_to(&mut json).unwrap();
    let whole: Value = serde_json::from_slice(&json).unwrap();
    whole["traceEvents"].as_array().unwrap().clone()
}

fn runs<'a>(trace: &'a Trace, name: &str) -> Vec<Span<'a>> {
    let spans = trace.spans().filter(|span| span.label() == name);
    spans.collect()
}

fn ends(span: &Span<'_>) -> Option<TaskEnd> {
    match span.kind {
        SpanKind::Poll { end, .. } => end,
        _ => None,
    }
}

#[test]
fn without_being_asked_for_there_is_none() {
    let executor = Executor::builder().workers(1).build().unwrap();
    block_on(executor.spawn(async {}));
    assert!(executor.trace().is_none());
}

#[test]
fn each_run_of_a_task_is_a_span() {
    let executor = executor(1);
    let (line, handle) = (line!(), executor.task().name("twice").spawn(yield_now()));
    let id = handle.id();
    block_on(handle);
    let trace = settled(&executor);
    let runs = runs(&trace, "twice");
    assert_eq!(runs.len(), 2);
    assert!(runs[0].begins <= runs[0].ends && runs[0].ends <= runs[1].begins);
    assert_eq!(
        [ends(&runs[0]), ends(&runs[1])],
        [None, Some(TaskEnd::Finished)]
    );
    for (i, run) in runs.iter().enumerate() {
        let SpanKind::Poll {
            task,
            name,
            spawned,
            woken,
            open,
            ..
        } = run.kind
        else {
            panic!("not a run")
        };
        assert_eq!((task, name), (id, Some("twice")));
        assert_eq!((spawned.file(), spawned.line()), (file!(), line));
        assert_eq!((woken, open), (i == 0, false));
    }
}

#[test]
fn a_task_without_a_name_is_called_by_its_place() {
    let executor = executor(1);
    let (line, handle) = (line!(), executor.spawn(async {}));
    block_on(handle);
    let trace = settled(&executor);
    assert_eq!(runs(&trace, &format!("trace.rs:{line}")).len(), 1);
}

#[test]
fn a_run_that_has_not_ended_lasts_until_the_trace_was_taken() {
    let executor = executor(1);
    let (begins, has_begun) = mpsc::channel();
    let (sender, receiver) = mpsc::channel::<()>();
    let stuck = executor.task().name("stuck").spawn(async move {
        begins.send(()).unwrap();
        let _ = receiver.recv();
    });
    has_begun.recv().unwrap();
    let trace = executor.trace().unwrap();
    let run = &runs(&trace, "stuck")[0];
    assert!(matches!(run.kind, SpanKind::Poll { open: true, .. }));
    assert_eq!(run.ends, trace.taken());
    drop(sender);
    block_on(stuck);
}

#[test]
fn the_spans_of_a_worker_do_not_overlap() {
    let executor = executor(3);
    let inside = executor.spawn(async {
        let handles: Vec<_> = (0..500).map(|_| spawn(yield_now())).collect();
        for handle in handles {
            handle.await;
        }
    });
    block_on(inside);
    let trace = settled(&executor);
    assert_eq!(trace.workers(), 3);
    let mut last = BTreeMap::new();
    for span in trace.spans() {
        let before = last.insert(span.worker, span.ends);
        assert!(before.unwrap_or(Duration::ZERO) <= span.begins, "{span:?}");
        assert!(span.begins <= span.ends && span.ends <= trace.taken());
    }
}

#[test]
fn the_last_records_are_kept() {
    let builder = Executor::builder().workers(1).trace(50);
    let executor = builder.build().unwrap();
    for i in 0..1_000 {
        block_on(executor.task().name(format!("{i}")).spawn(async {}));
    }
    let trace = executor.trace().unwrap();
    assert!(trace.spans().count() <= 50);
    assert_eq!(runs(&trace, "0").len(), 0);
    assert_eq!(runs(&trace, "998").len(), 1);
    events(&trace);
}

#[test]
fn nothing_is_kept_when_there_is_no_room() {
    let executor = Executor::builder().workers(1).trace(0).build().unwrap();
    block_on(executor.spawn(async {}));
    assert_eq!(executor.trace().unwrap().spans().count(), 0);
}

#[test]
fn each_track_has_a_name() {
    let executor = executor(2);
    let events = events(&executor.trace().unwrap());
    let names = events.iter().filter(|event| event["name"] == "thread_name");
    let names: Vec<_> = names
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["worker 0", "worker 1", "other threads"]);
}

#[test]
fn names_are_quoted() {
    let executor = executor(1);
    let name = "a \"b\" \\ \n\t\u{1} ü";
    block_on(executor.task().name(name).spawn(async {}));
    let events = events(&settled(&executor));
    assert!(events.iter().any(|event| event["name"] == name));
}

#[test]
fn slices_say_what_came_of_the_run() {
    let executor = executor(1);
    block_on(executor.task().name("finished").spawn(async {}));
    let panics = executor
        .task()
        .name("panicked")
        .spawn(async { panic!("no") });
    assert!(block_on(panics.result()).is_err());
    let (sender, receiver) = oneshot::channel::<()>();
    let waits = executor.task().name("waits").spawn(receiver);
    block_on(executor.spawn(async {}));
    sender.send(()).unwrap();
    block_on(waits).unwrap();
    let cancelled = executor.task().name("cancelled").spawn(pending::<()>());
    block_on(executor.spawn(async {}));
    assert_eq!(block_on(cancelled.cancel()), None);
    let events = events(&settled(&executor));
    let then = |name: &str| -> Vec<_> {
        let slices = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["name"] == name);
        slices
            .map(|event| event["args"]["then"].as_str().unwrap())
            .collect()
    };
    assert_eq!(then("finished"), ["Finished"]);
    assert_eq!(then("panicked"), ["Panicked"]);
    assert_eq!(then("waits"), ["Waits", "Finished"]);
    assert_eq!(then("cancelled"), ["Waits", "Cancelled"]);
}

/// The tasks' first runs, and those after a wake-up, are where arrows lead to; and each arrow
/// begins in a slice.
#[test]
fn arrows_lead_from_spawns_and_wakes_to_runs() {
    let executor = executor(2);
    let (sender, receiver) = oneshot::channel::<()>();
    let waits = executor.task().name("waits").spawn(async move {
        TaskBuilder::new().name("inner").spawn(async {}).await;
        receiver.await.unwrap();
    });
    thread::spawn(move || sender.send(()).unwrap())
        .join()
        .unwrap();
    block_on(waits);
    let events = events(&settled(&executor));
    let number = |event: &Value, field: &str| event[field].as_f64().unwrap_or_default();
    let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    let is_in_slice = |event: &Value| {
        slices.iter().any(|slice| {
            let (at, begins) = (number(event, "ts"), number(slice, "ts"));
            let ends = begins + number(slice, "dur");
            slice["tid"] == event["tid"] && begins <= at && at <= ends
        })
    };
    let of =
        |phase: &str| -> Vec<_> { events.iter().filter(|event| event["ph"] == phase).collect() };
    let (starts, finishes) = (of("s"), of("f"));
    // Two spawns at the least, and the two of `settled`.
    assert!(
        starts
            .iter()
            .filter(|event| event["name"] == "spawn")
            .count()
            >= 4
    );
    assert_eq!(starts.len(), finishes.len());
    for start in starts {
        let finish = finishes
            .iter()
            .find(|finish| finish["id"] == start["id"])
            .unwrap();
        assert_eq!(finish["name"], start["name"]);
        assert!(number(start, "ts") <= number(finish, "ts"));
        assert!(is_in_slice(start), "{start}");
        assert!(is_in_slice(finish), "{finish}");
    }
}

#[test]
fn a_trace_can_be_taken_while_all_goes_on() {
    let executor = executor(2);
    let inside = executor.spawn(async {
        for _ in 0..5_000 {
            spawn(yield_now()).await;
        }
    });
    while !inside.is_finished() {
        events(&executor.trace().unwrap());
    }
    block_on(inside);
}

#[test]
fn an_error_of_the_writer_comes_back() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let executor = executor(1);
    let error = executor.trace().unwrap().write_to(Full).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
