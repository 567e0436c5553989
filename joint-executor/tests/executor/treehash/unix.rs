//! Cases that only Unix has: links, closed files, scarce descriptors.

use std::os::unix::fs::symlink;

use super::*;

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
