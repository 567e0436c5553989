//! Packages outside the workspace whose models fail, and what `joint-lab` and `joint-check` say
//! about them: the crates to copy of their READMEs and of `docs/your-models.md`, and the executor
//! of `examples/executor`.

use std::fs;

use super::{Outside, root, text};

/// The flags, the arguments and the repair of a package.
struct Failing {
    name: &'static str,
    manifest: String,
    /// Paths and contents.
    files: Vec<(&'static str, String)>,
    flags: String,
    args: Vec<String>,
    /// What the failing test prints.
    says: String,
    /// What takes the place of what in the first file, so that the model passes.
    repair: (&'static str, &'static str),
}

/// Builds them, and compares what their models say before and after the repair.
pub(super) fn run() -> Result<(), String> {
    let path = |package| format!("path = {:?}", root().join(package));
    let lab = format!("joint-lab = {{ {} }}", path("verify/joint-lab"));
    let lab = ("joint-lab = \"0.1\"", &*lab);
    copied("gate", "verify/joint-lab/README.md", &[lab], GATE)?.run()?;
    let check = ("version = \"0.1\"", &*path("verify/joint-check"));
    copied(
        "checked-gate",
        "verify/joint-check/README.md",
        &[check],
        GATE,
    )?
    .run()?;
    let joint = format!("\njoint = {{ {} }}", path(""));
    let joint = ("\njoint = \"0.1\"", &*joint);
    copied("server", "docs/your-models.md", &[joint, lab], SERVER)?.run()?;
    executor()?.run()
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// The bug in the gate of the READMEs, and its repair.
const GATE: (&str, &str) = (
    "        if self.0.load(Acquire) == OPEN {
            return;
        }
        // The bug: the gate may be opened here, and is then shut again.
        self.0.store(WAITED_FOR, Release);
",
    "        let shut = self.0.compare_exchange(SHUT, WAITED_FOR, AcqRel, Acquire);
        if shut.is_err() {
            return;
        }
",
);

/// The bug in the server of `docs/your-models.md`, and its repair.
const SERVER: (&str, &str) = (
    "        if self.is_closed.load(Acquire) {
            return None;
        }
        let (client, answer) = oneshot::channel();
        // The bug: the server may close here, and nobody answers this client.
        self.clients.lock().unwrap().push(client);
",
    "        let (client, answer) = oneshot::channel();
        let mut clients = self.clients.lock().unwrap();
        if self.is_closed.load(Acquire) {
            return None;
        }
        clients.push(client);
",
);

/// A bug in the loop of the example, and what stands there.
const LOOP: (&str, &str) = (
    "                    None => {
                        // The bug: a notification between these two is lost.
                        drop(runnables);
                        runnables = self.pushed.wait(self.runnables.lock().unwrap()).unwrap();
                    }
",
    "                    None => runnables = self.pushed.wait(runnables).unwrap(),
",
);

/// The crate that a reader of a page copies, with the paths of the packages instead of their
/// versions.
fn copied(
    name: &'static str,
    page: &str,
    paths: &[(&str, &str)],
    repair: (&'static str, &'static str),
) -> Result<Failing, String> {
    let text = read(page)?;
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("A crate to copy"));
    let fences = section
        .ok_or(format!("{page} has no crate to copy"))?
        .split("```");
    let blocks: Vec<_> = fences.skip(1).step_by(2).collect();
    let [manifest, lib, model, command, says] = blocks[..] else {
        return Err(format!(
            "the crate to copy has {} blocks, and not five",
            blocks.len()
        ));
    };
    let content = |block: &str| {
        block
            .split_once('\n')
            .map_or("", |block| block.1)
            .to_owned()
    };
    let command = content(command);
    let (flags, args) = command
        .trim()
        .strip_prefix("RUSTFLAGS=\"")
        .and_then(|rest| rest.split_once("\" cargo "))
        .ok_or(format!("this is no command to copy: {command}"))?;
    let by_path = |manifest: String, path: &(&str, &str)| manifest.replace(path.0, path.1);
    Ok(Failing {
        name,
        manifest: paths.iter().fold(content(manifest), by_path),
        files: vec![
            ("src/lib.rs", content(lib)),
            ("tests/model.rs", content(model)),
        ],
        flags: flags.to_owned(),
        args: args.split(' ').map(str::to_owned).collect(),
        says: content(says),
        repair,
    })
}

fn executor() -> Result<Failing, String> {
    let (bug, repair) = LOOP;
    let queue = read("examples/executor/queue.rs")?;
    Ok(Failing {
        name: "executor",
        manifest: format!(
            "[package]\nname = \"executor\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\njoint = {{ path = {:?} }}\n\n\
             [target.'cfg(joint_loom)'.dependencies]\njoint-lab = {{ path = {:?} }}\n\n\
             [lints.rust]\n\
             unexpected_cfgs = {{ level = \"warn\", check-cfg = [\"cfg(joint_loom)\"] }}\n",
            root(),
            root().join("verify/joint-lab"),
        ),
        files: vec![
            ("src/queue.rs", queue.replacen(repair, bug, 1)),
            ("src/lib.rs", read("tools/dependents/executor/lib.rs")?),
        ],
        flags: "--cfg joint_loom".to_owned(),
        args: ["test", "--release", "--lib"].map(str::to_owned).into(),
        says: read("tools/dependents/executor/golden.txt")?,
        repair: LOOP,
    })
}

impl Failing {
    fn run(&self) -> Result<(), String> {
        let (bug, repair) = self.repair;
        let (_, broken) = &self.files[0];
        let repaired = broken.replacen(bug, repair, 1);
        if repaired == *broken {
            return Err(format!("{}: its bug was not found", self.name));
        }
        let (passed, printed) = self.test(broken)?;
        let (printed, says) = (shown(&printed), shown(&self.says));
        if passed || !printed.contains(&says) {
            return Err(format!(
                "the model of {} should fail and say\n{says}\nbut it said\n{printed}",
                self.name
            ));
        }
        match self.test(&repaired)? {
            (true, _) => println!(
                "{}: the model names the bug, and passes without it",
                self.name
            ),
            (false, printed) => return Err(format!("{} is not repaired:\n{printed}", self.name)),
        }
        Ok(())
    }

    /// Returns whether the model passes, and what it prints.
    fn test(&self, first: &str) -> Result<(bool, String), String> {
        let mut files: Vec<_> = self
            .files
            .iter()
            .map(|(path, text)| (*path, &**text))
            .collect();
        files[0].1 = first;
        let outside = Outside::write(self.name, &self.manifest, &files)?;
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        let output = outside.model(&args, &self.flags)?;
        Ok((output.status.success(), text(&output)))
    }
}

/// What a test has printed, without what changes with the source of joint and the folder's name:
/// how many steps a row stands for, the lines of joint, and the width of the columns.
fn shown(printed: &str) -> String {
    let word = |word: &str| match word.split_once("/src/") {
        Some((_, file)) => format!("joint/src/{}", file.split(':').next().unwrap_or_default()),
        None => word.to_owned(),
    };
    let words = |line: &str| {
        let words: Vec<_> = line.split_whitespace().map(word).collect();
        words.join(" ")
    };
    let line = |line: &str| match line.split_once('…') {
        Some((row, _)) => format!("{}… steps of joint\n", words(row) + " "),
        None => words(line) + "\n",
    };
    printed.lines().map(line).collect()
}
