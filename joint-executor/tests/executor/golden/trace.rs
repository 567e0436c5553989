//! `trace`: its file is JSON that Perfetto can draw.

use serde_json::Value;

use super::program::{printed, run};
use crate::prelude::*;

#[test]
fn the_file_has_a_slice_for_each_run_and_an_arrow_to_each() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace.json");
    let output = run("trace", &[file.to_str().expect("UTF-8")]);
    let (runs, _) = printed(&output).split_once(" runs; ").expect("a summary");
    let runs: usize = runs.parse().expect("a number");
    let text = fs::read(&file).expect("the program has written it");
    let events: Vec<Value> = serde_json::from_slice(&text).expect("JSON");

    let micros = |event: &Value| event["ts"].as_f64().expect("a time");
    let mut open = BTreeMap::<_, Vec<&Value>>::new();
    let mut polls = 0;
    for event in &events {
        let slices = open.entry(event["tid"].as_u64()).or_default();
        match event["ph"].as_str() {
            Some("B") => {
                assert!(slices.is_empty(), "a worker runs one task at a time");
                polls += usize::from(event["name"] != "parked");
                slices.push(event);
            }
            Some("E") => {
                let begin = slices.pop().expect("each end has a beginning");
                assert!(micros(begin) <= micros(event));
            }
            _ => {}
        }
    }
    assert!(open.into_values().all(|slices| slices.is_empty()));
    assert_eq!(polls, runs);
    let times = |phase: &str| -> BTreeMap<_, _> {
        let of = events.iter().filter(|event| event["ph"] == phase);
        of.map(|event| (event["id"].as_u64(), micros(event)))
            .collect()
    };
    let (starts, ends) = (times("s"), times("f"));
    assert_eq!(ends.len(), runs);
    assert!(ends.iter().all(|(id, end)| starts[id] <= *end));
    for name in [
        "build", "file", "parse", "check", "compile", "link", "report",
    ] {
        let is_begun = |event: &Value| event["ph"] == "B" && event["name"] == name;
        assert!(events.iter().any(is_begun), "{name}");
    }
}
