//! Compiles the checker that runs in the page, if this compiler can.

use super::page::axioms;
use crate::{
    size::target as target_folder,
    small::{builds_library, has_linker, step_with},
    step::{Step, run_all, say},
};

const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "z"),
    ("CARGO_PROFILE_RELEASE_STRIP", "true"),
];

/// Compiles the checker and keeps it beside the page's other parts. Without the target's library
/// the kept checker stays, and this says so. Returns the status of what failed.
pub(super) fn build() -> Option<i32> {
    let builds = match builds_library(TARGET, "libstd-") {
        Ok(builds) => builds,
        Err(why) => {
            say(&format!(
                "the checker in the page stays as it is: {TARGET}: {why}"
            ));
            return None;
        }
    };
    let folder = target_folder().join("page");
    let folder = folder.to_string_lossy();
    let built = format!("{folder}/{TARGET}/release/examples/page_checker.wasm");
    let steps = [compile(builds, &folder), axioms(&["checker", &built])];
    match run_all("lab page", &steps) {
        0 => None,
        status => Some(status),
    }
}

/// With std from its source, a panic needs no code that formats a message nobody would see.
fn compile(builds: bool, folder: &str) -> Step {
    let args = [
        "build",
        "--release",
        "--package",
        "axioms",
        "--example",
        "page_checker",
    ];
    let target = ["--target", TARGET, "--target-dir", folder];
    let small = ["-Zbuild-std-features=optimize_for_size"];
    let args = [&args[..], &target, &small[usize::from(!builds)..]].concat();
    let flags = match builds {
        true => "-Zunstable-options -Cpanic=immediate-abort",
        false => "-Cpanic=abort",
    };
    let step = step_with(builds.then_some("std"), "checker", &args)
        .flags("RUSTFLAGS", flags)
        .in_folder("verify");
    let step = PROFILE
        .into_iter()
        .fold(step, |step, (key, value)| step.env(key, value));
    match has_linker() {
        Ok(false) => step.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld"),
        _ => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn std_is_built_where_only_its_source_is_installed() {
        let built = compile(true, "folder").to_string();
        assert!(
            built.contains("-Zbuild-std=std") && built.contains("immediate-abort"),
            "{built}"
        );
        let installed = compile(false, "folder").to_string();
        assert!(
            !installed.contains("-Z") && installed.contains("-Cpanic=abort"),
            "{installed}"
        );
        assert!(installed.contains("OPT_LEVEL=z"), "{installed}");
    }
}
