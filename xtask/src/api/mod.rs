//! `cargo xtask api`: the public API of each published package, as a file that a change has to
//! update.
//!
//! It is read from the source, without types: each item that others can name, by its path, with its
//! signature. What a macro of the crate makes is written as the macro's items and its calls.

mod exports;
mod items;
mod words;

use std::{collections::BTreeSet, fs, io, path::Path};

use super::{
    package::{Package, published},
    source::Source,
    step::{root, say},
};
use exports::Crate;

/// The folder of the snapshots.
const FOLDER: &str = "api";

/// Writes the snapshots, or compares them. Returns the status to exit with.
pub(crate) fn run(check: bool) -> i32 {
    match snapshots(check) {
        Ok(differing) if differing.is_empty() => 0,
        Ok(differing) => {
            differing.iter().for_each(|line| say(line));
            say(
                "the public API differs from its snapshot: if that is intended, run `cargo xtask api` and commit the result",
            );
            1
        }
        Err(why) => {
            say(&format!("api failed: {why}"));
            1
        }
    }
}

/// Returns the differences, if they are only to be compared.
fn snapshots(check: bool) -> Result<Vec<String>, String> {
    let mut differing = Vec::new();
    for package in published()? {
        let lines = lines(&package)?;
        let file = format!("{FOLDER}/{}.txt", package.name);
        let before = fs::read_to_string(root().join(&file)).unwrap_or_default();
        if check {
            differing.extend(differences(&file, &before, &lines));
        } else {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let written = fs::create_dir_all(root().join(FOLDER));
            let written = written.and_then(|()| fs::write(root().join(&file), text));
            written.map_err(|error| format!("{file}: {error}"))?;
            say(&format!("{file}: {} items", lines.len()));
        }
    }
    Ok(differing)
}

fn differences(file: &str, before: &str, now: &BTreeSet<String>) -> Vec<String> {
    let before: BTreeSet<_> = before.lines().map(str::to_owned).collect();
    let gone = before
        .difference(now)
        .map(|line| format!("{file}: - {line}"));
    let new = now
        .difference(&before)
        .map(|line| format!("{file}: + {line}"));
    gone.chain(new).collect()
}

fn lines(package: &Package) -> Result<BTreeSet<String>, String> {
    let mut api = Crate::new(&package.name.replace('-', "_"));
    let source = package.folder.join("src");
    let added = add(&source, &source, &mut api);
    added.map_err(|error| format!("{}: {error}", source.display()))?;
    Ok(api.lines())
}

/// Adds the files of a folder in the order of their names.
fn add(root: &Path, folder: &Path, api: &mut Crate) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(root, &path, api)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let below = path.strip_prefix(root).unwrap_or(&path).with_extension("");
            let parts = below.iter().map(|part| part.to_string_lossy().into_owned());
            let module: Vec<_> = parts
                .filter(|part| part != "lib" && part != "mod")
                .collect();
            // A path tells whether the file is a test, by its last part after a slash.
            let name = path.to_string_lossy().replace('\\', "/");
            let source = Source::new(&name, &fs::read_to_string(&path)?);
            api.add(&module, items::items(&source));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The snapshot of a crate `a` with these files.
    fn api(files: &[(&[&str], &str)]) -> Vec<String> {
        let mut api = Crate::new("a");
        for (module, text) in files {
            let module: Vec<_> = module.iter().map(|&name| name.to_owned()).collect();
            api.add(&module, items::items(&Source::new("src/a.rs", text)));
        }
        api.lines().into_iter().collect()
    }

    #[test]
    fn an_item_is_named_by_its_public_paths() {
        let root = "mod b; pub mod c; mod e; pub use b::B; pub use self::c::C as D; pub use core::mem; pub use e::e;";
        let found = api(&[
            (&[], root),
            (&["b"], "pub struct B; pub struct Hidden;"),
            (&["c"], "pub struct C(pub u8, u16); pub(crate) fn f() {}"),
            (&["e"], "mod e; pub use e::e;"),
            (&["e", "e"], "pub fn e() {}"),
        ]);
        let expected = [
            "a::B: pub struct B",
            "a::D: pub use a::c::C",
            "a::c: pub mod",
            "a::c::C: pub struct C(pub u8, _)",
            "a::e: pub fn e()",
            "a::mem: pub use core::mem",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn signatures_are_on_one_line_and_have_no_bodies() {
        let text = "
            #[derive(Clone)] pub struct B<'a, T: ?Sized> { pub x: &'a T, y: u8 }
            impl<'a, T> B<'a, T> where T: Fn(u8) -> [u8; 4] + 'a {
                pub fn f(
                    mut self: &mut Self, // a comment
                    mut t: T,
                ) -> Option<(u8, &'a T)> { g(\"}\") }
                fn hidden() {}
                pub const N: usize = { 3 };
            }
            impl<T> Future for B<'_, T> { type Output = T; fn poll() {} }
            pub enum E { V, W(Vec<u8>), X { x: u8 } }
            pub trait R { fn needed(&self); fn provided(&self) {} }
            pub unsafe fn h() -> ! { loop {} }";
        let expected = [
            "a::B: #[derive(Clone)] pub struct B<'a, T: ?Sized>",
            "a::B: impl<T> Future for B<'_, T> { type Output = T }",
            "a::B::N: impl<'a, T> B<'a, T> where T: Fn(u8) -> [u8; 4] + 'a { pub const N: usize }",
            "a::B::f: impl<'a, T> B<'a, T> where T: Fn(u8) -> [u8; 4] + 'a { pub fn f(self: &mut Self, t: T) -> Option<(u8, &'a T)> }",
            "a::B::x: pub x: &'a T",
            "a::E: pub enum E",
            "a::E::V: V",
            "a::E::W: W(Vec<u8>)",
            "a::E::X: X { x: u8 }",
            "a::R: pub trait R",
            "a::R::needed: fn needed(&self)",
            "a::R::provided: fn provided(&self) { .. }",
            "a::h: pub unsafe fn h() -> !",
        ];
        assert_eq!(api(&[(&[], text)]), expected);
    }

    #[test]
    fn cfgs_are_written_and_models_are_left_out() {
        let text = "
            #[cfg(feature = \"f\")] pub mod b { pub fn f() {} }
            #[cfg(joint_loom)] pub mod model { pub fn f() {} }
            #[cfg(not(joint_loom))] pub fn g() {}
            #[cfg(test)] pub fn t() {}";
        let expected = [
            "a::b: #[cfg(feature = \"f\")] pub mod",
            "a::b::f: #[cfg(feature = \"f\")] pub fn f()",
            "a::g: pub fn g()",
        ];
        assert_eq!(api(&[(&[], text)]), expected);
    }

    #[test]
    fn what_private_traits_do_is_left_out() {
        let text = "trait Private {} pub struct B; impl Private for B {} impl Drop for B { fn drop(&mut self) {} }
            struct C; impl Drop for C { fn drop(&mut self) {} }";
        let expected = ["a::B: impl Drop for B", "a::B: pub struct B"];
        assert_eq!(api(&[(&[], text)]), expected);
    }

    #[test]
    fn a_macro_is_written_as_its_items_and_its_calls() {
        let text =
            "macro_rules! makes { ($N:ident) => { impl $N { pub fn f(&self) -> u8 { 1 } } } }
            pub struct B; makes!(B);
            once! { pub fn g(x: u8) -> u8 { x } }";
        let expected = [
            "a: makes!(B)",
            "a::B: pub struct B",
            "a::g: pub fn g(x: u8) -> u8",
            "a::makes!::f: impl $N { pub fn f(&self) -> u8 }",
        ];
        assert_eq!(api(&[(&[], text)]), expected);
    }

    #[test]
    fn a_change_is_shown_on_both_sides() {
        let now = BTreeSet::from(["a".to_owned(), "c".to_owned()]);
        assert_eq!(differences("f", "a\nb\n", &now), ["f: - b", "f: + c"]);
        assert!(differences("f", "a\nc\n", &now).is_empty());
    }
}
