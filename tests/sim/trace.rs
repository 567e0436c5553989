//! What a run shows of itself: lanes, causes, the file for Perfetto, and the digest.

use std::{collections::BTreeMap, future::pending, time::Duration};

use joint::{
    JoinSet, TaskBuilder, block_on, oneshot,
    sim::{Builder, Scheduler, Trace},
    spawn,
    time::sleep,
    yield_now,
};

const MILLISECOND: Duration = Duration::from_millis(1);

fn named<F>(name: &'static str, future: F) -> joint::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    TaskBuilder::new().name(name).spawn(future)
}

/// A writer that sleeps and sends, and a reader that waits for it.
async fn hands_over() {
    let (sender, receiver) = oneshot::channel();
    let reader = named("reader", async move { receiver.await.unwrap() });
    let writer = named("writer", async move {
        yield_now().await;
        sleep(3 * MILLISECOND).await;
        sender.send(7).unwrap();
    });
    let never = named("never", pending::<()>());
    writer.await;
    assert_eq!(reader.await, 7);
    drop(never);
}

fn trace_of(future: impl Future<Output = ()>) -> Trace {
    let outcome = Builder::new(1)
        .scheduler(Scheduler::RoundRobin)
        .trace(true)
        .run(future);
    outcome.unwrap().trace.unwrap()
}

/// The lines of a text, without the spaces at their ends.
fn lines(text: impl ToString) -> Vec<String> {
    let text = text.to_string();
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn nothing_is_kept_unless_asked_for_and_the_digest_is_the_same() {
    let run = |trace| Builder::new(1).trace(trace).run(hands_over()).unwrap();
    let (without, with) = (run(false), run(true));
    assert!(without.trace.is_none());
    assert_eq!(without.digest, with.digest);
    assert!(with.trace.unwrap().events().len() > 10);
}

#[test]
fn lanes_show_who_spawns_wakes_and_ends_whom() {
    let trace = trace_of(hands_over());
    let expected = [
        "              main            1               2               3",
        "time # who                    reader          writer          never",
        " 0ns 1 main   ●───────────────○───────────────○───────────────○",
        " 0ns 2 task 1 │               ●               │               │",
        " 0ns 3 task 2 │               │               ↻               │",
        " 0ns 4 task 3 │               │               │               ●",
        " 0ns 5 task 2 │               │               ●               │",
        " 3ms 5 timer  ┼───────────────┼───────────────◇               │",
        " 3ms 6 task 2 ◇───────────────◇───────────────✓               │",
        " 3ms 7 task 1 │               ✓                               │",
        " 3ms 8 main   ✓───────────────────────────────────────────────⊘",
    ];
    assert_eq!(lines(trace.lanes()), expected);
}

#[test]
fn an_explanation_leads_back_to_the_beginning() {
    let trace = trace_of(hands_over());
    let expected = [
        r#"task 1 "reader" ran in step 7, at 3ms, because task 2 "writer" woke it;"#,
        r#"task 2 "writer" ran in step 6, at 3ms, because a timer of 3ms fired;"#,
        r#"task 2 "writer" had armed it in step 5, at 0ns, because it woke itself;"#,
        r#"task 2 "writer" ran in step 3, at 0ns, because main spawned it;"#,
        r#"main ran in step 1, at 0ns, because the run began"#,
    ];
    assert_eq!(lines(trace.explain_task(1).unwrap()), expected);
    assert!(trace.explain(0).is_none() && trace.explain(1000).is_none());
}

#[test]
fn a_poll_that_blocks_is_drawn_around_the_others() {
    let trace = trace_of(async {
        let (sender, receiver) = oneshot::channel();
        let blocks = named("blocks", async move { block_on(receiver).unwrap() });
        named("sends", async move { sender.send(()).unwrap() }).await;
        blocks.await;
    });
    let expected = [
        "              main    1       2",
        "time # who            blocks  sends",
        " 0ns 1 main   ●───────○───────○",
        " 0ns 2 task 1 │       ●       │",
        " 0ns 3 task 2 ◇───────┼───────✓",
        " 0ns 3 task 1 │       ✓",
        " 0ns 4 main   ✓",
    ];
    assert_eq!(lines(trace.lanes().width(40)), expected);
}

#[test]
fn of_many_tasks_those_that_ran_last_are_shown() {
    let trace = trace_of(async {
        let tasks: Vec<_> = (0..40).map(|n| spawn(sleep(n * MILLISECOND))).collect();
        for task in tasks {
            task.await;
        }
    });
    let shown = lines(trace.lanes());
    assert!(shown.iter().all(|line| line.chars().count() <= 100));
    let numbers: Vec<_> = shown[0].split_whitespace().collect();
    assert_eq!((numbers[0], numbers.last()), ("main", Some(&"40")));
    let left_out = 41 - numbers.len();
    let last = format!("{left_out} more tasks are not shown");
    assert_eq!(shown.last(), Some(&last));
    let chosen = lines(trace.lanes().tasks([3, 5]).steps(..20));
    assert_eq!(
        chosen[0].split_whitespace().collect::<Vec<_>>(),
        ["main", "3", "5"]
    );
    assert_eq!(chosen[1].matches("trace.rs:").count(), 2);
    assert_eq!(chosen.last().unwrap(), "38 more tasks are not shown");
}

#[test]
fn the_file_for_perfetto_is_json_and_its_arrows_are_paired() {
    let trace = trace_of(async {
        hands_over().await;
        let mut set = JoinSet::new();
        for n in 0..20 {
            set.spawn(sleep(n % 3 * MILLISECOND));
        }
        while set.join_next().await.is_some() {}
    });
    let mut json = Vec::new();
    trace.write_perfetto(&mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let of = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    // Microseconds with three decimals, as whole nanoseconds.
    let nanos = |value: &serde_json::Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let mut slices = BTreeMap::new();
    for slice in of("X") {
        let (begins, length) = (nanos(&slice["ts"]), nanos(&slice["dur"]));
        assert!(length > 0);
        let track = slice["tid"].as_u64().unwrap();
        let before = slices.insert((track, begins), begins + length);
        assert!(before.is_none(), "one slice at a time");
    }
    let begins_a_slice = |event: &serde_json::Value| {
        let key = (event["tid"].as_u64().unwrap(), nanos(&event["ts"]));
        slices.contains_key(&key)
    };
    let mut arrows = BTreeMap::new();
    for start in of("s") {
        assert!(begins_a_slice(start), "{start}");
        let before = arrows.insert(start["id"].as_u64().unwrap(), nanos(&start["ts"]));
        assert!(before.is_none());
    }
    assert!(arrows.len() > 40);
    for end in of("f") {
        assert!(begins_a_slice(end), "{end}");
        let start = arrows.remove(&end["id"].as_u64().unwrap()).unwrap();
        assert!(start < nanos(&end["ts"]));
    }
    assert!(arrows.is_empty());
    let names: Vec<_> = of("M").map(|event| event["args"]["name"].clone()).collect();
    assert!(names.contains(&"timers".into()) && names.contains(&"task 1 \"reader\"".into()));
}
