//! Snippets that break the rules, and where. What keeps a rule stands here only if the source has
//! nothing like it.

use super::{
    atomics::{raw_orderings, repeated_sites, unargued_sites, unmodelled, unreached_sites},
    finish::{
        header, length, long_names, model_cfg, unlisted_references, unproved_tags, wide_comments,
    },
    floors, names,
    source::Source,
    unguarded_loans,
};

type Rule = fn(&Source) -> Vec<String>;

/// A rule, the lines that it finds in each, and files as `path: text`.
type Row = (Rule, &'static [usize], &'static [&'static str]);

const ROWS: [Row; 19] = [
    (unmodelled, &[3, 4, 5, 6], &FOREIGN),
    (unmodelled, &[2, 4, 6, 7, 9], &[THREADS]),
    (
        unmodelled,
        &[1],
        &[
            "src/task/raw.rs: static A: core::sync::atomic::AtomicU8 = x; use core::sync;",
            "src/task/raw.rs: fn f(a: sync::atomic::AtomicU8) {}",
            "src/task/raw.rs: use core::sync::atomic::Ordering as O;",
            "src/waker.rs: thread_local! { static A: u8 = 0; }",
            "src/waker.rs: std::thread_local! {}",
        ],
    ),
    (raw_orderings, &[1, 2, 3, 4, 5, 6, 7], &[RAW]),
    // What only tests compile is exempt.
    (raw_orderings, &[2], &[RAW_IN_TESTS]),
    (of_a_page, &[1, 4], &[UNREACHED]),
    (
        unargued_sites,
        &[2],
        &[
            "src/a.rs: x\na.load(order!(poll: Acquire))",
            "src/a.rs: // ORDERING: other. Acquire, with `poll`.\na.load(order!(poll: Acquire))",
            "src/a.rs: // The order of poll.\na.load(order!(poll: Acquire))",
            "src/a.rs: x\na.load(order!(poll: Acquire))\n// ORDERING: poll. Too late.",
            "src/a.rs: // ORDERING: polls. A whole word.\na.load(order!(poll: Acquire))",
        ],
    ),
    (
        unargued_sites,
        &[10],
        &["src/a.rs: // ORDERING: poll. Too far.\n\n\n\n\n\n\n\n\na.load(order!(poll: Acquire))"],
    ),
    (repeated_sites, &[2, 2], &[REPEATED]),
    (model_cfg, &[2], &[MODEL]),
    (
        header,
        &[1],
        &[
            "src/a.rs: use a;\n//! late",
            "src/a.rs: /// an item's\nfn a() {}",
            "src/a.rs: //!\nfn a() {}",
        ],
    ),
    (
        unproved_tags,
        &[2],
        &["src/a.rs: fn f() {\n a.map_addr(|address| address | TAG)\n}"],
    ),
    (of_a_list, &[1, 8], &[REFERENCES]),
    (
        unguarded_loans,
        &[1],
        &[
            "joint-executor/src/join.rs: unsafe impl Send for Frame {}",
            "joint-executor/src/scope/mod.rs: fn f() { mem::transmute(body) }",
        ],
    ),
    (
        of_floors,
        &[2],
        &["src/waker.rs: use crate::{\n completion::{Waiter}};"],
    ),
    (
        of_floors,
        &[1],
        &[
            "src/waker.rs: use crate::W;",
            "src/completion.rs: #[cfg(test)] mod tests { use crate::task; }",
            "joint-executor/src/sleep.rs: use super::worker::Local;",
            "joint-executor/src/driver/keeper.rs: use crate::worker::Local;",
            "joint-executor/src/worker/turn.rs: use super::super::join_set::JoinSet;",
            "joint-executor/src/worker/mod.rs: use crate::Executor;",
            "joint-executor/src/registry.rs: fn f() { crate::spawn() }",
            "joint-executor/src/builder.rs: use super::time;",
            // On one floor, also by a re-export.
            "src/oneshot/mod.rs: use crate::task;",
            "joint-executor/src/sleep.rs: use crate::Metrics;",
            "joint-executor/src/io.rs: use crate::time::Timer;",
        ],
    ),
    (
        floors::check_worker,
        &[1],
        &[
            "joint-executor/src/worker/state.rs: use super::attend::Attendant;",
            "joint-executor/src/worker/state.rs: use super::Worker;",
            "joint-executor/src/worker/queues/turn.rs: use super::super::state::Running;",
            "joint-executor/src/worker/help.rs: fn f() { crate::worker::queues::g() }",
        ],
    ),
    (
        of_names,
        &[1],
        &[
            "src/task/a.rs: // Release, with `sleep::gone`.",
            "src/task/a.rs: // With `gate::found_look` (Acquire).",
            "src/task/a.rs: // See `sleep::gone()`.",
            "src/task/a.rs: // `crate::gate::found`",
            "src/task/a.rs: // As `gate.rs` says.",
            "src/task/a.rs: // (src/nap.rs has it)",
        ],
    ),
    // None: these stand in the switch, or differ in their module.
    (
        |source| [unmodelled(source), raw_orderings(source), model_cfg(source)].concat(),
        &[],
        &[
            "joint-switch/src/model.rs: #[cfg(joint_loom)] use std::sync::atomic; fence(SeqCst);",
            "joint-executor/src/worker.rs: use std::{thread, cell::UnsafeCell};",
        ],
    ),
];

const FOREIGN: [&str; 2] = [
    "src/task/raw.rs: use core::{\n fmt,\n sync::atomic::{AtomicBool,\n Ordering, fence}};\n\
     use std::sync::atomic;\nuse loom::x;",
    "joint-executor/src/queue.rs: use core::{\n fmt,\n sync::atomic::{AtomicBool,\n \
     Ordering, fence}};\nuse std::sync::atomic;\nuse loom::x;",
];
const THREADS: &str = "src/park.rs: use std::{\nthread,\ncell::{Cell,\nUnsafeCell}, \
    time::Duration};\nuse core::cell;\nfn f() { cell::UnsafeCell::new(\nstd::thread::park()) }\n\
    use std::sync::{Arc,\nMutex};";
const RAW: &str = "joint-executor/src/sleep.rs: a.load(Ordering::Acquire);\nb.store(1, Relaxed);\n\
    c.compare_exchange(1, 2, AcqRel,\nAcquire);\nuse core::sync::atomic::Ordering::{self};\n\
    fence(SeqCst);\nuse core::sync::atomic::Ordering::*;";
const RAW_IN_TESTS: &str = "src/a.rs: #[cfg(all(test, unix))] fn b([c; 2]) { fence(SeqCst) }\n\
    #[cfg(not(test))] fn d() { fence(SeqCst) }\nfn e() { /* fence(SeqCst) */ }";
const UNREACHED: &str = "src/b.rs: a.load(order!(poll: Acquire));\na.load(order!(calm: Relaxed));\n\
    recheck!(again: a > 0);\nrecheck!(never: a > 1);\n\
    #[cfg(test)] fn t() { order!(own: Acquire) }";
const REPEATED: &str = "src/a.rs: a.load(order!(poll: Acquire));\n\
    b.load(order!(poll: Acquire)); c.load(order!(poll: Acquire));\n\
    mod b { fn f() { b.load(order!(poll: Acquire)) } }";
const MODEL: &str = "src/a.rs: //! x\n#[cfg(joint_loom)]\nfn a() { joint_loom_x() }\n\
    #[cfg_attr(joint_loom, track_caller)]\nfn b() {}";
const REFERENCES: &str = "src/task/a.rs: pub struct A(Task);\nstruct B(Task);\n\
    pub enum C<M> {\n D(Runnable<M>),\n}\npub struct E(u8);\nimpl E { fn f(_: Task) {} }\n\
    pub struct F {\n task: Task,\n}";

fn of_floors(source: &Source) -> Vec<String> {
    let joint = "pub use crate::completion::{Completion, Waiter as W};";
    let executor = "pub use self::{metrics::Metrics}; use worker::Local; pub struct Executor;";
    let libs = [("", joint), ("joint-executor/", executor)];
    let libs = libs.map(|(package, text)| Source::new(&format!("{package}src/lib.rs"), text));
    floors::check(source, &floors::Exports::new(&libs))
}

fn of_names(source: &Source) -> Vec<String> {
    let sleep = "fn found() { a.load(order!(found_look: Acquire)) }";
    let sleep = Source::new("joint-executor/src/sleep.rs", sleep);
    let files = [sleep.path.clone()].into_iter();
    names::check(source, &names::Known::new([&sleep].into_iter(), files))
}

fn of_a_page(source: &Source) -> Vec<String> {
    unreached_sites(source, "| `b::again` | x |\n| `c::poll` | x |")
}

fn of_a_list(source: &Source) -> Vec<String> {
    unlisted_references(source, "[`C`]")
}

/// The lines of what a rule finds in a file.
fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    let found = rule(&Source::new(path, text));
    let line = |finding: &String| {
        let rest = finding.strip_prefix(path)?.strip_prefix(':')?;
        rest.split(':').next()?.parse().ok()
    };
    let lines = found.iter().map(line);
    lines
        .map(|line| line.expect("a finding says where"))
        .collect()
}

#[test]
fn each_rule_finds_what_breaks_it() {
    for (rule, found, files) in ROWS {
        for file in files {
            let (path, text) = file.split_once(": ").expect("a path and a text");
            assert_eq!(lines(rule, path, text), found, "{file}");
        }
    }
}

#[test]
fn only_code_counts_as_length() {
    let code = "a();\n".repeat(350);
    let free = "\n// a comment\n/// another\n#[cfg(test)]\nmod tests {\n b();\n}\n";
    for (more, found) in [("", 0), ("b();", 1), ("\"\n\n\"", 1)] {
        let text = format!("{code}{free}{more}");
        assert_eq!(lines(length, "src/a.rs", &text).len(), found, "{more}");
    }
}

#[test]
fn comments_that_are_too_wide_are_found() {
    let wide = "x".repeat(97);
    let text = format!("/// a {wide}\nfn f() {{}} \n    // b {wide}\n// {wide}");
    let rule: Rule = |source| wide_comments(&source.path, &source.text);
    assert_eq!(lines(rule, "src/a.rs", &text), [1, 3]);
    let text = format!(
        "fn {}() {{}}\n// In a fn\nfn a{}()",
        "a".repeat(60),
        "a".repeat(60)
    );
    let rule: Rule = |source| long_names(&source.path, &source.text);
    assert_eq!(lines(rule, "src/a.rs", &text), [3]);
}
