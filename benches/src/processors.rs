//! Which processors the program may use, and which of them a run does.

use std::thread;

/// The processors in the order in which they are used: one of each core first, package by package,
/// and then the cores' other threads.
#[derive(Clone)]
pub struct Processors {
    /// Their numbers, or `None` if the system does not say which there are.
    numbers: Option<Vec<usize>>,
    count: usize,
}

impl Processors {
    /// Those that the program may use, by its affinity mask and its control group.
    pub fn of_this_process() -> Self {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let numbers = allowed().map(|mut numbers| {
            let places: Vec<_> = numbers.iter().map(|number| place(*number)).collect();
            // How many of the same core come before it.
            let rank = |i: usize| places[..i].iter().filter(|p| **p == places[i]).count();
            let mut order: Vec<_> = (0..numbers.len()).collect();
            order.sort_by_key(|&i| (rank(i), places[i], numbers[i]));
            numbers = order.into_iter().map(|i| numbers[i]).collect();
            numbers
        });
        Self { numbers, count }
    }

    /// How many workers can run at once.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns their numbers in words.
    pub fn in_words(&self) -> String {
        match &self.numbers {
            Some(numbers) => {
                let numbers = numbers.iter().map(usize::to_string);
                format!(
                    "A run with n workers is kept on the first n of these processors: {}.",
                    numbers.collect::<Vec<_>>().join(", ")
                )
            }
            None => {
                "The system cannot keep threads on some processors, so all runs use all.".into()
            }
        }
    }

    /// Calls `f` on the first `count` processors. A thread that it starts stays there.
    pub fn on_first<T>(&self, count: usize, f: impl FnOnce() -> T) -> T {
        let Some(numbers) = &self.numbers else {
            return f();
        };
        keep_on(&numbers[..count.min(numbers.len())]);
        let done = f();
        keep_on(numbers);
        done
    }
}

#[cfg(target_os = "linux")]
fn allowed() -> Option<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let set = sched_getaffinity(None).ok()?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number));
    Some(numbers.collect())
}

#[cfg(target_os = "linux")]
fn keep_on(numbers: &[usize]) {
    use rustix::thread::{CpuSet, sched_setaffinity};

    let mut set = CpuSet::new();
    numbers.iter().for_each(|number| set.set(*number));
    sched_setaffinity(None, &set).expect("the program may use these processors");
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<Vec<usize>> {
    None
}

#[cfg(not(target_os = "linux"))]
fn keep_on(_: &[usize]) {}

/// The package and the core of a processor. Where the system does not say, each is a core.
fn place(number: usize) -> (usize, usize) {
    let read = |what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{number}/topology/{what}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    (
        read("physical_package_id").unwrap_or(0),
        read("core_id").unwrap_or(number),
    )
}
