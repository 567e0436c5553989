//! Compiles the checker that runs in the page, if this compiler can.

use std::{fs, io, path::Path, process::Command};

use super::{cargo, target, workspace};

/// The checker in the page, and beside it the hashes of the sources that it was compiled from.
pub(super) const CHECKER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../axioms/src/page/checker.wasm"
);
pub(super) const SOURCES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../axioms/src/page/checker.sources"
);

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"),
    ("CARGO_PROFILE_RELEASE_STRIP", "true"),
];

/// Compiles the checker and keeps it beside the page's other parts. Without the target's library
/// the kept checker stays, and this says so. Returns whether nothing failed.
pub(super) fn build() -> Result<bool, String> {
    let print = |what: &str| {
        let output = Command::new("rustc")
            .args(["--target", TARGET, "--print", what])
            .output();
        let output = output.map_err(|error| format!("could not start rustc: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (library, sysroot) = (print("target-libdir")?, print("sysroot")?);
    let library = fs::read_dir(library).into_iter().flatten().flatten();
    let mut library = library.map(|file| file.file_name().to_string_lossy().into_owned());
    let is_installed = library.any(|file| file.starts_with("libstd-"));
    let has_source = Path::new(&sysroot)
        .join("lib/rustlib/src/rust/library/core")
        .exists();
    if !is_installed && !has_source {
        println!(
            "the checker in the page stays as it is; to compile it: rustup target add {TARGET}"
        );
        return Ok(true);
    }
    let folder = target().join("page");
    let mut build = cargo(
        workspace(),
        "build --release -p axioms --example page_checker",
    );
    build
        .args(["--target", TARGET, "--target-dir"])
        .arg(&folder)
        .envs(PROFILE);
    match is_installed {
        true => build.env("RUSTFLAGS", "-Cpanic=abort"),
        // A panic then needs no code that formats a message nobody would see.
        false => build
            .args(["-Zbuild-std=std", "-Zbuild-std-features=optimize_for_size"])
            .env("RUSTFLAGS", "-Zunstable-options -Cpanic=immediate-abort")
            .env("RUSTC_BOOTSTRAP", "1"),
    };
    let host = print("host-tuple")?;
    if !Path::new(&format!("{sysroot}/lib/rustlib/{host}/bin/rust-lld")).exists() {
        // Debian has the compiler's linker under another name.
        build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld");
    }
    let status = build
        .status()
        .map_err(|error| format!("could not start cargo: {error}"))?;
    let built = folder
        .join(TARGET)
        .join("release/examples/page_checker.wasm");
    let keep = || {
        fs::write(CHECKER, fs::read(&built)?)?;
        fs::write(SOURCES, sources()?)
    };
    match status.success() {
        true => keep()
            .map(|()| true)
            .map_err(|error: io::Error| error.to_string()),
        false => Ok(false),
    }
}

pub(super) fn sources() -> io::Result<String> {
    axioms::page::sources(&workspace().join("axioms"))
}
