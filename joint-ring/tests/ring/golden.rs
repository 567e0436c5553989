//! The example `sums`, with io_uring and without it. The examples have to be built first.

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Output},
};

/// The example on two files, one of which is the program itself, and what it prints.
fn sums() -> (Command, String) {
    let mut program = env::current_exe().unwrap();
    program.pop();
    program.set_file_name("examples");
    program.push("sums");
    assert!(program.exists(), "`cargo build --examples` has to be first");
    let files = [PathBuf::from("Cargo.toml"), program.clone()];
    let mut command = crate::again::program(program);
    command.args(&files);
    let sums = files.map(|file| {
        let sum: u64 = fs::read(&file).unwrap().into_iter().map(u64::from).sum();
        format!("{sum:>16} {}\n", file.display())
    });
    (command, sums.concat())
}

fn text(output: &Output) -> (&str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_example_reads_files() {
    let (mut sums, expected) = sums();
    let output = sums.output().unwrap();
    assert_eq!(text(&output).0, expected);
}

#[test]
fn the_example_falls_back_to_threads() {
    let (mut sums, expected) = sums();
    // SAFETY: the function makes two system calls, and allocates nothing.
    unsafe { sums.pre_exec(|| crate::refusal::refuse(&crate::refusal::CALLS, libc::EPERM)) };
    let output = sums.output().unwrap();
    let (sums, said) = text(&output);
    assert_eq!(sums, expected);
    let why = "reading by threads: io_uring is forbidden here";
    assert_eq!(said.lines().filter(|line| line.starts_with(why)).count(), 2);
}
