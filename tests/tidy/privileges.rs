//! The executor, the timers and the I/O have no privileges: of the layers below them they use only
//! what is public, so that an executor of another crate can do all that ours does.
//!
//! The compiler cannot hold this, because `pub(crate)` means the whole crate. Names are compared,
//! and not what they resolve to, so a `pub(crate)` item of these layers needs a name that the upper
//! layers use for nothing else.

use std::collections::BTreeMap;

use super::{lex::Kind, source::Source};

/// The layers for authors of executors.
const PUBLIC: [&str; 5] = ["completion", "oneshot", "shared", "task", "waker"];
/// The layers that must be content with what is public.
const UPPER: [&str; 3] = ["executor", "io", "time"];

fn is_of(source: &Source, layers: &[&str]) -> bool {
    source.top().is_some_and(|top| layers.contains(&&*top))
}

/// The names that the rest of the crate may use, but no other crate, each with its module.
pub(crate) fn private<'a>(
    sources: impl IntoIterator<Item = &'a Source>,
) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for source in sources {
        if !is_of(source, &PUBLIC) {
            continue;
        }
        for (at, _) in source.shipped() {
            if source.reads(at, &["pub", "(", "crate", ")"]) {
                let name = declared(source, at + 4);
                names.insert(name, source.modules().join("::"));
            }
        }
    }
    names
}

/// The name of the item whose visibility ends before a token.
fn declared(source: &Source, at: usize) -> String {
    const BEFORE: [&str; 10] = [
        "async", "const", "unsafe", "fn", "struct", "enum", "trait", "type", "static", "mod",
    ];
    let mut rest = source.tokens[at..].iter();
    let name = rest.find(|token| !BEFORE.contains(&&*token.text));
    name.map_or_else(String::new, |token| token.text.clone())
}

pub(crate) fn check(source: &Source, private: &BTreeMap<String, String>) -> Vec<String> {
    if !is_of(source, &UPPER) {
        return Vec::new();
    }
    let used = source
        .shipped()
        .filter(|(_, token)| token.kind == Kind::Ident);
    used.filter_map(|(_, token)| {
        let module = private.get(&token.text)?;
        let what = format!(
            "`{}` of `{module}` is not public; make it public with docs and an example, or do without it",
            token.text
        );
        Some(source.finding(token.line, what))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let lower = Source::new(
            "src/task/runnable.rs",
            "pub fn run() {} pub(crate) unsafe fn abort_raw() {} pub(super) fn state() {} \
             pub(crate) struct Seen; pub(crate) const ENDED: u8 = 1; \
             #[cfg(test)] mod tests { pub(crate) fn visits() {} }",
        );
        check(&Source::new(path, text), &private([&lower]))
    }

    #[test]
    fn what_is_public_may_be_used() {
        let text = "use crate::task::run; fn f() { run(); x.state(); visits() }";
        assert_eq!(findings("src/executor/mod.rs", text), [""; 0]);
    }

    #[test]
    fn what_is_not_public_is_caught() {
        for (path, text) in [
            ("src/executor/mod.rs", "use crate::task::{Seen, run};"),
            (
                "src/io/net.rs",
                "fn f() { unsafe { crate::task::abort_raw() } }",
            ),
            ("src/time/sleep.rs", "fn f(x: X) { x.abort_raw() }"),
            ("src/executor/worker/mod.rs", "const A: u8 = Task::ENDED;"),
        ] {
            let found = findings(path, text);
            assert_eq!(found.len(), 1, "{path} {text}: {found:?}");
            assert!(found[0].contains("not public"), "{found:?}");
        }
    }

    #[test]
    fn tests_and_the_layers_themselves_may_use_it() {
        for (path, text) in [
            (
                "src/executor/mod.rs",
                "#[cfg(test)] mod tests { use crate::task::Seen; }",
            ),
            ("src/shared/waiters.rs", "use crate::task::Seen;"),
            ("src/model/mod.rs", "use crate::task::Seen;"),
        ] {
            assert_eq!(findings(path, text), [""; 0]);
        }
    }
}
