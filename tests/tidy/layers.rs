//! Modules name only what lies below them. Unit tests are held to it too: what needs a higher layer
//! to be tested is tested through the public API.

use std::collections::BTreeMap;

use super::{
    paths::{Path, paths},
    source::Source,
};

/// From the bottom up. The modules of one layer do not name one another.
const LAYERS: [&[&str]; 7] = [
    &["sync"],
    &["waker"],
    &["completion"],
    &["oneshot", "task", "shared"],
    &["executor"],
    &["time", "io"],
    &["sim"],
];

/// How high a module of the crate's root lies.
pub(crate) fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Whether a file lies below the executor, where threads and cells are the model's.
pub(crate) fn is_below_executor(source: &Source) -> bool {
    source
        .top()
        .is_some_and(|top| layer(&top) < layer("executor"))
}

/// Where the names that `lib.rs` re-exports at the root come from.
pub(crate) fn exports(lib: &Source) -> BTreeMap<String, String> {
    let at_root = paths(lib).into_iter().filter(|path| path.module.is_empty());
    let module = |path: &Path| match path.in_crate() {
        Some(inner) => inner.into_iter().next(),
        None => path.segments.first().cloned(),
    };
    at_root
        .filter_map(|path| Some((path.name.clone(), module(&path)?)))
        .filter(|(name, _)| name != "*")
        .collect()
}

pub(crate) fn check(source: &Source, exports: &BTreeMap<String, String>) -> Vec<String> {
    let Some(from) = source.top() else {
        return Vec::new();
    };
    // What models need of the crate, and the examples of its pages. They lie above all, and nothing
    // may name them.
    if from == "model" || from == "pages" {
        return Vec::new();
    }
    if layer(&from).is_none() {
        let what = format!("`{from}` is in no layer; give it one in tests/tidy/layers.rs");
        return vec![source.finding(1, what)];
    }
    let judge = |path: Path| {
        let inner = path.in_crate()?;
        let what = judge(&from, &inner, exports)?;
        Some(source.finding(path.line, format!("`{}`: {what}", path.written())))
    };
    paths(source).into_iter().filter_map(judge).collect()
}

/// What is wrong with a module's naming a path, if anything.
fn judge(from: &str, path: &[String], exports: &BTreeMap<String, String>) -> Option<String> {
    let name = path.first().map_or("*", String::as_str);
    let to = match layer(name) {
        Some(_) => name,
        None => exports.get(name).map_or("", String::as_str),
    };
    let Some(height) = layer(to) else {
        return Some(
            "neither a module nor a re-export of lib.rs; name the module it comes from".to_owned(),
        );
    };
    let own = layer(from);
    if from == to || Some(height) < own {
        return None;
    }
    let relation = if Some(height) == own {
        "a sibling of"
    } else {
        "above"
    };
    Some(format!(
        "`{to}` lies {relation} `{from}`; move the shared part down or pass it in from above"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "mod sync; pub use crate::completion::{Completion, Waiter as W}; \
        pub use executor::Executor; mod model { pub use crate::sync::model; }";

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(
            &Source::new(path, text),
            &exports(&Source::new("src/lib.rs", LIB)),
        )
    }

    fn clean(path: &str, text: &str) {
        assert_eq!(findings(path, text), [""; 0]);
    }

    fn caught(path: &str, text: &str, line: usize, what: &str) {
        let found = findings(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = format!("{path}:{line}: ");
        assert!(
            found[0].starts_with(&start) && found[0].contains(what),
            "{found:?}"
        );
    }

    #[test]
    fn downward_is_allowed() {
        clean(
            "src/task/raw.rs",
            "use crate::{completion::Completion, sync::{order, AtomicU64}, task::state}; use super::header; \
             fn f() { crate::waker::g(super::super::W) }",
        );
        clean(
            "src/waker.rs",
            "mod park; use core::task::Waker; use park::block_on;",
        );
        clean(
            "src/task/raw.rs",
            "/// [`Executor`](crate::Executor) \n const A: &str = \"crate::executor\";",
        );
        clean("src/lib.rs", "pub use crate::executor::Executor;");
    }

    #[test]
    fn upward_is_caught() {
        caught(
            "src/waker.rs",
            "\nuse crate::{sync::order,\n completion::{Waiter}};",
            3,
            "`completion` lies above",
        );
        caught(
            "src/task/raw.rs",
            "fn f() {\n crate::executor::spawn() }",
            2,
            "`executor` lies above",
        );
        caught(
            "src/sync/model.rs",
            "use super::super::waker;",
            1,
            "`waker` lies above",
        );
        caught(
            "src/executor/mod.rs",
            "use super::time;",
            1,
            "`time` lies above",
        );
    }

    #[test]
    fn upward_in_a_unit_test_is_caught() {
        caught(
            "src/task/raw.rs",
            "#[cfg(test)] mod tests { use crate::executor; }",
            1,
            "above",
        );
    }

    #[test]
    fn siblings_are_caught() {
        caught(
            "src/oneshot/mod.rs",
            "use crate::task;",
            1,
            "a sibling of `oneshot`",
        );
        caught(
            "src/io.rs",
            "use crate::time::Timer;",
            1,
            "a sibling of `io`",
        );
    }

    #[test]
    fn exports_are_followed() {
        clean("src/oneshot.rs", "use crate::{Completion, W};");
        caught(
            "src/oneshot.rs",
            "use crate::Executor;",
            1,
            "`executor` lies above",
        );
        caught(
            "src/waker.rs",
            "use crate::W;",
            1,
            "`completion` lies above",
        );
    }

    #[test]
    fn names_from_nowhere_are_caught() {
        caught(
            "src/task.rs",
            "use crate::Unheard;",
            1,
            "neither a module nor a re-export",
        );
        caught(
            "src/task.rs",
            "use crate::*;",
            1,
            "neither a module nor a re-export",
        );
        caught(
            "src/task.rs",
            "use crate::model::x;",
            1,
            "neither a module nor a re-export",
        );
        caught("src/extra.rs", "", 1, "in no layer");
    }
}
