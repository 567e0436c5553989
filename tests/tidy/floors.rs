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
            &["guard", "waker"],
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
            &["policy", "wakes"],
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
