//! Every habit of the project as one command: `cargo xtask help` lists them.

mod compat;
mod cores;
mod models;
mod package;
mod plans;
mod readme;
mod sanitizers;
mod step;
mod words;

use std::{env, process::exit};

use step::{Done, Step, Stop, run_all, say};
use words::Words;

struct Command {
    /// What [`Words::read`] reads it by.
    usage: &'static str,
    about: &'static str,
    run: fn(&Words) -> Done,
}

const fn command(usage: &'static str, about: &'static str, run: fn(&Words) -> Done) -> Command {
    Command { usage, about, run }
}

const COMMANDS: &[Command] = &[
    command(
        "check",
        "Checks the format, lints in every configuration, and the documentation.",
        |_| Ok(run_all("check", plans::check())),
    ),
    command(
        "test [--apart]",
        "Runs the unit, integration and doc tests, the examples, the tests without std, and beside\n\
         them what --apart runs alone: the models, also against mutants, the tests, lessons and\n\
         homework of `verify`, the packages' archives, and programs outside of the workspaces.",
        plans::test,
    ),
    command(
        "loom [--full] [--engine check] [FILTER]",
        "Runs the models, or those with FILTER in their names, such as `sleep::`, by cargo-nextest\n\
         if it is installed. --full explores every schedule, which can take hours. --engine check\n\
         runs them on joint-check instead of loom, each for 10 seconds unless LOOM_MAX_DURATION\n\
         says otherwise. JOINT_LOOM_RUNS=1 prints how often each ran.",
        models::loom,
    ),
    command(
        "lab [matrix] [cell] [DATA] [COMPLETER] [WAITER]",
        "`matrix` decides every pair of orderings for the completion's two exchanges, by the models.\n\
         `cell` shows the execution in which one pair fails, such as `cell result acquire acq_rel`.",
        models::lab,
    ),
    command(
        "cores [--sharded FOLDER]",
        "Runs joint and tokio on 1 to 64 simulated cores, and writes docs/cores.md.\n\
         --sharded runs only the published points of the tokio in FOLDER, whose queue is sharded.",
        cores::cores,
    ),
    command(
        "proof [--write]",
        "Checks the proofs of `verify/proof` with Coq, and that src/tables.txt, which unit tests\n\
         compare with the code, is what they print. --write writes that file.",
        plans::proof,
    ),
    command(
        "mutants [--engine check] [--smoke] [FILTER]",
        "Runs the models against each change of an ordering, an exchange or a second look, or of\n\
         those whose names contain FILTER, and writes docs/orderings.md. --smoke tries only what\n\
         that file says is found. --engine check runs them on joint-check, and writes\n\
         target/check/orderings.md.",
        models::mutants,
    ),
    command(
        "logic [FILTER]",
        "Runs the tests, then the models, against each change of a condition, a result or a\n\
         function's body (cargo-mutants). .cargo/mutants.toml lists what nothing can find.",
        models::logic,
    ),
    command(
        "bench [--readme] [--mimalloc] [--write] [NAME]",
        "Runs all benches, or one, beside their peers. --mimalloc gives all contestants that\n\
         allocator. --readme runs quickly those that the README shows, and writes the README's\n\
         figures and docs/measured.md. --write only writes the figures of the last runs.",
        readme::bench,
    ),
    command(
        "bench-once",
        "Runs each row of each bench once, without figures.",
        |_| Ok(run_all("bench-once", vec![readme::once()])),
    ),
    command(
        "instructions [--no-lto] [--mimalloc]",
        "Counts the instructions of each path with valgrind (tools/instructions), with this allocator.",
        |words| {
            let given = ["--no-lto", "--mimalloc"]
                .into_iter()
                .filter(|word| words.has(word));
            script("instructions", "tools/instructions/count.sh", given)
        },
    ),
    command(
        "build-time [ROUNDS]",
        "Measures the processor time that it takes to build joint-executor from an empty folder,\n\
         and prints the multiple of tokio's with the same features (tools/dependents).",
        |words| {
            script(
                "build-time",
                "tools/dependents/build-time.sh",
                words.word(0),
            )
        },
    ),
    command(
        "soak [MINUTES]",
        "Runs the random programs of joint-executor/tests/soak for 5 minutes, or for as long as\n\
         given, from JOINT_SOAK_SEED or from another seed each time.",
        plans::soak,
    ),
    command(
        "watch [MINUTES]",
        "Runs the programs of `soak` for a minute, or for as long as given, with each step of a word\n\
         held against the tables of the proof.",
        plans::watch,
    ),
    command(
        "compat",
        "Runs the suites of async-task and async-executor, fetched from the registry, on\n\
         tools/compat/async-task; those of oneshot and futures-channel, and three crates that depend\n\
         on oneshot, on tools/compat/oneshot; then the bugs of docs/found.md in the simulation.",
        |_| compat::run(),
    ),
    command(
        "api [--check]",
        "Writes the public API of each published package, as rustdoc knows it, into tools/api.\n\
         --check fails where it would change.",
        package::api,
    ),
    command(
        "aliases",
        "Looks up each `#[doc(alias)]` in the documentation by rustdoc's own search, in node.",
        |_| package::aliases(),
    ),
    command(
        "package",
        "Packs the published packages, and builds each from its archive, without a network.",
        |_| package::run(),
    ),
    command(
        "dependents",
        "Builds and runs two packages outside the workspace, and models with planted bugs, which\n\
         have to fail with the words that are written down (tools/dependents).",
        |_| Ok(run_all("dependents", vec![plans::tool("dependents")])),
    ),
    command(
        "powerset",
        "Lints each published package with each set of its features (cargo-hack).",
        |_| package::powerset(),
    ),
    command(
        "minimal",
        "Builds the published packages with the oldest allowed versions of what they depend on\n\
         (cargo-minimal-versions). It changes the manifests while it runs.",
        |_| package::minimal(),
    ),
    command(
        "semver",
        "Compares the public API with that of the last tag `v*` (cargo-semver-checks).",
        |_| package::semver(),
    ),
    command(
        "audit",
        "Looks for advisories, bans, licences and sources that deny.toml does not allow, in each\n\
         workspace (cargo-deny).",
        |_| package::audit(),
    ),
    command(
        "portable",
        "Type-checks for each target that is installed, and with the oldest Rust; tests and models\n\
         the task with the state word of a small machine; builds tools/compat/thumbv7em, and runs\n\
         it in QEMU.",
        |_| script("portable", "tools/compat/portable.sh", []),
    ),
    command(
        "foreign [--smoke] [TARGET] [PACKAGE]",
        "Runs the tests for other processors and systems, in QEMU, in Wine, in node or here, and\n\
         says which tools are missing. --smoke runs the unit tests of joint for the first target\n\
         that is installed.",
        |words| {
            let smoke = words.has("--smoke").then_some("--smoke");
            let given = [smoke, words.word(0), words.word(1)];
            script(
                "foreign",
                "tools/compat/foreign.sh",
                given.into_iter().flatten(),
            )
        },
    ),
    command("miri", "Runs what makes unsafe blocks under Miri.", |_| {
        plans::miri()
    }),
    command(
        "asan",
        "Runs the tests under AddressSanitizer, and looks for frames that were left.",
        |_| sanitizers::run("asan"),
    ),
    command(
        "tsan",
        "Runs the tests under ThreadSanitizer, with std built for it.",
        |_| sanitizers::run("tsan"),
    ),
    command("all", "Runs check, then test.", |_| {
        let steps = ["check", "test"].map(|name| Step::xtask(name, name));
        Ok(run_all("all", steps.into()))
    }),
    command("help", "Prints this text.", |_| {
        print!("{}", help());
        Ok(0)
    }),
    command("--version", "Prints the version.", |_| {
        println!("xtask {}", env!("CARGO_PKG_VERSION"));
        Ok(0)
    }),
];

/// Runs a script, where there is a shell for it.
fn script<'a>(name: &'static str, path: &str, words: impl IntoIterator<Item = &'a str>) -> Done {
    Step::program("", "bash", "--version").or_skip("there is no bash")?;
    let step = Step::program(name, "bash", path).args(words);
    Ok(run_all(name, vec![step]))
}

fn help() -> String {
    let mut text = "Usage: cargo xtask <command>\n".to_owned();
    for Command { usage, about, .. } in COMMANDS {
        text += &format!("\n  {usage}\n      {}\n", about.replace('\n', "\n      "));
    }
    text + "\nEvery command passes on the status of the step that failed. What is not installed is\n\
            named, with the command that installs it, and skipped.\n"
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let name = words.first().map_or("help", String::as_str);
    let wants_help = |word: &String| word == "--help" || word == "-h";
    let words = match name == "help" || words.iter().any(wants_help) {
        true => vec!["help".to_owned()],
        false => words.clone(),
    };
    exit(match run(&words) {
        Ok(status) => status,
        Err(Stop::Skipped(why)) => {
            say(&format!("{name} skipped: {why}"));
            0
        }
        Err(Stop::Failed(why)) => {
            say(&format!("{name} failed: {why}"));
            1
        }
        Err(Stop::Refused(why)) => {
            eprintln!("error: {name}: {why} (see `cargo xtask help`)");
            2
        }
    });
}

fn run(words: &[String]) -> Done {
    for command in COMMANDS {
        if let Some(read) = Words::read(command.usage, words) {
            return (command.run)(&read.map_err(Stop::Refused)?);
        }
    }
    Err(Stop::Refused("there is no such command".to_owned()))
}
