//! Cases that only Unix has: links, fifos, closed files, scarce descriptors.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

#[cfg(target_os = "linux")]
use crate::example::full_disk;
use crate::example::pipe_without_reader;
use crate::treehash::MIB;
use crate::treehash::digest::assert_changes;
use crate::treehash::program::{assert_failed, digest, number, parse, report, run, text, treehash};
use crate::treehash::reference::{ZEROS, hex, plain_digest, plain_directory};
use crate::treehash::scratch::{Scratch, mkfifo};

#[test]
fn a_link_as_path_is_hashed_as_a_link() {
    let tree = Scratch::new();
    tree.directory("directory");
    for target in ["directory", "nowhere"] {
        let link = tree.path(format!("to {target}"));
        symlink(target, &link).expect("link");
        let report = report(&link, 2);
        assert_eq!(report["digest"], plain_digest(&link));
        let counts = ["links", "directories"].map(|key| number(&report, key));
        assert_eq!(counts, [1, 0]);
    }
}

#[test]
fn a_path_that_is_no_text() {
    let tree = Scratch::new();
    let path = tree.path(OsString::from_vec(b"\xff\xfe".to_vec()));
    assert_failed(&run([&path]), "treehash: ");
    if fs::create_dir(&path).is_ok() {
        assert_eq!(digest(&path), plain_digest(&path));
    }
}

/// The content of the file is the target of the link.
#[test]
fn each_kind_has_a_digest_of_its_own() {
    let tree = Scratch::new();
    symlink("target", tree.path("x")).expect("link");
    assert_changes(
        &tree,
        &[
            |tree| {
                tree.remove_file("x");
                tree.file("x", "target");
            },
            |tree| {
                tree.remove_file("x");
                UnixListener::bind(tree.path("x")).expect("socket");
            },
            |tree| {
                tree.remove_file("x");
                tree.directory("x");
            },
        ],
    );
}

/// Were it opened, this would wait for a writer.
#[test]
fn a_fifo_is_not_opened() {
    let tree = Scratch::new();
    if !mkfifo(&tree.path("fifo")) {
        return eprintln!("skipped: there is no mkfifo");
    }
    let report = report(&tree.0, 1);
    assert_eq!(report["digest"], plain_digest(&tree.0));
    assert_eq!(number(&report, "other"), 1);
}

/// A path longer than the system takes is unreadable for every user. It can be made by moving
/// one half of it under the other, where the limit is known.
#[cfg(target_os = "linux")]
#[test]
fn an_unreadable_entry_is_reported_and_the_rest_is_hashed() {
    let tree = Scratch::new();
    let step = format!("{}/", "long".repeat(60));
    let top = tree.directory(format!("top/{}", step.repeat(15)));
    tree.directory(step.repeat(10));
    fs::write(top.join("readable"), "the rest").expect("file");
    fs::rename(tree.path(&step), top.join("bottom")).expect("moved");

    let output = run([OsStr::new("--workers"), "7".as_ref(), tree.0.as_ref()]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.starts_with("treehash: ") && error.contains("bottom"),
        "{error:?}"
    );
    assert_eq!(error.lines().count(), 1);
    let report = parse(&output);
    let counts = ["unreadable", "files"].map(|key| number(&report, key));
    assert_eq!(counts, [1, 1]);
    assert_ne!(report["digest"], hex(ZEROS));
}

#[test]
fn an_unreadable_file_and_directory_count_as_such_in_the_digest() {
    let tree = Scratch::new();
    let closed_file = tree.file("closed file", "secret");
    let closed_directory = tree.directory("closed directory");
    tree.file("open", "not secret");
    tree.file("closed directory/inside", "secret");
    set_mode(&tree.0, 0o755);
    set_mode(&closed_file, 0);
    set_mode(&closed_directory, 0);

    let mut command = treehash();
    command.arg(&tree.0);
    if fs::metadata(&tree.0).expect("metadata").uid() == 0 {
        // Nothing is closed to root; to the user `nobody` it is.
        command.uid(65534);
    }
    let output = command.output();
    set_mode(&closed_directory, 0o755);
    let Ok(output) = output else {
        return eprintln!("skipped: `nobody` may not run the program where it lies");
    };

    assert_eq!(output.status.code(), Some(1));
    let mut errors = text(&output.stderr).lines().collect::<Vec<_>>();
    errors.sort_unstable();
    assert!(errors[0].contains("closed directory: "), "{errors:?}");
    assert!(errors[1].contains("closed file: "), "{errors:?}");
    assert_eq!(errors.len(), 2);

    let report = parse(&output);
    let expected = plain_directory(vec![
        (b"closed directory".into(), b'u', ZEROS),
        (b"closed file".into(), b'u', ZEROS),
        (b"open".into(), b'f', blake3::hash(b"not secret").into()),
    ]);
    assert_eq!(report["digest"], hex(expected));
    let counts = ["unreadable", "files", "directories"].map(|key| number(&report, key));
    assert_eq!(counts, [2, 1, 1]);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own file");
}

/// Only large files have tasks that come back to them: none may hold on to one open file each.
#[test]
fn many_large_files_need_few_descriptors() {
    let tree = Scratch::new();
    for number in 0..200 {
        let file = File::create(tree.path(number.to_string())).expect("file");
        file.set_len(MIB as u64 + 1 + number).expect("sparse");
    }
    let treehash = treehash();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 32 && exec \"$@\"", "sh"]);
    shell
        .arg(treehash.get_program())
        .args(treehash.get_args())
        .args(["--workers", "7"])
        .arg(&tree.0);
    let output = shell.output().expect("sh starts");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(parse(&output)["digest"], plain_digest(&tree.0));
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let tree = Scratch::new();
    let pipe = pipe_without_reader("treehash");
    let output = treehash().arg(&tree.0).stdout(pipe).output();
    let output = output.expect("starts");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_status_2() {
    let tree = Scratch::new();
    let output = treehash().arg(&tree.0).stdout(full_disk()).output();
    assert_failed(&output.expect("starts"), "standard output: ");
}

/// Files made up as they are read tell no size.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_another_size_than_it_says_is_unreadable() {
    let output = run(["/proc/version"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "treehash: /proc/version: has another size than it says\n"
    );
    assert_eq!(parse(&output)["digest"], hex(ZEROS));
}
