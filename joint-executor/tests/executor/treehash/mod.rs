//! The example `treehash`, run as its user runs it, against a plain single-threaded reference.
#![cfg(not(miri))]

mod scratch;
#[cfg(unix)]
mod unix;

use std::{ffi::OsStr, process::Output};

use self::scratch::{Scratch, assorted, content};
use crate::{
    example::{assert_failed, example, text},
    prelude::*,
};

const MIB: usize = 1 << 20;
const ZEROS: [u8; 32] = [0; 32];

fn run(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

fn treehash(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    run(example("treehash").args(arguments))
}

type Report = HashMap<String, String>;

/// The lines of a report by their keys.
fn parse(output: &Output) -> Report {
    let pairs = text(&output.stdout).lines().map(|line| {
        let (key, value) = line.split_once(' ').expect("a key, blanks, a value");
        (key.to_owned(), value.trim_start().to_owned())
    });
    pairs.collect()
}

fn report(path: &Path, workers: usize) -> Report {
    let workers = workers.to_string();
    let output = treehash([OsStr::new("--workers"), workers.as_ref(), path.as_ref()]);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    parse(&output)
}

fn digest(path: &Path) -> String {
    report(path, 2).remove("digest").expect("a line `digest`")
}

fn numbers<const N: usize>(report: &Report, keys: [&str; N]) -> [u64; N] {
    keys.map(|key| report[key].parse().expect("a number"))
}

/// The code and the digest of `path`: one thread, whole files, no chunks.
fn plain(path: &Path) -> (u8, [u8; 32]) {
    let kind = fs::symlink_metadata(path).expect("metadata").file_type();
    if kind.is_file() {
        (b'f', blake3::hash(&fs::read(path).expect("content")).into())
    } else if kind.is_dir() {
        let records = fs::read_dir(path).expect("a list").map(|entry| {
            let entry = entry.expect("an entry");
            let (code, digest) = plain(&entry.path());
            (entry.file_name().into_encoded_bytes(), code, digest)
        });
        (b'd', plain_directory(records.collect()))
    } else if kind.is_symlink() {
        let target = fs::read_link(path).expect("a target").into_os_string();
        let target = target.into_encoded_bytes();
        (b'l', blake3::derive_key("joint treehash v1 link", &target))
    } else {
        (b'o', ZEROS)
    }
}

fn plain_directory(mut records: Vec<(Vec<u8>, u8, [u8; 32])>) -> [u8; 32] {
    records.sort();
    let mut bytes = Vec::new();
    for (name, code, digest) in records {
        bytes.push(code);
        bytes.extend((name.len() as u64).to_le_bytes());
        bytes.extend(name);
        bytes.extend(digest);
    }
    blake3::derive_key("joint treehash v1 directory", &bytes)
}

fn plain_digest(path: &Path) -> String {
    hex(plain(path).1)
}

fn hex(digest: [u8; 32]) -> String {
    blake3::Hash::from_bytes(digest).to_string()
}

#[test]
fn a_path_that_is_not_there_is_one_line_and_status_2() {
    let tree = Scratch::new();
    let missing = tree.path("missing").into_os_string().into_string().unwrap();
    let cases: [(&[&str], &str); 2] = [(&[], "no PATH"), (&[&missing], &missing)];
    for (arguments, what) in cases {
        assert_failed(&treehash(arguments), "treehash", what);
    }
}

#[test]
fn the_digest_equals_the_reference_for_any_number_of_workers() {
    // Elsewhere no path may be longer than 1024 bytes.
    let depth = if cfg!(target_os = "linux") { 600 } else { 400 };
    let deep = Scratch::new();
    let deepest = deep.directory("n/".repeat(depth));
    fs::write(deepest.join("file"), "at the bottom").expect("file");
    let wide = Scratch::new();
    for number in 0..2_000 {
        wide.file(number.to_string(), number.to_string());
    }
    for tree in [assorted(), deep, wide] {
        let expected = plain_digest(&tree.0);
        for workers in [1, 2, 7] {
            let report = report(&tree.0, workers);
            assert_eq!(report["digest"], expected, "{workers} workers");
            assert_eq!(numbers(&report, ["workers"]), [workers as u64]);
        }
    }
}

#[test]
fn the_gain_of_two_workers_is_the_last_line() {
    let tree = assorted();
    let output = treehash(["--gain".as_ref(), tree.0.as_os_str()]);
    assert_eq!(text(&output.stderr), "");
    let last = text(&output.stdout).lines().last();
    let gain = last.and_then(|line| line.strip_prefix("Two workers are "));
    let gain = gain.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
    assert!(gain.is_some_and(|gain| gain > 0.0), "{last:?}");
}

#[test]
fn a_files_digest_is_the_standard_one_around_every_boundary() {
    let tree = Scratch::new();
    let around = |boundary: usize| [boundary - 1, boundary, boundary + 1];
    let sizes = [1, 1024, MIB, 2 * MIB, 3 * MIB].map(around);
    for size in sizes.into_iter().flatten() {
        let content = content(size);
        let digest = digest(&tree.file("file", &content));
        assert_eq!(digest, blake3::hash(&content).to_string(), "{size} bytes");
    }
}
