//! `cargo joint-check`: runs a test of a crate, as it was published, in every execution that the
//! memory model allows.

mod cells;
mod cfgs;
mod find;
mod notes;
mod options;
mod scratch;
mod shim;
mod tests;
mod turn;

use std::process::ExitCode;

use options::{Options, Wish};
use scratch::{Ended, Scratch};

fn main() -> ExitCode {
    let said = Options::read(std::env::args_os().skip(1)).and_then(|wish| match wish {
        Wish::Say(text) => {
            println!("{text}");
            Ok(true)
        }
        Wish::Check(options) => check(&options),
    });
    match said {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether the tests pass.
fn check(options: &Options) -> Result<bool, String> {
    let scratch = Scratch::new(options)?;
    for note in scratch.notes() {
        eprintln!("note: {note}");
    }
    match scratch.run(options)? {
        Ended::Passed => Ok(true),
        Ended::Failed => Ok(false),
        Ended::NotBuilt => Err(format!(
            "the turned source does not compile. It is in {}. A type that differs is often one of a \
             dependency that is not turned: `--also NAME` turns it",
            scratch.folder().display()
        )),
    }
}
