//! The floors inside each package: a module names only what lies on a lower floor. Between the
//! packages, the compiler holds it.

use std::collections::BTreeMap;

use super::{
    paths::{Path, paths},
    source::Source,
};

/// One package, and the floors of its modules from the bottom up. The modules of one floor do not
/// name one another. The modules that are listed nowhere, and `lib.rs`, are the public API, which
/// lies between the two parts. Its modules may name one another.
struct Building {
    package: &'static str,
    below: &'static [&'static [&'static str]],
    above: &'static [&'static [&'static str]],
}

const BUILDINGS: [Building; 3] = [
    Building {
        package: "",
        below: &[
            &["waker"],
            &["host"],
            &["budget"],
            &["park"],
            &["completion"],
            &["oneshot", "task"],
        ],
        above: &[],
    },
    Building {
        package: "executor",
        below: &[
            &["policy"],
            &["arrivals", "fences", "guard", "padded", "punctual", "ring"],
            &["latch", "who"],
            &[
                "deques",
                "fork_join",
                "gate",
                "inbox",
                "metrics",
                "process",
                "room",
                "sleep",
                "span",
                "task_info",
                "task_local",
                "threads",
                "times",
                "yield_now",
            ],
            &["blocking_pool", "calls", "driver", "local", "registry"],
            &["hooks"],
            &["worker"],
        ],
        above: &[&["io", "time"]],
    },
    Building {
        package: "sim",
        below: &[
            &["chance", "clock", "faults", "verdict"],
            &["disk", "reached"],
            &["disk_event"],
            &["machine"],
            &["traffic"],
            &["record"],
            &["snoozing", "tasks", "trace", "unfinished"],
            &["panicked"],
            &["failure", "scheduler"],
            &["settings"],
            &["world"],
            &["fs", "host", "inside", "net"],
            &["attempt"],
            &["check"],
            &["each_run"],
        ],
        above: &[],
    },
];

/// The floors inside the executor's `worker`, as above. What is listed nowhere, and `mod.rs`, lies
/// above all.
const WORKER: &[&[&str]] = &[
    &["shared"],
    &["help", "lent", "queues"],
    &["state"],
    &["run"],
    &["attend", "closing"],
    &["idle"],
    &["parts"],
    &["current"],
    &["end"],
    &["schedule"],
    &["launch"],
    &["start"],
    &["blocked"],
    &["thread"],
    &["stepped"],
];

/// The modules for models. They lie above all, and nothing names them.
const APART: [&str; 1] = ["model"];

impl Building {
    fn api(&self) -> usize {
        self.below.len()
    }

    fn floor(&self, module: &str) -> usize {
        let above = || on(self.above, module).map(|floor| self.api() + 1 + floor);
        on(self.below, module).or_else(above).unwrap_or(self.api())
    }
}

fn on(floors: &[&[&str]], module: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&module))
}

/// The modules that the re-exports of each package's `lib.rs` stand for.
pub(crate) struct Exports(BTreeMap<String, BTreeMap<String, String>>);

impl Exports {
    pub(crate) fn new<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Self {
        let roots = sources
            .into_iter()
            .filter(|source| source.path.ends_with("src/lib.rs"));
        let of = |lib: &Source| {
            let at_root = paths(lib).into_iter().filter(|path| path.module.is_empty());
            let module = |path: &Path| match path.in_crate() {
                Some(inner) => inner.into_iter().next(),
                None => path.segments.first().cloned(),
            };
            at_root
                .filter_map(|path| Some((path.name.clone(), module(&path)?)))
                .filter(|(name, _)| name != "*")
                .collect()
        };
        Self(roots.map(|lib| (lib.package(), of(lib))).collect())
    }

    /// The module that a path from the package's root leads to.
    fn module(&self, building: &Building, path: &[String]) -> Option<String> {
        let name = path.first()?;
        let exports = self.0.get(building.package)?;
        let exported = exports
            .get(name)
            .filter(|_| building.floor(name) == building.api());
        Some(exported.unwrap_or(name).clone())
    }
}

pub(crate) fn check(source: &Source, exports: &Exports) -> Vec<String> {
    let package = source.package();
    let building = BUILDINGS.iter().find(|one| one.package == package);
    let (Some(building), Some(from)) = (building, source.top()) else {
        return Vec::new();
    };
    if APART.contains(&from.as_str()) {
        return Vec::new();
    }
    let judge = |path: Path| {
        let to = exports.module(building, &path.in_crate()?)?;
        let (own, its) = (building.floor(&from), building.floor(&to));
        if from == to || its < own || (its == own && own == building.api()) {
            return None;
        }
        Some(finding(source, &path, &to, its == own, &from))
    };
    paths(source).into_iter().filter_map(judge).collect()
}

/// The same inside of `worker`, but for its unit tests, which use whole workers.
pub(crate) fn check_worker(source: &Source) -> Vec<String> {
    let inside = |path: &[String]| match path {
        [top, inner, ..] if top == "worker" => Some(inner.clone()),
        _ => None,
    };
    let judge = |path: Path| {
        let (from, to) = (inside(&path.module)?, inside(&path.in_crate()?)?);
        let (own, its) = (on(WORKER, &from)?, on(WORKER, &to));
        let is_below = from == to || path.in_test || its.is_some_and(|its| its < own);
        (!is_below).then(|| finding(source, &path, &to, its == Some(own), &from))
    };
    match source.package().as_str() {
        "executor" => paths(source).into_iter().filter_map(judge).collect(),
        _ => Vec::new(),
    }
}

fn finding(source: &Source, path: &Path, to: &str, is_beside: bool, from: &str) -> String {
    let relation = match is_beside {
        true => "on the floor of",
        false => "above",
    };
    let what = format!(
        "`{}`: `{to}` lies {relation} `{from}`; move the shared part down or pass it in from above",
        path.written()
    );
    source.finding(path.line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let lib = Source::new(
            "src/lib.rs",
            "pub use crate::completion::{Completion, Waiter as W};",
        );
        let executor = Source::new(
            "joint-executor/src/lib.rs",
            "pub use self::{builder::Builder, metrics::Metrics}; use worker::Local; pub struct Executor;",
        );
        check(&Source::new(path, text), &Exports::new([&lib, &executor]))
    }

    #[test]
    fn upward_is_caught() {
        for (path, text) in [
            ("src/waker.rs", "use crate::{\n completion::{Waiter}};"),
            ("src/waker.rs", "use crate::W;"),
            (
                "src/completion.rs",
                "#[cfg(test)] mod tests { use crate::task; }",
            ),
            ("joint-executor/src/sleep.rs", "use super::worker::Local;"),
            (
                "joint-executor/src/driver/keeper.rs",
                "use crate::worker::Local;",
            ),
            (
                "joint-executor/src/worker/turn.rs",
                "use super::super::join_set::JoinSet;",
            ),
            ("joint-executor/src/worker/mod.rs", "use crate::Executor;"),
            ("joint-executor/src/worker/mod.rs", "use super::Builder;"),
            (
                "joint-executor/src/registry.rs",
                "fn f() { crate::spawn() }",
            ),
            ("joint-executor/src/builder.rs", "use super::time;"),
        ] {
            let found = findings(path, text);
            assert_eq!(found.len(), 1, "{path} {text}: {found:?}");
            assert!(found[0].contains("above"), "{found:?}");
        }
    }

    #[test]
    fn the_floors_of_a_worker_hold_too() {
        let found = |path: &str, text: &str| {
            let path = format!("joint-executor/src/worker/{path}");
            check_worker(&Source::new(&path, text))
        };
        for (path, text) in [
            ("state.rs", "use super::{queues::Queues, shared};"),
            (
                "idle/steal.rs",
                "use super::share::Row; use crate::worker::state::Core;",
            ),
            ("mod.rs", "use self::stepped::Step;"),
            (
                "help.rs",
                "#[cfg(test)] mod tests { use crate::worker::Worker; }",
            ),
            ("idle/tests.rs", "use super::*; use crate::worker::Worker;"),
            ("harness.rs", "use super::Worker;"),
        ] {
            assert_eq!(found(path, text), [""; 0], "{path}");
        }
        for (path, text) in [
            ("state.rs", "use super::attend::Attendant;"),
            ("state.rs", "use super::Worker;"),
            ("queues/turn.rs", "use super::super::state::Running;"),
            ("help.rs", "fn f() { crate::worker::queues::g() }"),
        ] {
            assert_eq!(found(path, text).len(), 1, "{path} {text}");
        }
    }

    #[test]
    fn one_floor_names_nothing_of_itself() {
        for (path, text) in [
            ("src/oneshot/mod.rs", "use crate::task;"),
            ("joint-executor/src/gate.rs", "use super::sleep::Sleep;"),
            // By a re-export, too.
            ("joint-executor/src/sleep.rs", "use crate::Metrics;"),
            ("joint-executor/src/io.rs", "use crate::time::Timer;"),
        ] {
            let found = findings(path, text);
            assert_eq!(found.len(), 1, "{path}: {found:?}");
            assert!(found[0].contains("on the floor of"), "{found:?}");
        }
    }
}
