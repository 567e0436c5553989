//! Contestants that are measured in a process of their own: this program again, with `child`, the
//! contestant's name and other words on its command line.

use std::{env, process::Command};

/// Runs such a process, and returns the numbers that it prints.
///
/// # Panics
///
/// If it fails, or prints something else.
pub fn ask(contestant: &str, words: &[&str]) -> Vec<f64> {
    let program = env::current_exe().expect("the path of this program");
    let child = Command::new(program)
        .args(["child", contestant])
        .args(words)
        .output()
        .expect("a process can be started");
    let printed = String::from_utf8_lossy(&child.stdout);
    let numbers = printed.split_whitespace().map(|word| word.parse().ok());
    let numbers = numbers.collect::<Option<Vec<_>>>();
    numbers
        .filter(|_| child.status.success())
        .unwrap_or_else(|| {
            let complaints = String::from_utf8_lossy(&child.stderr);
            panic!(
                "{contestant}, {words:?} printed {printed:?}, {}: {complaints}",
                child.status
            )
        })
}

/// If this is such a process, returns what its contestant does, and the other words.
///
/// # Panics
///
/// If there is no contestant of the name.
pub fn asked<T: Copy>(contestants: &[(&str, T)]) -> Option<(T, Vec<String>)> {
    let mut words = env::args().skip(1);
    words.next().filter(|word| word == "child")?;
    let name = words.next().expect("a contestant's name");
    let contestant = contestants.iter().find(|(own, _)| *own == name);
    Some((contestant.expect("a contestant").1, words.collect()))
}
