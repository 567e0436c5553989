//! The example `treehash`, run as its user runs it, against a plain single-threaded reference.
#![cfg(not(miri))]

use std::{ffi::OsStr, process};

use crate::{
    example::{assert_failed, example, text},
    prelude::*,
};

const MIB: usize = 1 << 20;
const ZEROS: [u8; 32] = [0; 32];

/// A directory of the test's own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("joint-treehash-{}-{name}", process::id()));
        fs::create_dir(&path).expect("no other process has this name");
        Self(path)
    }

    fn directory(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("directory");
        path
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).expect("file");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the system cleans its temporary folder some day.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Some of everything, the awkward included: files around each boundary of chunks, of bytes without
/// a period that a chunk could hide.
fn assorted() -> Scratch {
    let tree = Scratch::new("assorted");
    tree.directory("nested/deeper/still");
    tree.directory("empty");
    tree.file("nested/one", "1");
    tree.file("nested/deeper/two words", "2");
    tree.file("üñí©ødé", "names");
    for size in [0, 1024, MIB, 2 * MIB, 5 * MIB] {
        for size in [size, size + 1, size.saturating_sub(1)] {
            let mut content = vec![0; size];
            blake3::Hasher::new().finalize_xof().fill(&mut content);
            tree.file(&size.to_string(), content);
        }
    }
    #[cfg(unix)]
    add_unix(&tree);
    tree
}

#[cfg(unix)]
fn add_unix(tree: &Scratch) {
    use std::os::unix::{ffi::OsStrExt, fs::symlink, net::UnixListener};

    for (target, link) in [
        ("nested/one", "to a file"),
        ("nested", "to a directory"),
        (".", "nested/to itself"),
        ("nowhere", "dangling"),
    ] {
        symlink(target, tree.0.join(link)).expect("link");
    }
    symlink(OsStr::from_bytes(b"\xff"), tree.0.join("to no text")).expect("link");
    UnixListener::bind(tree.0.join("socket")).expect("socket");
    // Were it opened, that would wait for a writer.
    let mkfifo = Command::new("mkfifo").arg(tree.0.join("fifo")).status();
    if !mkfifo.is_ok_and(|status| status.success()) {
        eprintln!("no fifo in the tree: there is no mkfifo");
    }
    // Some file systems take no such names.
    if fs::write(tree.0.join(OsStr::from_bytes(b"not \xff text")), "names").is_err() {
        eprintln!("no such name in the tree: the file system refuses it");
    }
}

/// The code and the digest of `path`: one thread, whole files, no chunks.
fn plain(path: &Path) -> (u8, [u8; 32]) {
    let kind = fs::symlink_metadata(path).expect("metadata").file_type();
    if kind.is_file() {
        (b'f', blake3::hash(&fs::read(path).expect("content")).into())
    } else if kind.is_dir() {
        let mut records: Vec<_> = fs::read_dir(path).expect("a list").collect();
        records.sort_by_key(|entry| entry.as_ref().expect("an entry").file_name());
        let mut bytes = Vec::new();
        for entry in records.into_iter().flatten() {
            let (code, digest) = plain(&entry.path());
            let name = entry.file_name().into_encoded_bytes();
            bytes.push(code);
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name);
            bytes.extend(digest);
        }
        let digest = blake3::derive_key("joint treehash v1 directory", &bytes);
        (b'd', digest)
    } else if kind.is_symlink() {
        let target = fs::read_link(path).expect("a target").into_os_string();
        let target = target.into_encoded_bytes();
        (b'l', blake3::derive_key("joint treehash v1 link", &target))
    } else {
        (b'o', ZEROS)
    }
}

fn hex(digest: [u8; 32]) -> String {
    blake3::Hash::from_bytes(digest).to_string()
}

/// The status, the lines of the report by their keys, and what the program has said.
fn treehash(workers: &str, path: &OsStr) -> (Option<i32>, HashMap<String, String>, String) {
    let mut command = example("treehash");
    let output = command.args(["--workers".as_ref(), workers.as_ref(), path]);
    let output = output.output().expect("it starts");
    let pairs = text(&output.stdout).lines().map(|line| {
        let (key, value) = line.split_once(' ').expect("a key, blanks, a value");
        (key.to_owned(), value.trim_start().to_owned())
    });
    let error = text(&output.stderr).to_owned();
    (output.status.code(), pairs.collect(), error)
}

#[test]
fn the_digest_equals_the_reference_for_any_number_of_workers() {
    let tree = assorted();
    let deep = tree.directory(&"n/".repeat(400));
    fs::write(deep.join("file"), "at the bottom").expect("file");
    for path in [tree.0.clone(), tree.0.join("dangling")] {
        if fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let expected = hex(plain(&path).1);
        for workers in ["1", "2", "7"] {
            let (status, report, error) = treehash(workers, path.as_ref());
            assert_eq!((status, error.as_str()), (Some(0), ""));
            assert_eq!(report["digest"], expected, "{workers} workers");
            assert_eq!(report["workers"], workers);
        }
    }
}

#[test]
fn a_path_that_is_not_there_is_one_line_and_status_2() {
    let missing = env::temp_dir().join("joint-treehash-missing");
    let output = example("treehash").arg(&missing).output();
    let output = output.expect("it starts");
    assert_failed(&output, "treehash", missing.to_str().unwrap());
}

/// No user can read a path that is longer than the system's limit. A rename makes one: it moves one
/// half of the path below the other.
#[cfg(target_os = "linux")]
#[test]
fn an_unreadable_entry_is_reported_and_the_rest_is_hashed() {
    let tree = Scratch::new("unreadable");
    let step = format!("{}/", "long".repeat(60));
    let top = tree.directory(&format!("top/{}", step.repeat(15)));
    tree.directory(&step.repeat(10));
    fs::write(top.join("readable"), "the rest").expect("file");
    fs::rename(tree.0.join(&step), top.join("bottom")).expect("moved");

    let (status, report, error) = treehash("7", tree.0.as_ref());
    assert_eq!(status, Some(1));
    let is_named = error.starts_with("treehash: ") && error.contains("bottom");
    assert!(is_named && error.lines().count() == 1, "{error:?}");
    assert_eq!((&*report["unreadable"], &*report["files"]), ("1", "1"));
    assert_ne!(report["digest"], hex(ZEROS));
    // Files made up as they are read tell no size.
    let (status, report, error) = treehash("1", "/proc/version".as_ref());
    assert_eq!((status, &*report["digest"]), (Some(1), &*hex(ZEROS)));
    let expected = "treehash: /proc/version: has another size than it says\n";
    assert_eq!(error, expected);
}
