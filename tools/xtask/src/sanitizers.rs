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
        let ask = |line: &str| {
            Step::program("", program, before)
                .args(line.split(' '))
                .output()
        };
        let (Ok(version), Ok(sysroot)) = (ask("-vV"), ask("--print sysroot")) else {
            lacks += &format!("\n  there is no {program} {before}");
            continue;
        };
        let (host, needed) = needed(sanitizer, &version, sysroot.trim());
        match needed.iter().find(|path| !Path::new(path).exists()) {
            None => return Ok((host, program == "rustup")),
            Some(path) => lacks += &format!("\n  {program} {before} lacks {path}"),
        }
    }
    Err(Stop::Skipped(lacks))
}

/// The host, and the files that the compiler needs: the runtime, which is linked into each program,
/// and the source of std.
fn needed(sanitizer: &str, version: &str, sysroot: &str) -> (String, Vec<String>) {
    let line = |key| version.lines().find_map(|line| line.strip_prefix(key));
    let (host, release) = (line("host: "), line("release: "));
    let (host, release) = (host.unwrap_or_default(), release.unwrap_or_default());
    let mut channels = ["nightly", "beta", "dev"].into_iter();
    let channel = channels
        .find(|name| release.contains(name))
        .unwrap_or("stable");
    let library = format!("{sysroot}/lib/rustlib");
    let runtime = format!("{library}/{host}/lib/librustc-{channel}_rt.{sanitizer}.a");
    let source = (sanitizer == "tsan").then(|| format!("{library}/src/rust/library"));
    (
        host.to_owned(),
        [runtime].into_iter().chain(source).collect(),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_runtime_is_named_after_the_channel() {
        let version = "host: a-b\nrelease: 1.96.0\nLLVM version: 22.1.8\n";
        let needed = super::needed("tsan", version, "/usr").1;
        assert_eq!(
            needed[0],
            "/usr/lib/rustlib/a-b/lib/librustc-stable_rt.tsan.a"
        );
        assert_eq!(needed[1], "/usr/lib/rustlib/src/rust/library");
    }
}
