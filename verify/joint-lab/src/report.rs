//! Runs a model so that its failure can be reported, and writes the report.

use std::{
    env, fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use loom::model::Builder;

use super::{check_bare, counterexample::Counterexample, recorder::Recording};

/// Runs a model on a thread of its own, and returns how it failed.
///
/// That thread stops for good when the model fails, because what it would still unwind and drop
/// panics again. What the model has made stays until the process ends.
#[must_use = "the model may have failed"]
pub fn failure_of(
    builder: Builder,
    f: impl Fn() + Send + Sync + 'static,
) -> Option<Box<Counterexample>> {
    let (rescue, failed) = mpsc::channel();
    let models = move || {
        let recording = Recording::start(|_| ());
        recording.rescue(rescue.clone());
        let outcome = catch_unwind(AssertUnwindSafe(|| check_bare(&builder, f)));
        if let Err(payload) = outcome {
            let failure = Box::new(recording.failed(&*payload));
            // The receiver waits until the sender is dropped.
            let _ = rescue.send(failure);
        }
    };
    let name = thread::current().name().unwrap_or("main").to_owned();
    let running = thread::Builder::new().name(name).spawn(models);
    running.expect("a thread can be started");
    failed.recv().ok()
}

/// The message of a failing test: the sentence, the picture, and the path of the page.
pub(super) fn message(failure: &Counterexample) -> String {
    let page = written(failure).map_or_else(
        |error| format!("The page was not written: {error}"),
        |page| format!("As a page: {}", page.display()),
    );
    format!("{}{page}\n", in_short(failure))
}

/// The message without the page.
pub(super) fn in_short(failure: &Counterexample) -> String {
    format!("{}\n\n{}\n", failure.sentence(), failure.picture())
}

/// Writes the page and the picture into the folder `joint-lab` beside the program, or above it if
/// cargo has a folder for such programs.
fn written(failure: &Counterexample) -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let of_tests = |folder: &&Path| !folder.ends_with("deps") && !folder.ends_with("examples");
    let profile = program.ancestors().skip(1).find(of_tests);
    let folder = profile.unwrap_or(Path::new("")).join("joint-lab");
    fs::create_dir_all(&folder)?;
    let page = folder.join(file_name(&program)).with_extension("html");
    fs::write(page.with_extension("svg"), failure.svg("failure"))?;
    fs::write(&page, failure.html())?;
    Ok(page)
}

/// The names of the program and of the test, without what a path cannot have. cargo appends a
/// number to the name of a test program.
fn file_name(program: &Path) -> String {
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let thread = thread::current();
    let name = format!("{program}-{}", thread.name().unwrap_or("main"));
    let letter = |letter: char| {
        if letter.is_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    name.replace("::", "-").chars().map(letter).collect()
}
