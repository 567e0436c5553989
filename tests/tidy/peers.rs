//! Whoever builds the tests or an example of `joint` compiles none of the crates that only the
//! benches compare it with.

use std::collections::{BTreeMap, BTreeSet};

/// The dependencies that a manifest calls peers, in the comments behind them.
pub(crate) fn named(manifest: &str) -> BTreeSet<String> {
    let comments = manifest.lines().filter_map(|line| line.split_once(" # "));
    comments
        .filter(|(_, comment)| comment.contains("peer"))
        .filter_map(|(dependency, _)| dependency.split_once(" = "))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The peers among what a package of the lock file depends on, also by way of others.
pub(crate) fn reached(
    lock: &str,
    package: &str,
    peers: &BTreeSet<String>,
) -> Result<Vec<String>, String> {
    let graph = graph(lock);
    let mut seen = BTreeSet::new();
    let mut next = vec![package];
    while let Some(dependency) = next.pop() {
        let (key, dependencies) = resolved(&graph, dependency)
            .ok_or_else(|| format!("Cargo.lock has no package `{dependency}`, or several"))?;
        if seen.insert(key) {
            next.extend(dependencies);
        }
    }
    let names = seen.iter().map(|(name, _)| *name);
    let found = names.filter(|name| peers.contains(*name));
    Ok(found.map(str::to_owned).collect())
}

/// Name and version.
type Key<'a> = (&'a str, &'a str);
type Graph<'a> = BTreeMap<Key<'a>, Vec<&'a str>>;

/// The packages of a lock file, each with its dependencies as they are written there.
fn graph(lock: &str) -> Graph<'_> {
    fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
        let value = package.lines().find_map(|line| line.strip_prefix(key))?;
        Some(value.trim_matches('"'))
    }
    let packages = lock.split("[[package]]\n").skip(1);
    let of_package = |package| {
        let key = (value(package, "name = ")?, value(package, "version = ")?);
        let quoted = package.lines().filter_map(|line| line.strip_prefix(" \""));
        let dependencies = quoted.filter_map(|line| line.strip_suffix("\","));
        Some((key, dependencies.collect()))
    };
    packages.filter_map(of_package).collect()
}

/// A dependency is written with its version where there are several of its name.
fn resolved<'a, 'g>(graph: &'g Graph<'a>, dependency: &str) -> Option<(Key<'a>, &'g Vec<&'a str>)> {
    let mut words = dependency.split(' ');
    let (name, version) = (words.next()?, words.next());
    let is_meant = |key: &Key<'_>| key.0 == name && version.is_none_or(|version| key.1 == version);
    let mut found = graph.iter().filter(|(key, _)| is_meant(key));
    match (found.next(), found.next()) {
        (Some((key, dependencies)), None) => Some((*key, dependencies)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[dependencies] # of the library\na = { version = \"1\" } # the task's peer\nb = \"1\" # figures\n";

    fn lock(packages: &[(&str, &str, &[&str])]) -> String {
        let mut text = "# generated\nversion = 4\n".to_owned();
        for (name, version, dependencies) in packages {
            text += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            text += "source = \"registry\"\ndependencies = [\n";
            for dependency in *dependencies {
                text += &format!(" \"{dependency}\",\n");
            }
            text += "]\n";
        }
        text
    }

    #[test]
    fn a_peer_is_what_its_comment_calls_so() {
        assert_eq!(named(MANIFEST), BTreeSet::from(["a".to_owned()]));
    }

    #[test]
    fn a_peer_is_found_by_way_of_others() {
        let peers = named(MANIFEST);
        let by_way = lock(&[
            ("joint", "0.1.0", &["c 2.0.0"]),
            ("c", "1.0.0", &[]),
            ("c", "2.0.0", &["a", "joint"]),
            ("a", "1.0.0", &[]),
        ]);
        assert_eq!(reached(&by_way, "joint", &peers), Ok(vec!["a".to_owned()]));
    }

    #[test]
    fn peers_of_other_versions_and_packages_are_ignored() {
        let peers = named(MANIFEST);
        let apart = lock(&[
            ("joint", "0.1.0", &["c 1.0.0"]),
            ("c", "1.0.0", &[]),
            ("c", "2.0.0", &["a"]),
            ("a", "1.0.0", &[]),
            ("benches", "0.1.0", &["a", "joint"]),
        ]);
        assert_eq!(reached(&apart, "joint", &peers), Ok(Vec::new()));
    }

    #[test]
    fn a_lock_file_that_is_not_understood_is_no_pass() {
        let error = reached("", "joint", &BTreeSet::new()).expect_err("no package");
        assert!(error.contains("`joint`"), "{error}");
    }
}
