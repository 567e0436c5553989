//! The turned crates, and the package that tests them.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cells,
    cfgs::as_under_miri,
    find::{Source, find},
    notes::{Note, notes},
    options::{Named, Options},
    shim::{self, write},
    tests::as_models,
};

pub(crate) enum Ended {
    Passed,
    Failed,
    NotBuilt,
}

pub(crate) struct Scratch {
    /// The folder of all crates.
    out: PathBuf,
    folder: PathBuf,
    notes: Vec<String>,
}

impl Scratch {
    /// Turns the crates.
    ///
    /// # Errors
    /// If a crate is not found, or cannot be turned.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        fs::create_dir_all(&options.out)
            .map_err(|why| format!("{}: {why}", options.out.display()))?;
        let out = options.out.canonicalize().expect("the folder was made");
        let shim = out.join("std");
        shim::unpack(&shim, &checker(options)?)?;
        let subject = find(&options.subject, &out)?;
        let folder = out.join(format!("{}-{}", subject.name, subject.version));
        let mut scratch = Self {
            folder: folder.clone(),
            out: out.clone(),
            notes: Vec::new(),
        };
        let mut turned = vec![subject];
        scratch.test_package(options, &turned, &shim)?;
        let found = scratch.versions(&turned)?;
        for named in &options.also {
            let version = named
                .version
                .clone()
                .or_else(|| found.get(&named.name).cloned());
            let name = named.name.clone();
            if !found.contains_key(&name) {
                return Err(format!(
                    "{name} is no dependency, so `--also {name}` turns nothing"
                ));
            }
            turned.push(find(&Named { name, version }, &out)?);
        }
        let mut refused = Vec::new();
        for source in &turned {
            let copy = folder.join(&source.name);
            for note in turn(source, &copy, &shim)? {
                if note.is_refused && !options.unchecked {
                    refused.push(note);
                } else {
                    scratch
                        .notes
                        .push(format!("{}: {}: {}", source.name, note.at, note.what));
                }
            }
        }
        if let Some(first) = refused.first() {
            let lines = refused
                .iter()
                .map(|note| format!("\n  {}: {}", note.at, note.what));
            return Err(format!(
                "{} has atomics that the checker cannot know:{}\nThe first is in {}. If the test does \
                 not reach them, `--unchecked` goes on",
                options.subject.name,
                lines.collect::<String>(),
                first.at
            ));
        }
        for (name, version) in &found {
            if !turned.iter().any(|source| source.name == *name) && shares(name, version) {
                let text =
                    format!("{name} {version} has atomics and is not turned: `--also {name}`");
                scratch.notes.push(text);
            }
        }
        scratch.test_package(options, &turned, &shim)?;
        Ok(scratch)
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the package that has the tests.
    fn test_package(
        &self,
        options: &Options,
        turned: &[Source],
        shim: &Path,
    ) -> Result<(), String> {
        let subject = &turned[0];
        let package = self.folder.join("test");
        let mut manifest = format!(
            "[package]\nname = \"joint-check-test\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [workspace]\n\n[lib]\ntest = false\n\n[profile.dev]\nopt-level = 1\ndebug = false\nincremental = false\n\n\
             [dependencies]\n{}\n[dependencies.{}]\nversion = \"={}\"\nfeatures = {:?}\n\
             default-features = {}\n",
            options
                .dependencies
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
            subject.name,
            subject.version,
            options.features,
            !options.no_default_features,
        );
        manifest += &shim::dependencies(shim, true);
        manifest += "\n[patch.crates-io]\n";
        for (n, source) in turned.iter().enumerate() {
            let copy = self.folder.join(&source.name);
            // Before the copies are there, the crate itself tells its dependencies.
            let path = if copy.exists() && (n > 0 || turned.len() > 1 || options.also.is_empty()) {
                copy
            } else {
                source.folder.clone()
            };
            manifest += &format!("{} = {{ path = {path:?} }}\n", source.name);
        }
        write(&package.join("Cargo.toml"), &manifest)?;
        write(&package.join("src/lib.rs"), "")?;
        let tests = package.join("tests");
        _ = fs::remove_dir_all(&tests);
        for file in &options.tests {
            let said = |why: &dyn core::fmt::Display| format!("{}: {why}", file.display());
            let text = fs::read_to_string(file).map_err(|why| said(&why))?;
            let syntax = syn::parse_file(&text).map_err(|why| said(&why))?;
            let name = file.file_name().ok_or_else(|| said(&"it is no file"))?;
            let models = as_models(&text, &syntax);
            let syntax = syn::parse_file(&models).map_err(|why| said(&why))?;
            write(&tests.join(name), &cells::mark(&models, &syntax))?;
        }
        Ok(())
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(arguments)
            .current_dir(self.folder.join("test"))
            .env("CARGO_TARGET_DIR", self.out.join("build"))
            // The package in std's place has what only std may have: handles of trait objects.
            .env("RUSTC_BOOTSTRAP", "joint_std")
            // Failures name the files of the crates without the way to them. The flags are the same
            // for all crates, so that the checker is built once.
            .env(
                "RUSTFLAGS",
                format!("--cap-lints allow --remap-path-prefix {}/=", self.out.display()),
            );
        cargo
    }

    /// Returns the versions of all dependencies.
    fn versions(&self, turned: &[Source]) -> Result<BTreeMap<String, String>, String> {
        let own = ["joint-check-test", &turned[0].name];
        let tree = [
            "tree",
            "--prefix=none",
            "--edges=normal,no-proc-macro",
            "--format={p}",
        ];
        let pruned = shim::NAMES.map(|(_, package)| format!("--prune={package}"));
        let run = |more: &[&str]| {
            let output = self.cargo(&[&tree, more].concat()).args(&pruned).output();
            output.map_err(|why| format!("cargo cannot be run: {why}"))
        };
        let mut output = run(&["--offline"])?;
        if !output.status.success() {
            output = run(&[])?;
        }
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("the dependencies are not found:\n{why}"));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
            (!own.contains(&name)).then(|| (name.to_owned(), version.to_owned()))
        });
        Ok(lines.collect())
    }

    /// Builds and runs the tests.
    ///
    /// # Errors
    /// If cargo cannot be run.
    pub(crate) fn run(&self, options: &Options) -> Result<Ended, String> {
        let status = |mut command: Command| {
            let status = command.status();
            status.map_err(|why| format!("cargo cannot be run: {why}"))
        };
        if !status(self.cargo(&["test", "--quiet", "--tests", "--no-run"]))?.success() {
            return Ok(Ended::NotBuilt);
        }
        if options.build {
            return Ok(Ended::Passed);
        }
        let mut test = self.cargo(&["test", "--quiet", "--tests", "--no-fail-fast", "--"]);
        test.args(["--nocapture", "--test-threads=1"])
            .args(&options.arguments);
        match status(test)?.success() {
            true => Ok(Ended::Passed),
            false => Ok(Ended::Failed),
        }
    }
}

/// The dependency on joint-check, whose own allocator would be a second one.
fn checker(options: &Options) -> Result<String, String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../joint-check");
    let folder = options
        .checker
        .clone()
        .or_else(|| beside.is_dir().then_some(beside));
    let whence = match folder {
        None => concat!("version = \"=", env!("CARGO_PKG_VERSION"), "\"").into(),
        Some(folder) => {
            let path = folder.canonicalize();
            let path = path.map_err(|why| format!("{}: {why}", folder.display()))?;
            format!("path = {path:?}")
        }
    };
    Ok(format!("{{ {whence}, default-features = false }}"))
}

/// The files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether a dependency has something that threads share.
fn shares(name: &str, version: &str) -> bool {
    let named = Named {
        name: name.to_owned(),
        version: Some(version.to_owned()),
    };
    let Ok(source) = find(&named, Path::new("")) else {
        return false;
    };
    let has_atomics = |file: PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("sync::atomic") || text.contains("sync::Mutex")
    };
    sources(&source.folder.join("src"))
        .into_iter()
        .any(has_atomics)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let is_left_out = ["target", ".git", "Cargo.lock"]
            .iter()
            .any(|name| entry.file_name() == *name);
        if is_left_out {
            continue;
        } else if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Copies a crate, puts the package in std's place, and marks uses of cells.
fn turn(source: &Source, to: &Path, shim: &Path) -> Result<Vec<Note>, String> {
    _ = fs::remove_dir_all(to);
    copy(&source.folder, to).map_err(|why| format!("{}: {why}", source.folder.display()))?;
    let file = to.join("Cargo.toml");
    let manifest = fs::read_to_string(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    write(&file, &turned_manifest(&manifest, shim))?;
    let mut found = Vec::new();
    for file in sources(&to.join("src")) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let text = as_under_miri(&text);
        let Ok(syntax) = syn::parse_file(&text) else {
            continue;
        };
        let name = file.strip_prefix(to).unwrap_or(&file);
        let is_test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
        if !name.iter().any(is_test) {
            found.extend(notes(name, &syntax));
        }
        write(&file, &cells::mark(&text, &syntax))?;
    }
    Ok(found)
}

/// A manifest whose package sees the shim as std, and is no member of a workspace.
fn turned_manifest(manifest: &str, shim: &Path) -> String {
    let mut text = String::new();
    let mut is_left_out = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let head = line.trim_matches(['[', ']', ' ']);
            let own = [
                "dependencies.std",
                "dependencies.core",
                "dependencies.alloc",
            ];
            is_left_out = own.contains(&head)
                || head.starts_with("dev-dependencies")
                || head.starts_with("workspace")
                || ["bench", "test", "example"].contains(&head);
        }
        if !is_left_out {
            text += line;
            text += "\n";
        }
    }
    text + &shim::dependencies(shim, false) + "\n[workspace]\n"
}
