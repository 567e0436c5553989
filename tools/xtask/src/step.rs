//! One program to run, and how a list of them is run and reported.

use std::{
    env, fmt,
    fs::{self, File},
    io::{self, IsTerminal, stderr},
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus},
    time::Instant,
};

/// The repository's root, two folders above this package.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let package = PathBuf::from(package);
    package
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .unwrap_or(package)
}

/// A program with its arguments, where it runs and what is changed in its environment.
#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    /// The name in the command line: the program's own, without its folder.
    shown: &'static str,
    program: String,
    args: Vec<String>,
    /// From the root; empty for the root itself.
    folder: &'static str,
    /// `None` takes the variable away.
    env: Vec<(&'static str, Option<String>)>,
    /// Whether it runs beside the steps before it.
    beside: bool,
}

impl Step {
    /// A run of the cargo that runs this program.
    pub(crate) fn cargo(name: &'static str, args: &[&str]) -> Self {
        let program = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        Self::new(name, "cargo", program, args)
    }

    /// Another command of this program. It is not run by way of cargo, which would wait for a build
    /// that is under way.
    pub(crate) fn xtask(name: &'static str, args: &[&str]) -> Self {
        let program = env::current_exe().map(|path| path.to_string_lossy().into_owned());
        let program = program.unwrap_or_else(|_| "xtask".to_owned());
        Self::new(name, "cargo xtask", program, args)
    }

    /// A run of nightly's cargo.
    pub(crate) fn nightly_cargo(name: &'static str, args: &[&str]) -> Self {
        Self::cargo_of("nightly", name, args)
    }

    /// A run of a toolchain's cargo, by way of rustup.
    pub(crate) fn cargo_of(toolchain: &str, name: &'static str, args: &[&str]) -> Self {
        let args = [&["run", toolchain, "cargo"], args].concat();
        let mut step = Self::new(name, "rustup", "rustup".to_owned(), &args);
        // A cargo that finds this set passes it on as its own path, and it is stable's.
        step.env.push(("CARGO", None));
        step
    }

    /// A run of another program.
    pub(crate) fn program(name: &'static str, program: &'static str, args: &[&str]) -> Self {
        Self::new(name, program, program.to_owned(), args)
    }

    fn new(name: &'static str, shown: &'static str, program: String, args: &[&str]) -> Self {
        Self {
            name,
            shown,
            program,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            folder: "",
            env: Vec::new(),
            beside: false,
        }
    }

    pub(crate) fn env(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.env.retain(|(set, _)| *set != key);
        self.env.push((key, Some(value.into())));
        self
    }

    /// Starts the step together with the first one, and shows what it has printed when its turn
    /// comes. For a long step that shares no build with the steps before it: together they leave
    /// fewer processors idle.
    pub(crate) fn beside(mut self) -> Self {
        self.beside = true;
        self
    }

    /// Adds flags to a variable that holds some, separated by spaces.
    pub(crate) fn flags(self, key: &'static str, flags: &str) -> Self {
        let flags = appended(self.set(key), flags, ' ');
        self.env(key, flags)
    }

    /// The value of a variable that the step has set, or that is set for this program.
    fn set(&self, key: &str) -> Option<String> {
        let own = self.env.iter().find(|(own, _)| *own == key);
        own.map_or_else(|| env::var(key).ok(), |(_, value)| value.clone())
    }

    /// Sets a cfg for all that is compiled, beside the flags that are set.
    pub(crate) fn cfg(self, cfg: &str) -> Self {
        self.rustc(&["--cfg", cfg])
    }

    /// Gives flags to the compiler, beside those that are set. They have no spaces.
    pub(crate) fn rustc(self, flags: &[&str]) -> Self {
        match self.set("CARGO_ENCODED_RUSTFLAGS") {
            // It goes before the other.
            Some(set) => {
                let flags = appended(Some(set), &flags.join("\u{1f}"), '\u{1f}');
                self.env("CARGO_ENCODED_RUSTFLAGS", flags)
            }
            None => self.flags("RUSTFLAGS", &flags.join(" ")),
        }
    }

    /// Runs in this folder, given from the root.
    pub(crate) fn in_folder(mut self, folder: &'static str) -> Self {
        self.folder = folder;
        self
    }

    /// Runs in the models' package, whose own configuration sets the cfg and the target folder.
    ///
    /// Variables of the environment would override that configuration, so they are given the same
    /// contents.
    pub(crate) fn in_models(self) -> Self {
        let mut step = self.in_folder("loom-tests");
        for (key, flags, separator) in [
            ("RUSTFLAGS", "--cfg joint_loom", ' '),
            ("CARGO_ENCODED_RUSTFLAGS", "--cfg\u{1f}joint_loom", '\u{1f}'),
        ] {
            if let Some(set) = step.set(key) {
                step = step.env(key, appended(Some(set), flags, separator));
            }
        }
        if let Some(target) = env::var_os("CARGO_TARGET_DIR") {
            let target = root().join(target).join("loom");
            step = step.env("CARGO_TARGET_DIR", target.to_string_lossy());
        }
        step
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .current_dir(root().join(self.folder));
        for (key, value) in &self.env {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        command
    }
}

fn appended(before: Option<String>, flags: &str, separator: char) -> String {
    match before {
        Some(before) if !before.is_empty() => format!("{before}{separator}{flags}"),
        _ => flags.to_owned(),
    }
}

impl fmt::Display for Step {
    /// The command line, as one would type it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.folder.is_empty() {
            write!(f, "cd {} && ", self.folder)?;
        }
        for (key, value) in &self.env {
            if let Some(value) = value {
                write!(f, "{key}={} ", quoted(value))?;
            }
        }
        write!(f, "{}", self.shown)?;
        self.args
            .iter()
            .try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

/// A step that runs beside others, and the file that its output goes to.
struct Beside {
    child: Child,
    output: PathBuf,
}

impl Beside {
    fn start(step: &Step) -> io::Result<Self> {
        let name = format!("joint-xtask-{}-{}", process::id(), step.name);
        let output = env::temp_dir().join(name);
        let file = File::create(&output)?;
        let mut command = step.command();
        command.stdout(file.try_clone()?).stderr(file);
        let child = command.spawn()?;
        Ok(Self { child, output })
    }

    /// Waits for the end, and shows what was printed.
    fn finish(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        eprint!("{}", fs::read_to_string(&self.output)?);
        status
    }
}

impl Drop for Beside {
    /// Ends it, if it still runs because a step before it has failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.output);
    }
}

/// Runs the steps up to the first that fails, and gives the status to exit with.
pub(crate) fn run_all(command: &str, steps: &[Step]) -> i32 {
    let start = Instant::now();
    let mut beside: Vec<_> = (steps.iter())
        .map(|step| step.beside.then(|| Beside::start(step)))
        .collect();
    for (n, step) in (1..).zip(steps) {
        let note = if step.beside {
            ", begun with the first"
        } else {
            ""
        };
        say(&format!(
            "[{n}/{}] {}: {step}{note}",
            steps.len(),
            step.name
        ));
        let step_start = Instant::now();
        let ended = match beside[n - 1].take() {
            Some(started) => started.and_then(Beside::finish),
            None => step.command().status(),
        };
        let failed = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some((status_code(status), status.to_string())),
            Err(error) => Some((1, format!("could not start {}: {error}", step.shown))),
        };
        let took = step_start.elapsed().as_secs_f64();
        if let Some((code, why)) = failed {
            say(&format!(
                "{command} failed after {took:.1} s in `{}`: {why}",
                step.name
            ));
            return code;
        }
        say(&format!("{}: passed in {took:.1} s", step.name));
    }
    let took = start.elapsed().as_secs_f64();
    say(&format!(
        "{command} passed in {took:.1} s (steps: {})",
        steps.len()
    ));
    0
}

/// A shell's way of saying it: 128 and the signal's number, where a signal ended the step.
fn status_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}

/// A line of this program's own, told apart from what the steps print.
pub(crate) fn say(line: &str) {
    let plain = !stderr().is_terminal()
        || ["CI", "NO_COLOR"]
            .iter()
            .any(|key| env::var_os(key).is_some());
    if plain {
        eprintln!("xtask: {line}");
    } else {
        eprintln!("\x1b[1mxtask: {line}\x1b[0m");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_typed() {
        let step = Step::cargo("x", &["bench", "--bench", "*"]).env("A", "b c");
        assert_eq!(step.to_string(), "A='b c' cargo bench --bench '*'");
    }

    #[test]
    fn the_models_run_in_their_own_folder() {
        let step = Step::cargo("x", &["test"]).in_models();
        assert!(step.to_string().starts_with("cd loom-tests && "), "{step}");
        assert!(root().join(step.folder).join(".cargo/config.toml").exists());
    }

    #[test]
    fn flags_are_added_to_those_that_are_set() {
        let set = Some("-C a".to_owned());
        assert_eq!(appended(set, "--cfg b", ' '), "-C a --cfg b");
        assert_eq!(appended(Some(String::new()), "--cfg b", ' '), "--cfg b");
        assert_eq!(appended(None, "--cfg b", ' '), "--cfg b");
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_step_stops_the_run_and_gives_its_status() {
        let shell = |line| Step::new("x", "sh", "sh".to_owned(), &["-c", line]);
        assert_eq!(run_all("x", &[shell("exit 0"), shell("exit 0")]), 0);
        assert_eq!(
            run_all("x", &[shell("exit 0"), shell("exit 7"), shell("exit 8")]),
            7
        );
        assert_eq!(run_all("x", &[shell("kill -9 $$")]), 137);
        let missing = || Step::new("x", "x", "no-such-program".to_owned(), &[]);
        assert_eq!(run_all("x", &[missing()]), 1);
        assert_eq!(run_all("x", &[missing().beside()]), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_step_beside_the_others_begins_with_the_first() {
        let shell = |name, line: &str| Step::new(name, "sh", "sh".to_owned(), &["-c", line]);
        let pipe = env::temp_dir().join(format!("joint-xtask-{}-pipe", process::id()));
        let pipe = pipe.to_string_lossy();
        let made = shell("make", &format!("mkfifo {pipe}"));
        assert_eq!(run_all("x", &[made]), 0);
        // Each end of a pipe waits for the other.
        let reads = shell("reads", &format!("cat {pipe}; rm {pipe}"));
        let writes = shell("writes", &format!("echo a > {pipe}; exit 7")).beside();
        assert_eq!(run_all("x", &[reads, writes]), 7);
        // It is ended with a step that fails.
        let sleeps = shell("sleeps", "exec sleep 1000").beside();
        assert_eq!(run_all("x", &[shell("x", "exit 8"), sleeps]), 8);
    }
}
