//! What the command answers without running anything.

use std::process::Command;

#[test]
fn help_and_version_are_printed_and_wrong_words_are_code_2() {
    for (args, code, says) in [
        (&["--help"][..], Some(0), "Usage: cargo run -p course"),
        (&["-V"], Some(0), env!("CARGO_PKG_VERSION")),
        (&[], Some(2), "Usage: cargo run -p course"),
        (
            &["grade", "--frob"],
            Some(2),
            "`grade --frob` is no command",
        ),
        (
            &["grade", "fork", "x"],
            Some(2),
            "there is no homework fork",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_course"))
            .args(args)
            .output();
        let output = output.expect("the command is built");
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let found = output.status.code();
        assert!(
            found == code && printed.contains(says),
            "{args:?}: {found:?} {printed}"
        );
    }
}
