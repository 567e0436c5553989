//! Writes the public API of crates, one item a line, from the JSON that rustdoc makes of them.
//!
//! `joint-api [--check] OUT.json...` writes `api/CRATE.txt` for each file, or compares it. The
//! items are those that the compiler knows, so what macros make is among them, and so are the
//! automatic traits. The statuses are 0, 1 if a text differs, and 2 if a file cannot be read.

#[path = "../../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{collections::BTreeSet, fs, path::Path, process::ExitCode};

use lexopt::Arg::{Long, Value};

const HELP: &str = "\
Writes the public API of crates, from rustdoc's JSON, into tools/api.

Usage: joint-api [--check] JSON...

  --check        say what would change, and write nothing
  -h, --help     print this
  -V, --version  print the version

Exit status: 0 nothing differs, 1 a text differs, 2 failed.
";

/// The version of rustdoc's format that `public-api` reads: that of Rust 1.95. A compiler with
/// another one cannot tell whether the API has changed, so nothing is compared then.
const FORMAT: &str = "\"format_version\":57";

/// Automatic traits that no stable program can name.
const UNSTABLE: [&str; 3] = [
    "impl core::marker::Freeze for ",
    "impl core::marker::StructuralPartialEq for ",
    "impl core::marker::UnsafeUnpin for ",
];

fn main() -> ExitCode {
    options::run("joint-api", HELP, |mut options| {
        let (mut check, mut files) = (false, Vec::new());
        while let Some(word) = options.next()? {
            match word {
                Long("check") => check = true,
                Value(json) => files.push(json),
                word => return Err(word.unexpected().into()),
            }
        }
        let mut status = 0;
        for json in &files {
            let json = Path::new(json);
            match snapshot(json, check) {
                Ok(differing) => {
                    differing.iter().for_each(|line| println!("{line}"));
                    status = status.max(u8::from(!differing.is_empty()));
                }
                Err(why) => {
                    eprintln!("{}: {why}", json.display());
                    status = 2;
                }
            }
        }
        Ok(ExitCode::from(status))
    })
}

/// Writes the text of a crate, or returns how it differs from the one that is there.
fn snapshot(json: &Path, check: bool) -> Result<Vec<String>, String> {
    let Some(items) = items(json)? else {
        let file = json.display();
        println!("{file}: skipped, because this compiler's rustdoc does not write {FORMAT}");
        return Ok(Vec::new());
    };
    let name = json.with_extension("txt");
    let name = name.file_name().ok_or("the file has no name")?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if check {
        let before = fs::read_to_string(&file).unwrap_or_default();
        return Ok(differences(&before.lines().collect::<Vec<_>>(), &items));
    }
    let text: String = items.iter().map(|item| format!("{item}\n")).collect();
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("{}: {} items", file.display(), items.len());
    Ok(Vec::new())
}

/// The items of a crate in the order of rustdoc, which has an `impl` before its items, unless its
/// format is another one.
fn items(json: &Path) -> Result<Option<Vec<String>>, String> {
    let text = fs::read_to_string(json).map_err(|error| error.to_string())?;
    if !text.contains(FORMAT) {
        return Ok(None);
    }
    let api = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true);
    let api = api.build().map_err(|error| error.to_string())?;
    let items = api.items().map(ToString::to_string);
    let items = items.filter(|item| !UNSTABLE.iter().any(|one| item.starts_with(one)));
    Ok(Some(items.collect()))
}

fn differences(before: &[&str], now: &[String]) -> Vec<String> {
    let now: BTreeSet<_> = now.iter().map(String::as_str).collect();
    let before = before.iter().copied().collect::<BTreeSet<_>>();
    let gone = before.difference(&now).map(|item| format!("- {item}"));
    let new = now.difference(&before).map(|item| format!("+ {item}"));
    gone.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_on_both_sides() {
        let now = ["a", "c"].map(str::to_owned);
        assert_eq!(differences(&["a", "b"], &now), ["- b", "+ c"]);
        assert!(differences(&["c", "a"], &now).is_empty());
    }
}
