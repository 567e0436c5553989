//! One program to run, and how a list of them is run and reported.

use std::{
    env, fmt,
    fs::{self, File},
    io::{self, IsTerminal, stderr},
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus},
    time::Instant,
};

/// Why a command has not ended with the status of a step.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    /// Something is not installed, which is no failure.
    Skipped(String),
    Failed(String),
    /// The user asked for what does not exist.
    Refused(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The status to exit with.
pub(crate) type Done = Result<i32, Stop>;

/// The repository's root, two folders above this package.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let package = PathBuf::from(package);
    let root = package.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or(package)
}

/// The folder with all that is built.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into()))
}

/// A program with its arguments, where it runs and what is changed in its environment.
#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    /// The name in the command line: the program's own, without its folder.
    shown: &'static str,
    command: Command,
    /// From the root.
    folder: &'static str,
    /// Whether it runs beside the steps before it.
    beside: bool,
}

impl Step {
    /// A run of the cargo that runs this program, with the words of `line`.
    pub(crate) fn cargo(name: &'static str, line: &str) -> Self {
        let program = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        Self::new(name, "cargo", &program, line)
    }

    /// Another command of this program. It is not run by way of cargo, which would wait for a build
    /// that is under way.
    pub(crate) fn xtask(name: &'static str, line: &str) -> Self {
        let program = env::current_exe().unwrap_or("xtask".into());
        Self::new(name, "cargo xtask", &program.to_string_lossy(), line)
    }

    /// A run of a toolchain's cargo, by way of rustup.
    pub(crate) fn cargo_of(toolchain: &str, name: &'static str, line: &str) -> Self {
        let line = format!("run {toolchain} cargo {line}");
        let mut step = Self::new(name, "rustup", "rustup", &line);
        // A cargo that finds this set passes it on as its own path, and it is stable's.
        step.command.env_remove("CARGO");
        step.command.env("RUSTUP_AUTO_INSTALL", "0");
        step
    }

    /// A run of another program.
    pub(crate) fn program(name: &'static str, program: &'static str, line: &str) -> Self {
        Self::new(name, program, program, line)
    }

    fn new(name: &'static str, shown: &'static str, program: &str, line: &str) -> Self {
        let mut command = Command::new(program);
        command.args(line.split_whitespace()).current_dir(root());
        Self {
            name,
            shown,
            command,
            folder: "",
            beside: false,
        }
    }

    /// Adds words, which may contain spaces.
    pub(crate) fn args<S: AsRef<str>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command
            .args(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn arg(self, arg: impl AsRef<str>) -> Self {
        self.args([arg])
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<str>) -> Self {
        self.command.env(key, value.as_ref());
        self
    }

    /// Runs in this folder, given from the root.
    pub(crate) fn in_folder(mut self, folder: &'static str) -> Self {
        self.command.current_dir(root().join(folder));
        self.folder = folder;
        self
    }

    /// Starts the step together with the first one, and shows what it has printed when its turn
    /// comes. For a long step that shares no build with the steps before it: together they leave
    /// fewer processors idle.
    pub(crate) fn beside(mut self) -> Self {
        self.beside = true;
        self
    }

    /// Adds flags, separated by spaces, to those that a variable has.
    pub(crate) fn flags(self, key: &str, flags: &str) -> Self {
        let flags = appended(self.set(key), flags, ' ');
        self.env(key, flags)
    }

    /// The value of a variable that the step has set, or that is set for this program.
    fn set(&self, key: &str) -> Option<String> {
        let mut own = self.command.get_envs().filter(|(own, _)| *own == key);
        let own = own
            .next()
            .and_then(|(_, value)| value?.to_str().map(str::to_owned));
        own.or_else(|| env::var(key).ok())
    }

    /// Gives flags to the compiler, separated by spaces, beside those that are set.
    pub(crate) fn rustc(self, flags: &str) -> Self {
        // It goes before the other variable.
        match self.set("CARGO_ENCODED_RUSTFLAGS") {
            Some(set) => {
                let flags = appended(Some(set), &flags.replace(' ', "\u{1f}"), '\u{1f}');
                self.env("CARGO_ENCODED_RUSTFLAGS", flags)
            }
            None => self.flags("RUSTFLAGS", flags),
        }
    }

    /// Runs in the models' package, whose own configuration sets the cfg and the target folder.
    ///
    /// Variables of the environment would override that configuration, so they are given the same
    /// contents.
    pub(crate) fn in_models(self) -> Self {
        let mut step = self.in_folder("loom-tests");
        let flags = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];
        if flags.iter().any(|key| step.set(key).is_some()) {
            step = step.rustc("--cfg joint_loom");
        }
        match env::var_os("CARGO_TARGET_DIR") {
            Some(_) => step.env("CARGO_TARGET_DIR", target().join("loom").to_string_lossy()),
            None => step,
        }
    }

    /// Runs it, and returns what it prints, or its errors.
    pub(crate) fn output(mut self) -> Result<String, String> {
        let output = self
            .command
            .output()
            .map_err(|error| format!("{}: {error}", self.shown))?;
        let printed = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match output.status.success() {
            true => Ok(printed(output.stdout)),
            false => Err(printed(output.stderr)),
        }
    }

    /// Skips a command, unless this step passes.
    pub(crate) fn or_skip(self, why: &str) -> Result<(), Stop> {
        let output = self.output();
        output.map(drop).map_err(|_| Stop::Skipped(why.to_owned()))
    }
}

fn appended(before: Option<String>, flags: &str, separator: char) -> String {
    match before {
        Some(before) if !before.is_empty() => format!("{before}{separator}{flags}"),
        _ => flags.to_owned(),
    }
}

/// Skips a command, unless this subcommand of cargo is installed.
pub(crate) fn needs(subcommand: &str) -> Result<(), Stop> {
    let step = Step::cargo("", &format!("{subcommand} --version"));
    let name = format!("cargo-{subcommand}");
    let get = format!("cargo install --locked {name}");
    step.or_skip(&format!("{name} is not installed; to get it: {get}"))
}

impl fmt::Display for Step {
    /// The command line, as one would type it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.folder.is_empty() {
            write!(f, "cd {} && ", self.folder)?;
        }
        for (key, value) in self.command.get_envs() {
            if let Some(value) = value {
                let value = quoted(&value.to_string_lossy());
                write!(f, "{}={value} ", key.to_string_lossy())?;
            }
        }
        write!(f, "{}", self.shown)?;
        let mut args = self.command.get_args();
        args.try_for_each(|arg| write!(f, " {}", quoted(&arg.to_string_lossy())))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+./:,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{word}'"),
    }
}

/// A step that runs beside others, and the file that its output goes to.
struct Beside {
    child: Child,
    output: PathBuf,
}

impl Beside {
    fn start(step: &mut Step) -> io::Result<Self> {
        let name = format!("joint-xtask-{}-{}", process::id(), step.name);
        let output = env::temp_dir().join(name);
        let file = File::create(&output)?;
        step.command.stdout(file.try_clone()?).stderr(file);
        let child = step.command.spawn()?;
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
pub(crate) fn run_all(command: &str, mut steps: Vec<Step>) -> i32 {
    let start = Instant::now();
    let beside = steps
        .iter_mut()
        .map(|step| step.beside.then(|| Beside::start(step)));
    let mut beside: Vec<_> = beside.collect();
    let count = steps.len();
    for (n, step) in steps.iter_mut().enumerate() {
        say(&format!("[{}/{count}] {}: {step}", n + 1, step.name));
        let step_start = Instant::now();
        let ended = match beside[n].take() {
            Some(started) => started.and_then(Beside::finish),
            None => step.command.status(),
        };
        let took = step_start.elapsed().as_secs_f64();
        let (code, why) = match ended {
            Ok(status) if status.success() => {
                say(&format!("{}: passed in {took:.1} s", step.name));
                continue;
            }
            Ok(status) => (status_code(status), status.to_string()),
            Err(error) => (1, format!("could not start {}: {error}", step.shown)),
        };
        say(&format!(
            "{command} failed after {took:.1} s in `{}`: {why}",
            step.name
        ));
        return code;
    }
    let took = start.elapsed().as_secs_f64();
    say(&format!("{command} passed in {took:.1} s (steps: {count})"));
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
    match stderr().is_terminal() {
        true => eprintln!("\x1b[1mxtask: {line}\x1b[0m"),
        false => eprintln!("xtask: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_typed_and_flags_are_added() {
        let step = Step::cargo("x", "bench --bench *").env("A", "b c");
        assert_eq!(step.to_string(), "A='b c' cargo bench --bench '*'");
        assert_eq!(step.flags("A", "d").set("A").as_deref(), Some("b c d"));
        let step = Step::cargo("x", "test").env("CARGO_ENCODED_RUSTFLAGS", "a");
        let set = step.in_models().set("CARGO_ENCODED_RUSTFLAGS");
        assert_eq!(set.as_deref(), Some("a\u{1f}--cfg\u{1f}joint_loom"));
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_step_stops_the_run_and_gives_its_status() {
        let shell = |line: &str| Step::program("x", "sh", "-c").arg(line);
        let lines = ["exit 0", "exit 7", "exit 8"];
        assert_eq!(run_all("x", lines.map(shell).into()), 7);
        assert_eq!(run_all("x", vec![shell("kill -9 $$")]), 137);
        let missing = || Step::program("x", "no-such-program", "");
        assert_eq!(run_all("x", vec![missing().beside()]), 1);
        // A step beside the others is ended with the one that fails.
        let sleeps = shell("exec sleep 1000").beside();
        assert_eq!(run_all("x", vec![shell("exit 8"), sleeps]), 8);
    }
}
