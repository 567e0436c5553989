//! The other toolchains that are installed, nightly above all. Nothing is ever installed: what is
//! missing is named, and the check is skipped.

use std::{path::Path, process::Command};

/// Why a check is skipped.
type Missing = String;

/// Whether the nightly toolchain has Miri, and the source that Miri builds its own std from.
pub(crate) fn for_miri() -> Result<(), Missing> {
    let source = has_source()?;
    let miri = ask(&["cargo", "miri", "--version"]).is_some();
    have(&[("miri", miri), ("rust-src", source)])
}

/// Whether there is a nightly toolchain.
pub(crate) fn is_installed() -> Result<(), Missing> {
    has_source().map(drop)
}

/// Whether there is a toolchain of this name.
pub(crate) fn has_toolchain(name: &str) -> Result<(), Missing> {
    match ask_of(name, &["rustc", "--version"]) {
        Some(_) => Ok(()),
        None => Err(format!(
            "it is not installed; to get it: rustup toolchain install {name} --profile minimal"
        )),
    }
}

fn has_source() -> Result<bool, Missing> {
    let sysroot = ask(&["rustc", "--print", "sysroot"])
        .ok_or("there is no nightly toolchain; to get one: rustup toolchain install nightly")?;
    let library = "lib/rustlib/src/rust/library";
    Ok(Path::new(sysroot.trim()).join(library).is_dir())
}

fn have(components: &[(&str, bool)]) -> Result<(), Missing> {
    let missing = components.iter().filter(|(_, there)| !there);
    let names: Vec<_> = missing.map(|&(name, _)| name).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(format!(
        "nightly lacks {}; to get it: rustup component add --toolchain nightly {}",
        names.join(" and "),
        names.join(" ")
    ))
}

/// Returns what a nightly tool prints, if it exists and succeeds.
fn ask(tool: &[&str]) -> Option<String> {
    ask_of("nightly", tool)
}

fn ask_of(toolchain: &str, tool: &[&str]) -> Option<String> {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain]).args(tool);
    command.env_remove("CARGO").env("RUSTUP_AUTO_INSTALL", "0");
    let output = command.output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_component_is_reported_with_its_install_command() {
        assert_eq!(have(&[("a", true), ("b", true)]), Ok(()));
        let why = have(&[("a", false), ("b", true), ("c", false)]).expect_err("a and c");
        assert!(why.starts_with("nightly lacks a and c;"), "{why}");
        assert!(
            why.ends_with("rustup component add --toolchain nightly a c"),
            "{why}"
        );
    }
}
