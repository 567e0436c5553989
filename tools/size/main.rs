//! The bytes of code that one more task type costs: `joint` beside async-task.
//!
//! Two packages are generated below the target folder, which differ only in the crate that spawns.
//! Each has a program with a number of future types, and one with twice that number. The difference
//! in size, divided by the number of additional types, is the cost of one type.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, exit},
};

/// How many types the smaller program has.
const TYPES: usize = 100;

/// The crate's name in the generated package's dependencies, and the line that says where it comes
/// from.
type Peer = (&'static str, fn() -> String);

const PEERS: [Peer; 2] = [
    ("joint", || format!("joint = {{ path = {:?} }}", root())),
    ("async-task", || "async-task = \"4.7.1\"".to_owned()),
];

/// The cargo profile, and its name in the table.
const PROFILES: [(&str, &str); 2] = [("release", "3"), ("small", "s")];

/// The schedule function: the name of the programs, its name in the table, and the expression.
const SCHEDULES: [(&str, &str, &str); 2] = [
    ("plain", "a function", "push"),
    (
        "shared",
        "a closure with an `Arc`",
        "{ let queue = queue.clone(); move |runnable| queue.push(runnable) }",
    ),
];

/// Builds everything, and prints the table.
fn main() {
    match table() {
        Ok(table) => print!("{table}"),
        Err(why) => {
            eprintln!("{why}");
            exit(1);
        }
    }
}

/// The repository's root, two folders above this package.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

fn table() -> Result<String, String> {
    let mut sizes = Vec::new();
    for (peer, dependency) in PEERS {
        let package = target().join("size").join(peer);
        generate(&package, peer, &dependency()).map_err(|error| error.to_string())?;
        for (profile, _) in PROFILES {
            build(&package, profile)?;
            for (schedule, ..) in SCHEDULES {
                let of = |types| measured(&package, profile, schedule, types);
                sizes.push(of(2 * TYPES)?.per_type(of(TYPES)?));
            }
        }
    }
    let mut out = format!(
        "Bytes for each task type ({TYPES} types more; spawned, run and joined)\n\
         | opt-level | schedule function | joint: code | async-task: code | ratio | joint: all that is loaded \
         | async-task: all that is loaded | ratio |\n|---|---|---|---|---|---|---|---|\n"
    );
    let (joint, async_task) = sizes.split_at(sizes.len() / 2);
    let rows = PROFILES
        .iter()
        .flat_map(|(_, level)| SCHEDULES.iter().map(move |(_, title, _)| (level, title)));
    for ((level, title), (joint, peer)) in rows.zip(joint.iter().zip(async_task)) {
        let (code, loaded) = (joint.code / peer.code, joint.loaded / peer.loaded);
        let _ = writeln!(
            out,
            "| {level} | {title} | {:.0} | {:.0} | {code:.2} | {:.0} | {:.0} | {loaded:.2} |",
            joint.code, peer.code, joint.loaded, peer.loaded,
        );
    }
    Ok(out)
}

fn target() -> PathBuf {
    let set = env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
    root().join(set)
}

/// Writes the package, with the versions of the repository's lock file.
fn generate(package: &Path, peer: &str, dependency: &str) -> io::Result<()> {
    let programs = package.join("src/bin");
    fs::create_dir_all(&programs)?;
    let manifest = format!(
        "[package]\nname = \"size-{peer}\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n\
         [workspace]\n\n[profile.release]\ncodegen-units = 1\n\n\
         [profile.small]\ninherits = \"release\"\nopt-level = \"s\"\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock"))?;
    let names = match peer {
        "joint" => "use joint::task::{JoinHandle as Handle, Runnable, spawn};",
        _ => "use async_task::{Runnable, Task as Handle, spawn};",
    };
    for (schedule, _, function) in SCHEDULES {
        for types in [TYPES, 2 * TYPES] {
            let text = program(names, function, types);
            fs::write(programs.join(format!("{schedule}{types}.rs")), text)?;
        }
    }
    Ok(())
}

/// A program with `types` types of futures. Some of them own memory, some free memory, and some do
/// neither.
fn program(names: &str, schedule: &str, types: usize) -> String {
    let mut text = format!("#![allow(unused)]\n{names}{PROGRAM}");
    for i in 0..types {
        let future = match i % 4 {
            0 => format!("yield_once().await; seed ^ {i}"),
            1 => format!("black_box(seed + {i});"),
            2 => format!("yield_once().await; owned.len() + {i}"),
            _ => format!("yield_once().await; owned + \"{i}\""),
        };
        let _ = writeln!(
            text,
            "#[inline(never)] fn spawn{i}(queue: &Arc<Queue>, seed: u64, owned: String) {{\n\
             let (runnable, handle) = spawn(async move {{ {future} }}, {schedule});\n\
             join(queue, runnable, handle);\n}}",
        );
    }
    text.push_str("fn main() {\nlet queue = Arc::new(Queue::default());\n");
    text.push_str("let seed = std::env::args().count() as u64;\n");
    for i in 0..types {
        let _ = writeln!(text, "spawn{i}(&queue, seed, String::new());");
    }
    text.push_str("}\n");
    text
}

/// The source that all programs share.
const PROGRAM: &str = r#"
use std::{cell::RefCell, future::Future, hint::black_box, pin::{Pin, pin}, sync::{Arc, Mutex}, task::{Context, Poll, Waker}};

thread_local!(static PUSHED: RefCell<Vec<Runnable>> = const { RefCell::new(Vec::new()) });

fn push(runnable: Runnable) { PUSHED.with_borrow_mut(|queue| queue.push(runnable)) }

#[derive(Default)]
struct Queue(Mutex<Vec<Runnable>>);

impl Queue {
    #[inline(never)]
    fn push(&self, runnable: Runnable) { self.0.lock().unwrap().push(runnable) }

    #[inline(never)]
    fn run(&self) {
        loop {
            let shared = self.0.lock().unwrap().pop();
            match shared.or_else(|| PUSHED.with_borrow_mut(Vec::pop)) {
                Some(runnable) => drop(runnable.run()),
                None => return,
            }
        }
    }
}

#[derive(Default)]
struct Yield(bool);

impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { return Poll::Ready(()) }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

fn yield_once() -> Yield { Yield::default() }

#[inline(never)]
fn join<T>(queue: &Queue, runnable: Runnable, handle: Handle<T>) {
    runnable.schedule();
    queue.run();
    assert!(pin!(handle).poll(&mut Context::from_waker(Waker::noop())).is_ready());
}
"#;

/// The size of one program.
struct Size {
    code: f64,
    loaded: f64,
}

impl Size {
    fn per_type(self, smaller: Self) -> Self {
        Self {
            code: (self.code - smaller.code) / TYPES as f64,
            loaded: (self.loaded - smaller.loaded) / TYPES as f64,
        }
    }
}

fn build(package: &Path, profile: &str) -> Result<(), String> {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--bins", "--profile", profile])
        .arg("--target-dir")
        .arg(package.with_file_name("target"))
        .current_dir(package)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo build in {}: {status}", package.display())),
        Err(error) => Err(format!("could not start cargo: {error}")),
    }
}

fn measured(package: &Path, profile: &str, schedule: &str, types: usize) -> Result<Size, String> {
    let program = package.with_file_name("target").join(profile);
    let program = program.join(format!("{schedule}{types}{}", env::consts::EXE_SUFFIX));
    let file = fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    sections(&file).ok_or_else(|| {
        format!(
            "{} is not a 64-bit little-endian ELF file, and no other format's sections are read here",
            program.display()
        )
    })
}

/// Returns the sizes in an ELF file's section headers: that of `.text`, and that of everything that
/// is loaded from the file.
fn sections(file: &[u8]) -> Option<Size> {
    const ALLOCATED: u64 = 2;
    const NO_BITS: u64 = 8;
    let number = |at: usize, length: usize| {
        let bytes = file.get(at..at.checked_add(length)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
        )
    };
    // The magic number, 64 bits, little-endian.
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, each, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let header = |i: u64| Some((table + i * each) as usize);
    let names = number(header(number(0x3e, 2)?)? + 0x18, 8)?;
    let mut size = Size {
        code: 0.0,
        loaded: 0.0,
    };
    for i in 0..count {
        let at = header(i)?;
        let name = (names + number(at, 4)?) as usize;
        let (kind, flags, length) = (
            number(at + 4, 4)?,
            number(at + 8, 8)?,
            number(at + 0x20, 8)?,
        );
        if flags & ALLOCATED != 0 && kind != NO_BITS {
            size.loaded += length as f64;
        }
        if file.get(name..)?.starts_with(b".text\0") {
            size.code += length as f64;
        }
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_elf_has_no_sections() {
        assert!(sections(b"MZ").is_none());
        assert!(sections(b"\x7fELF\x02\x01").is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sections_of_this_program_are_plausible() {
        let file = fs::read(env::current_exe().expect("a path")).expect("a file");
        let size = sections(&file).expect("an ELF file");
        assert!(0.0 < size.code && size.code < size.loaded && size.loaded < file.len() as f64);
    }

    #[test]
    fn a_program_has_as_many_types_as_it_says() {
        let text = program("", "push", 8);
        assert_eq!(text.matches("fn spawn").count(), 8);
        assert_eq!(text.matches("(&queue, seed").count(), 8);
    }
}
