//! The floors inside `executor`: each file names only what lies on a lower one.

use std::collections::BTreeMap;

use super::{
    layers,
    paths::{Path, paths},
    source::Source,
};

/// From the bottom up. The modules of one floor do not name one another. Every module that is
/// listed nowhere, and `executor/mod.rs` itself, is part of the public API, which lies above all
/// floors and whose modules may name one another.
const FLOORS: [&[&str]; 4] = [
    &[
        "biased",
        "deques",
        "fork_join",
        "gate",
        "guard",
        "inbox",
        "metrics",
        "process",
        "room",
        "sleep",
        "span",
        "task_info",
        "task_local",
        "trace_events",
        "visitors",
        "yield_now",
    ],
    &["driver", "local", "registry", "trace"],
    &["apart", "hooks"],
    &["worker"],
];
const API: usize = FLOORS.len();

fn floor(module: &str) -> usize {
    let listed = FLOORS.iter().position(|floor| floor.contains(&module));
    listed.unwrap_or(API)
}

/// What the re-exports of `executor/mod.rs` and of `lib.rs` stand for.
pub(crate) struct Exports {
    executor: BTreeMap<String, String>,
    lib: BTreeMap<String, String>,
}

impl Exports {
    pub(crate) fn new(lib: &Source, executor: &Source) -> Self {
        let own = paths(executor)
            .into_iter()
            .filter(|path| *path.module == ["executor"]);
        let module = |path: &Path| match path.in_crate() {
            Some(inner) => inner.into_iter().nth(1),
            None => path.segments.first().cloned(),
        };
        Self {
            executor: own
                .filter_map(|path| Some((path.name.clone(), module(&path)?)))
                .collect(),
            lib: layers::exports(lib),
        }
    }

    /// The module of `executor` that a path from the crate's root leads to. `None`: it leads
    /// elsewhere, or to what `executor/mod.rs` has itself.
    fn module(&self, path: &[String]) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let name = match first.as_str() {
            "executor" => rest.first()?,
            name if self.lib.get(name).is_some_and(|from| from == "executor") => first,
            _ => return None,
        };
        let exported = self.executor.get(name).filter(|_| floor(name) == API);
        Some(exported.unwrap_or(name).clone())
    }
}

pub(crate) fn check(source: &Source, exports: &Exports) -> Vec<String> {
    let mut module = source.modules().into_iter();
    if module.next().as_deref() != Some("executor") {
        return Vec::new();
    }
    let Some(from) = module.next() else {
        return Vec::new();
    };
    let judge = |path: Path| {
        let to = exports.module(&path.in_crate()?)?;
        let (own, its) = (floor(&from), floor(&to));
        if from == to || own == API || its < own {
            return None;
        }
        let relation = match its == own {
            true => "on the floor of",
            false => "above",
        };
        let what = format!(
            "`{}`: `executor/{to}` lies {relation} `executor/{from}`; move the shared part down or pass it in from above",
            path.written()
        );
        Some(source.finding(path.line, what))
    };
    paths(source).into_iter().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "pub use executor::{Executor, spawn};";
    const EXECUTOR: &str = "pub use self::{builder::Builder, metrics::Metrics}; use worker::Local;";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let lib = Source::new("src/lib.rs", LIB);
        let executor = Source::new("src/executor/mod.rs", EXECUTOR);
        check(&Source::new(path, text), &Exports::new(&lib, &executor))
    }

    #[test]
    fn downward_is_allowed() {
        for (path, text) in [
            (
                "src/executor/worker/turn.rs",
                "use super::{Local, shared::Runnable}; use crate::executor::sleep::Parking;",
            ),
            (
                "src/executor/hooks.rs",
                "use super::{guard::guarded, trace::Recorder};",
            ),
            (
                "src/executor/scope/mod.rs",
                "use super::{Executor, Metrics, join_set::JoinSet}; use crate::executor::worker::Local;",
            ),
            (
                "src/executor/metrics.rs",
                "/// See [`m`](super::Executor::metrics).\nstruct A;",
            ),
            ("src/time/alarm.rs", "use crate::executor::worker::Local;"),
        ] {
            assert_eq!(findings(path, text), [""; 0]);
        }
    }

    #[test]
    fn upward_is_caught() {
        for (path, text) in [
            ("src/executor/sleep.rs", "use super::worker::Local;"),
            (
                "src/executor/driver/keeper.rs",
                "use crate::executor::worker::Local;",
            ),
            (
                "src/executor/worker/turn.rs",
                "use super::super::join_set::JoinSet;",
            ),
            ("src/executor/worker/mod.rs", "use crate::Executor;"),
            ("src/executor/worker/mod.rs", "use super::Builder;"),
            (
                "src/executor/registry.rs",
                "fn f() { crate::executor::spawn() }",
            ),
        ] {
            let found = findings(path, text);
            assert_eq!(found.len(), 1, "{path} {text}: {found:?}");
            assert!(found[0].contains("above"), "{found:?}");
        }
    }

    #[test]
    fn one_floor_names_nothing_of_itself() {
        let found = findings("src/executor/gate.rs", "use super::sleep::Sleep;");
        assert!(found[0].contains("on the floor of"), "{found:?}");
        // By a re-export, too.
        let found = findings("src/executor/sleep.rs", "use crate::executor::Metrics;");
        assert!(found[0].contains("on the floor of"), "{found:?}");
    }
}
