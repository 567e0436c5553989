//! Cases that only Unix has: links, closed files, scarce descriptors.

use std::{
    fs::{File, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
        process::CommandExt,
    },
};

use super::*;
use crate::example::pipe_without_reader;

#[test]
fn a_link_as_path_is_hashed_as_a_link() {
    let tree = Scratch::new();
    tree.directory("directory");
    for target in ["directory", "nowhere"] {
        let link = tree.path(format!("to {target}"));
        symlink(target, &link).expect("link");
        let report = report(&link, 2);
        assert_eq!(report["digest"], plain_digest(&link));
        assert_eq!(numbers(&report, ["links", "directories"]), [1, 0]);
    }
}

/// The path of `x`, which is no more.
fn removed(tree: &Scratch) -> std::path::PathBuf {
    fs::remove_file(tree.path("x")).expect("removed");
    tree.path("x")
}

/// The content of the file is the target of the link.
#[test]
fn each_kind_has_a_digest_of_its_own() {
    let tree = Scratch::new();
    symlink("target", tree.path("x")).expect("link");
    let changes: [fn(&Scratch); 3] = [
        |tree| _ = tree.file(removed(tree), "target"),
        |tree| _ = UnixListener::bind(removed(tree)).expect("socket"),
        |tree| _ = tree.directory(removed(tree)),
    ];
    assert_changes(&tree, &changes);
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

    let output = treehash([OsStr::new("--workers"), "7".as_ref(), tree.0.as_ref()]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    let is_named = error.starts_with("treehash: ") && error.contains("bottom");
    assert!(is_named && error.lines().count() == 1, "{error:?}");
    let report = parse(&output);
    assert_eq!(numbers(&report, ["unreadable", "files"]), [1, 1]);
    assert_ne!(report["digest"], hex(ZEROS));
    // Files made up as they are read tell no size.
    let output = treehash(["/proc/version"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "treehash: /proc/version: has another size than it says\n";
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(parse(&output)["digest"], hex(ZEROS));
}

#[test]
fn an_unreadable_file_and_directory_count_as_such_in_the_digest() {
    let tree = Scratch::new();
    let closed_file = tree.file("closed file", "secret");
    let closed_directory = tree.directory("closed directory");
    tree.file("open", "not secret");
    tree.file("closed directory/inside", "secret");
    let set_mode =
        |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("own");
    set_mode(&tree.0, 0o755);
    set_mode(&closed_file, 0);
    set_mode(&closed_directory, 0);

    let mut command = example("treehash");
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
    let counts = ["unreadable", "files", "directories"];
    assert_eq!(numbers(&report, counts), [2, 1, 1]);
}

/// Only large files have tasks that come back to them: none may hold on to one open file each.
#[test]
fn many_large_files_need_few_descriptors() {
    let tree = Scratch::new();
    for number in 0..200 {
        let file = File::create(tree.path(number.to_string())).expect("file");
        file.set_len(MIB as u64 + 1 + number).expect("sparse");
    }
    let treehash = example("treehash");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 32 && exec \"$@\"", "sh"]);
    shell.arg(treehash.get_program()).args(treehash.get_args());
    let output = run(shell.args(["--workers", "7"]).arg(&tree.0));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(parse(&output)["digest"], plain_digest(&tree.0));
}

#[test]
fn output_that_nobody_reads_is_no_failure_and_a_full_disk_is() {
    let tree = Scratch::new();
    let pipe = pipe_without_reader("treehash");
    let output = run(example("treehash").arg(&tree.0).stdout(pipe));
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    #[cfg(target_os = "linux")]
    {
        let full = crate::example::full_disk();
        let output = run(example("treehash").arg(&tree.0).stdout(full));
        assert_failed(&output, "treehash", "standard output: ");
    }
}
