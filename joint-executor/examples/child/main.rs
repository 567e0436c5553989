//! Runs commands at the same time, and prints their output line by line as it arrives.
//!
//! ```text
//! cargo run --release --example child -- [--limit SECONDS] COMMAND...
//! ```
//!
//! Each command is given to `sh -c`. A line begins with the number of its command; those of
//! standard error also have a `!`. A command that takes longer than the limit is killed. Only on
//! Unix.

#[path = "../options/mod.rs"]
mod options;

use std::process::ExitCode;

use lexopt::{
    Arg::{Long, Value},
    ValueExt,
};

const HELP: &str = "\
Runs shell commands at the same time, and prints their output line by line.

Usage: child [--limit SECONDS] COMMAND...

  --limit SECONDS   kill commands that take longer, 1 to 86400 (default: 86400)
  -h, --help        print this
  -V, --version     print the version

Exit status: 0 all commands have succeeded, 2 one has not.
";

fn main() -> ExitCode {
    options::run("child", HELP, |mut options| {
        let (mut limit, mut commands) = (86_400, Vec::new());
        while let Some(word) = options.next()? {
            match word {
                Long("limit") => limit = options.number("--limit", 1..=86_400)?,
                Value(command) => commands.push(command.string()?),
                word => return Err(word.unexpected().into()),
            }
        }
        #[cfg(unix)]
        return Ok(commands::run(
            commands,
            std::time::Duration::from_secs(limit),
        )?);
        #[cfg(not(unix))]
        Err(format!(
            "no pipes for {} commands within {limit} s here",
            commands.len()
        )
        .into())
    })
}

#[cfg(unix)]
mod commands {
    use std::{
        io,
        os::fd::OwnedFd,
        process::{Child, Command, Stdio},
        time::Duration,
    };

    use futures_lite::{AsyncBufReadExt, StreamExt, future, io::BufReader};
    use joint_executor::{JoinSet, block_on, io::PipeReader, spawn_blocking, time::timeout};

    pub(crate) fn run(commands: Vec<String>, limit: Duration) -> Result<(), String> {
        let mut running = JoinSet::new();
        for (number, command) in commands.into_iter().enumerate() {
            running.spawn(async move {
                let ended = one(number, &command, limit).await;
                ended.map_err(|error| format!("`{command}`: {error}"))
            });
        }
        block_on(running.join_all()).into_iter().collect()
    }

    /// Runs a command to its end.
    async fn one(number: usize, command: &str, limit: Duration) -> io::Result<()> {
        let child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut child = Killed(child);
        let output = child.0.stdout.take().map(OwnedFd::from);
        let complaints = child.0.stderr.take().map(OwnedFd::from);
        let lines = async {
            let output = print(output, format!("{number}  "));
            let complaints = print(complaints, format!("{number}! "));
            future::try_zip(output, complaints).await
        };
        // The child is killed when this returns early.
        timeout(limit, lines).await??;
        // Its output has ended, so it has ended or is about to.
        let status = spawn_blocking(move || child.0.wait()).await?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(status.to_string())),
        }
    }

    async fn print(pipe: Option<OwnedFd>, label: String) -> io::Result<()> {
        let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut lines = BufReader::new(PipeReader::try_from(pipe)?).lines();
        while let Some(line) = lines.next().await {
            println!("{label}{}", line?);
        }
        Ok(())
    }

    /// A child that does not outlive the task that waits for it.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            // An error says that it has ended and was waited for.
            if self.0.kill().is_ok() {
                let _ = self.0.wait();
            }
        }
    }
}
