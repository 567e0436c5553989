//! `cargo xtask dependents`: packages outside the workspace, which run offline. Two depend on one
//! package of it alone, and two have models that fail.

mod failing;

use std::{collections::BTreeSet, fs, io, path::Path, path::PathBuf};

use super::{
    size::target,
    step::{Step, root, say},
};

/// A package that depends on one of the workspace.
struct Dependent {
    package: &'static str,
    /// From the root.
    folder: &'static str,
    /// The crates that a dependent may build for it, itself included.
    crates: usize,
    program: &'static str,
}

const DEPENDENTS: [Dependent; 2] = [
    Dependent {
        package: "joint",
        folder: "",
        crates: 2,
        program: EXECUTOR,
    },
    Dependent {
        package: "joint-executor",
        folder: "joint-executor",
        crates: 12,
        program: APPLICATION,
    },
];

/// An executor of two threads, from `joint` and std.
const EXECUTOR: &str = r#"//! An executor built on `joint` alone.

use joint::task::{self, JoinHandle, Runnable};
use std::{
    collections::VecDeque,
    future::Future,
    sync::{Arc, Condvar, Mutex},
    thread,
};

#[derive(Default)]
struct Queue {
    /// The tasks that are due, until the queue is closed.
    due: Mutex<(VecDeque<Runnable>, bool)>,
    changed: Condvar,
}

impl Queue {
    fn push(&self, runnable: Runnable) {
        self.due.lock().unwrap().0.push_back(runnable);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.due.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    /// Runs tasks until the queue is empty and closed.
    fn run(&self) {
        loop {
            let due = self.due.lock().unwrap();
            let waits = |due: &mut (VecDeque<Runnable>, bool)| due.0.is_empty() && !due.1;
            let runnable = self.changed.wait_while(due, waits).unwrap().0.pop_front();
            match runnable {
                Some(runnable) => drop(runnable.run()),
                None => return,
            }
        }
    }
}

fn spawn<F>(queue: &Arc<Queue>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let schedule = {
        let queue = queue.clone();
        move |runnable| queue.push(runnable)
    };
    let (runnable, handle) = task::spawn(future, schedule);
    runnable.schedule();
    handle
}

fn main() {
    let queue = Arc::new(Queue::default());
    let threads = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || queue.run())
    });
    // The first task has the first thread until the second one has run on the other.
    let (sender, receiver) = joint::oneshot::channel();
    let first = spawn(&queue, async move {
        let second = receiver.blocking_recv().expect("the second task sends");
        (thread::current().id(), second)
    });
    let second = spawn(&queue, async move { sender.send(thread::current().id()).is_ok() });
    let both = spawn(&queue, async move { (first.await, second.await) });
    let ((one, other), is_sent) = joint::block_on(both);
    assert!(one != other && is_sent);
    queue.close();
    for thread in threads {
        thread.join().expect("no task has panicked");
    }
    println!("joint: two threads have joined each other's tasks");
}
"#;

/// An application, from `joint-executor` and std.
const APPLICATION: &str = r#"//! An application on `joint-executor` alone.

use joint_executor::{Executor, block_on, oneshot, spawn, time::sleep};
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let executor = Executor::builder().workers(2).build()?;
    let (sender, receiver) = oneshot::channel();
    let total = executor.spawn(async move {
        let parts: Vec<_> = (1..=10_u64).map(|n| spawn(async move { n * n })).collect();
        let mut total = 0;
        for part in parts {
            total += part.await;
        }
        sleep(Duration::from_millis(1)).await;
        sender.send(total).is_ok()
    });
    assert_eq!(block_on(receiver), Ok(385));
    assert!(block_on(total));
    println!("joint-executor: a task has slept and sent");
    Ok(())
}
"#;

/// Generates, builds and runs the packages, and returns the status to exit with.
pub(crate) fn run() -> i32 {
    let wrong = DEPENDENTS
        .iter()
        .filter_map(|dependent| dependent.run().err())
        .chain(failing::run().err());
    let wrong: Vec<_> = wrong.collect();
    wrong
        .iter()
        .for_each(|why| say(&format!("dependents failed: {why}")));
    i32::from(!wrong.is_empty())
}

impl Dependent {
    fn run(&self) -> Result<(), String> {
        let folder = target().join("dependents").join(self.package);
        let generated = self.generate(&folder);
        generated.map_err(|error| format!("{}: {error}", folder.display()))?;

        let run = self.step(&folder, &["run", "--quiet"]).command().status();
        let run = run.map_err(|error| format!("could not start cargo: {error}"))?;
        if !run.success() {
            return Err(format!("the program on {}: {run}", self.package));
        }
        let tree = self.tree(&folder)?;
        print!("{tree}");
        let names = tree
            .lines()
            .map(|line| line.trim_start_matches([' ', '│', '├', '└', '─']));
        let names = names.collect::<Vec<_>>().join("\n");
        // Without the generated package itself.
        let crates = count(&names) - 1;
        say(&format!("{}: {crates} crates", self.package));
        match crates <= self.crates {
            true => Ok(()),
            false => Err(format!(
                "{} brings {crates} crates, and {} are the most",
                self.package, self.crates
            )),
        }
    }

    /// Writes the package, with the versions of the repository's lock file.
    fn generate(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder.join("src"))?;
        let path: PathBuf = root().join(self.folder);
        let manifest = format!(
            "[package]\nname = \"on-{package}\"\nedition = \"2024\"\n\n\
             [dependencies]\n{package} = {{ path = {path:?} }}\n\n[workspace]\n",
            package = self.package,
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
        fs::write(folder.join("src/main.rs"), self.program)
    }

    fn tree(&self, folder: &Path) -> Result<String, String> {
        let args = ["tree", "--edges", "normal,build"];
        let output = self.step(folder, &args).command().output();
        let output = output.map_err(|error| format!("could not start cargo: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn step(&self, folder: &Path, args: &[&str]) -> Step {
        let manifest = folder.join("Cargo.toml");
        let manifest = manifest.to_string_lossy();
        let args = [args, &["--offline", "--manifest-path", &manifest]].concat();
        let build = folder.with_file_name("target");
        Step::cargo("dependents", &args).env("CARGO_TARGET_DIR", build.to_string_lossy())
    }
}

/// How many crates `cargo tree` names: each line begins with the name and the version of one.
fn count(tree: &str) -> usize {
    let names = tree.lines().filter(|line| !line.is_empty());
    let names = names.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    names.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_crate_counts_once() {
        let tree = "a v1.0.0 (/x)\nb v2.0.0\nb v2.0.0 (*)\n\n";
        assert_eq!(super::count(tree), 2);
    }
}
