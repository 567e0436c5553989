//! The turned crates, and the package that tests them.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    cells,
    find::{Source, find},
    options::{Named, Options},
    shim::{self, write},
    tests::as_models,
    turn::{shares, turn},
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
    /// The package in the place of `parking_lot`.
    parking_lot: Option<PathBuf>,
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
            parking_lot: None,
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
        if let Some(version) = found.get("parking_lot") {
            scratch.take_parking_lot(version, &shim)?;
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
            let is_replaced = name.starts_with("parking_lot") && scratch.parking_lot.is_some();
            let is_turned = turned.iter().any(|source| source.name == *name) || is_replaced;
            if !is_turned && shares(name, version) {
                let text =
                    format!("{name} {version} has atomics and is not turned: `--also {name}`");
                scratch.notes.push(text);
            }
        }
        scratch.test_package(options, &turned, &shim)?;
        Ok(scratch)
    }

    /// Puts the checker's locks in the place of those of `parking_lot`, which wait by system calls.
    fn take_parking_lot(&mut self, version: &str, shim: &Path) -> Result<(), String> {
        let (name, version) = ("parking_lot".to_owned(), version.to_owned());
        let named = Named {
            name,
            version: Some(version.clone()),
        };
        let manifest = find(&named, &self.out)?.folder.join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest)
            .map_err(|why| format!("{}: {why}", manifest.display()))?;
        self.parking_lot = Some(shim::parking_lot(shim, &version, &manifest)?);
        Ok(())
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
        if let Some(path) = &self.parking_lot {
            manifest += &format!("parking_lot = {{ path = {path:?} }}\n");
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
