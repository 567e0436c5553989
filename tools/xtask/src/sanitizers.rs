//! `cargo xtask tsan` and `cargo xtask asan`. Nothing is ever installed: a compiler that lacks
//! something is named with it, and the check is skipped. CONTRIBUTING.md says how to get it.

use std::path::Path;

use super::step::{Done, Step, Stop, run_all};

/// Finds a frame that was left while another thread used it. Some of these tests leak on purpose.
const LENT: &str = "detect_leaks=0:detect_stack_use_after_return=1";

/// The tests that no sanitizer runs. One measures how much of the stack is in use, which needs
/// local variables that are on the stack. One stops after each instruction, and the sanitizer's own
/// are too many. Others exit in the child of a fork, in which all memory of the parent's other
/// threads counts as leaked, limit the memory of their process, or run examples, which are not
/// built for this.
const NOT_SANITIZED: &str = "-- --skip a_helper_has_room_while_little_of_the_stack_is_in_use \
                             --skip the_exit_of_a_forked_child_cancels_nothing --skip process:: \
                             --skip fork:: --skip golden:: --skip spawn_blocking_refused:: \
                             --skip treehash:: --skip signal::stepped";

pub(crate) fn run(sanitizer: &'static str) -> Done {
    let (host, is_nightly) = compiler(sanitizer)?;
    // ThreadSanitizer would report races that are none, if std were not built for it as well.
    let (build, flags) = match sanitizer {
        "tsan" => ("-Zbuild-std", "-Zsanitizer=thread --cfg joint_tsan"),
        _ => ("", "-Zsanitizer=address"),
    };
    let step = |package, tests: &str| {
        // The target is named, so that build scripts and macros are built without the sanitizer.
        let line = format!(
            "test --package {package} --no-fail-fast --lib {tests} --target {host} \
             --target-dir target/{sanitizer} {build} {NOT_SANITIZED}"
        );
        let step = match is_nightly {
            true => Step::cargo_of("nightly", package, &line),
            // A stable compiler accepts the flags with this.
            false => Step::cargo(package, &line).env("RUSTC_BOOTSTRAP", "1"),
        };
        step.flags("RUSTFLAGS", flags)
    };
    let mut steps = vec![
        step("joint", "--test joint"),
        step("joint-executor", "--test executor").env("ASAN_OPTIONS", LENT),
    ];
    // ThreadSanitizer does not see that the kernel orders a request before its answer.
    if sanitizer == "asan" {
        steps.push(step("joint-sim", "--test sim").env("ASAN_OPTIONS", LENT));
        let ring = step("joint-ring", "--test ring").env("ASAN_OPTIONS", "detect_leaks=1");
        steps.push(ring.env("JOINT_RING_DROPS", "1000000"));
        // By its version, because the crate whose place it takes has the same name.
        let oneshot = step("oneshot@0.2.100", "--test rounds --all-features");
        steps.push(oneshot.env("JOINT_ONESHOT_ROUNDS", "1000000"));
    }
    Ok(run_all(sanitizer, steps))
}

/// The host of a compiler that has everything, and whether it is nightly's, or else the one in use.
fn compiler(sanitizer: &str) -> Result<(String, bool), Stop> {
    let mut lacks = String::new();
    for (program, before) in [("rustc", ""), ("rustup", "run nightly rustc")] {
        let ask = |what: &str| {
            let step = Step::program("", program, before);
            step.args(["--print", what]).output()
        };
        let (Ok(host), Ok(sysroot)) = (ask("host-tuple"), ask("sysroot")) else {
            lacks += &format!("\n  there is no {program} {before}");
            continue;
        };
        let (host, library) = (host.trim(), Path::new(sysroot.trim()).join("lib/rustlib"));
        // It is linked into each program. Its name has the channel too.
        let runtime = format!("_rt.{sanitizer}.a");
        let mut files = library
            .join(host)
            .join("lib")
            .read_dir()
            .into_iter()
            .flatten();
        if !files
            .any(|file| file.is_ok_and(|file| file.path().to_string_lossy().ends_with(&runtime)))
        {
            lacks += &format!("\n  {program} {before} lacks a file *{runtime}");
        } else if sanitizer == "tsan" && !library.join("src/rust/library").exists() {
            lacks += &format!("\n  {program} {before} lacks the source of std");
        } else {
            return Ok((host.to_owned(), program == "rustup"));
        }
    }
    Err(Stop::Skipped(lacks))
}
