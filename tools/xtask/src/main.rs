//! Every habit of the project as one command: `cargo xtask help` lists them.

mod api;
mod cli;
mod compat;
mod dependents;
mod engine;
mod features;
mod foreign;
mod grade;
mod instructions;
mod lab;
mod lesson;
mod logic;
mod loom;
mod nightly;
mod package;
mod plans;
mod portable;
mod programs;
mod progress;
mod readme;
mod sanitizers;
mod size;
mod small;
mod step;
mod work;

use std::{env, process::exit};

use cli::{Bench, Command, Lab, Portable};
use step::{Step, run_all, say};

fn main() {
    match cli::parse(env::args_os().skip(1)) {
        Ok(command) => exit(run(command)),
        Err(error) => {
            eprintln!("error: {error} (see `cargo xtask help`)");
            exit(2);
        }
    }
}

/// Runs a command, and gives the status to exit with.
fn run(command: Command) -> i32 {
    match command {
        Command::Check => run_all("check", &plans::check()),
        Command::Test => run_all("test", &plans::test()),
        Command::All => run_all("all", &plans::all()),
        Command::Loom { wish, filter } => loom::run(wish, filter.as_deref()),
        Command::Lab(Lab::Page(page)) => lab::page::run(&page),
        Command::Lab(Lab::Matrix { json, html }) => {
            let step = plans::matrix(json.as_deref(), html.as_deref());
            run_all("lab", &[step])
        }
        Command::Lesson { number } => lesson::run(number),
        Command::Grade(wish) => grade::run(&wish),
        Command::Bench(wish) => bench(&wish),
        Command::Soak { minutes } => run_all("soak", &[plans::soak(minutes)]),
        Command::Compat => compat::run(),
        Command::Api { check } => api::run(check),
        Command::Package { list } => package::run(list),
        Command::Dependents => dependents::run(),
        Command::Powerset => features::powerset(),
        Command::Minimal => features::minimal(),
        Command::Semver => features::semver(),
        Command::Size => size::run(),
        Command::Portable(Portable::Check) => portable::run(),
        Command::Portable(Portable::Smoke) => foreign::smoke().max(small::smoke()),
        Command::Portable(Portable::Run { filter, package }) => {
            foreign::run(&filter, package.as_deref())
        }
        Command::Miri => run_if("miri", nightly::for_miri().map(|()| vec![plans::miri()])),
        Command::Sanitizer(sanitizer) => {
            let compiler = sanitizers::compiler(sanitizer);
            let steps = compiler.map(|compiler| plans::sanitizer(sanitizer, &compiler));
            run_if(sanitizer.command(), steps)
        }
        Command::Instructions { only_without_lto } => instructions::run(only_without_lto),
        Command::BenchOnce => run_all("bench-once", &[plans::bench_once()]),
        Command::Mutants {
            engine,
            smoke,
            filter,
        } => match engine.mutants(smoke, filter.as_deref()) {
            Ok(step) => run_all("mutants", &[step]),
            Err(why) => {
                say(&why);
                1
            }
        },
        Command::Logic { filter } => logic::run(filter.as_deref()),
        Command::Help => {
            print!("{}", cli::USAGE);
            0
        }
    }
}

/// Runs all benches or one; for the README those whose figures it shows.
fn bench(wish: &Bench) -> i32 {
    let step = |name| plans::bench(name, wish.mimalloc);
    let steps: Vec<_> = match wish.name.as_deref() {
        None if wish.readme => readme::steps(),
        None if wish.write => Vec::new(),
        None => vec![step(None), step(Some("simulation"))],
        Some(name) if wish.readme => readme::of_one(name),
        name => vec![step(name)],
    };
    match run_all("bench", &steps) {
        0 if wish.readme || wish.write => readme::run(),
        code => code,
    }
}

/// Runs steps whose tools may be missing, which is no failure.
fn run_if(command: &str, steps: Result<Vec<Step>, String>) -> i32 {
    match steps {
        Ok(steps) => run_all(command, &steps),
        Err(why) => {
            say(&format!("{command} skipped: {why}"));
            0
        }
    }
}
