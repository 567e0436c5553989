//! The test programs: built once, with each test in a process of its own.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use joint_mutants::place::{LEFT_OUT, Place};

use crate::options::Options;

#[derive(Clone, Debug)]
struct Program {
    name: String,
    path: PathBuf,
    /// The package's folder, in which cargo runs it.
    folder: PathBuf,
}

#[derive(Debug)]
pub(crate) struct Test {
    /// The program's name, then the test's.
    pub(crate) name: String,
    program: Program,
    pub(crate) took: Duration,
    pub(crate) reached: Vec<Place>,
    /// Whether a failure says nothing: it expects a panic, or changes operations itself.
    pub(crate) is_left_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ended {
    Passed,
    Failed,
    Endless,
}

pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Builds the programs, and lists their tests.
pub(crate) fn tests(options: &Options, root: &Path) -> Result<Vec<Test>, String> {
    let mut flags = env::var("RUSTFLAGS").unwrap_or_default();
    for cfg in &options.cfgs {
        flags += &format!(" --cfg {cfg}");
    }
    let output = Command::new(cargo())
        .args([
            "test",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .args(&options.cargo)
        .env("RUSTFLAGS", flags.trim_start())
        .stderr(Stdio::inherit())
        .output();
    let output = output.map_err(|error| format!("cargo could not be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("the tests were not built: {}", output.status));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut tests = Vec::new();
    for program in printed.lines().filter_map(|line| program(line, root)) {
        tests.extend(listed(&program, &options.filters)?);
    }
    Ok(tests)
}

/// The test program that one of cargo's messages reports.
fn program(message: &str, root: &Path) -> Option<Program> {
    let (_, profile) = message.split_once("\"profile\":{")?;
    let (profile, _) = profile.split_once('}')?;
    if !profile.contains("\"test\":true") {
        return None;
    }
    let path = PathBuf::from(text(message, "\"executable\":")?);
    let (_, target) = message.split_once("\"target\":{")?;
    let name = text(target, "\"name\":")?;
    let manifest = text(message, "\"manifest_path\":").map(PathBuf::from);
    let folder = manifest.as_deref().and_then(Path::parent).unwrap_or(root);
    let folder = folder.to_owned();
    Some(Program { name, path, folder })
}

/// The string that follows the first `key` in JSON.
fn text(json: &str, key: &str) -> Option<String> {
    let (_, rest) = json.split_once(key)?;
    let mut chars = rest.strip_prefix('"')?.chars();
    let mut text = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(text),
            '\\' => match chars.next()? {
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                escaped => text.push(escaped),
            },
            other => text.push(other),
        }
    }
}

fn listed(program: &Program, filters: &[String]) -> Result<Vec<Test>, String> {
    let failed = |why: String| format!("the tests of {} were not listed: {why}", program.name);
    let output = run_in(program).arg("--list").args(filters).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let names = printed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    let tests = names.map(|name| Test {
        name: format!("{}::{name}", program.name),
        program: program.clone(),
        took: Duration::ZERO,
        reached: Vec::new(),
        is_left_out: false,
    });
    Ok(tests.collect())
}

/// The program, in the folder and with the variable that cargo gives it.
fn run_in(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .stdin(Stdio::null());
    command
}

impl Test {
    /// The test's name without that of the program.
    pub(crate) fn own_name(&self) -> &str {
        &self.name[self.program.name.len() + 2..]
    }

    /// Runs it without a change, and records which places it reaches.
    pub(crate) fn look(&mut self, limit: Duration) -> Result<Ended, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = format!("ordering-places-{}-{n}", process::id());
        let file = env::temp_dir().join(file);
        let start = Instant::now();
        let ran = self.run("ORDERING_PLACES", &file.to_string_lossy(), limit);
        self.took = start.elapsed();
        // A test that reaches none writes no file.
        let written = fs::read_to_string(&file).unwrap_or_default();
        let _not_needed = fs::remove_file(&file);
        self.reached = written
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect();
        let (ended, expects_panic) = ran?;
        self.is_left_out = expects_panic || written.lines().any(|line| line == LEFT_OUT);
        Ok(ended)
    }

    /// Runs it with one place changed.
    pub(crate) fn against(&self, mutant: &str, most: Duration) -> Result<Ended, String> {
        // A change can make a model larger, but a model that takes this much longer is given up.
        let limit = most.min(Duration::from_secs(30) + 20 * self.took);
        let ran = self.run("ORDERING_MUTANT", mutant, limit);
        ran.map(|(ended, _)| ended)
    }

    /// Also returns whether the test has `#[should_panic]`.
    fn run(&self, key: &str, value: &str, limit: Duration) -> Result<(Ended, bool), String> {
        let failed = |why: &str| format!("{} could not be run: {why}", self.name);
        let mut child = run_in(&self.program)
            .args([
                self.own_name(),
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(key, value)
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error.to_string()))?;
        let refused = line(child.stderr.take(), "ORDERING_".to_owned());
        let mark = format!("test {} - should panic", self.own_name());
        let panics = line(child.stdout.take(), mark);
        let ended = wait(&mut child, limit).map_err(|error| failed(&error.to_string()))?;
        let Some(code) = ended else {
            return Ok((Ended::Endless, false));
        };
        let ended = match (code, refused.join()) {
            (Some(2), Ok(Some(why))) => return Err(failed(&why)),
            (Some(0), _) => Ended::Passed,
            _ => Ended::Failed,
        };
        Ok((ended, matches!(panics.join(), Ok(Some(_)))))
    }
}

/// Reads all of the stream, so that the child does not wait for it, and returns the last line that
/// starts like this.
fn line(stream: Option<impl Read + Send + 'static>, start: String) -> JoinHandle<Option<String>> {
    thread::spawn(move || {
        let lines = stream
            .into_iter()
            .flat_map(|stream| BufReader::new(stream).lines());
        let lines = lines.map_while(Result::ok);
        lines.filter(|line| line.starts_with(&start)).last()
    })
}

/// The exit status, or `None` if the process was killed because it took too long. A status has no
/// code if a signal ended the process.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<Option<i32>>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code()));
        }
        let pause = start.elapsed() / 50;
        thread::sleep(pause.clamp(Duration::from_millis(1), Duration::from_millis(100)));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/x \"y\"/Cargo.toml","target":{"kind":["test"],"name":"sleep"},"profile":{"opt_level":"3","test":true},"features":[],"executable":"C:\\x\\sleep-1"}"#;
        let found = program(message, Path::new("/")).expect("a test");
        assert_eq!(
            (&*found.name, found.path),
            ("sleep", r"C:\x\sleep-1".into())
        );
        assert_eq!(found.folder, Path::new("/x \"y\""));
        for other in [
            r#"{"reason":"compiler-artifact","target":{"name":"a"},"profile":{"test":false},"executable":null}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"a"},"profile":{"test":true},"executable":null}"#,
            r#"{"reason":"build-finished","success":true}"#,
            "Compiling",
        ] {
            assert!(program(other, Path::new("/")).is_none(), "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_child_that_exceeds_its_limit_is_killed() {
        let start = |line| {
            let child = Command::new("sh").args(["-c", line]).spawn();
            child.expect("a shell")
        };
        let ended = |line, limit| wait(&mut start(line), limit).expect("a child");
        let limit = Duration::from_secs(60);
        assert_eq!(ended("exit 3", limit), Some(Some(3)));
        assert_eq!(ended("kill -6 $$", limit), Some(None));
        assert_eq!(ended("exec sleep 600", Duration::from_millis(1)), None);
    }
}
