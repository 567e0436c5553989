//! Graves of forks: numbers of threads, threads that wait, and flat scopes.

use std::time::Instant;

use joint_benches::{options::Options, work::microsecond};

use super::{
    contestants::{OfForks, Splits},
    grave::{About, nanoseconds},
};

fn compute(microseconds: usize) {
    (0..microseconds).for_each(|_| microsecond());
}

/// Work that is halved again and again took 20% longer on 12 threads than on 8, because its number
/// of parts is a power of two (rayon #968).
#[derive(Clone, Copy)]
pub(crate) struct Halves;

impl Halves {
    const MICROSECONDS: usize = 20;

    fn items() -> usize {
        Options::read().of(96, 8)
    }
}

impl OfForks for Halves {
    fn about(self) -> About {
        About::times(
            "96 items of 20 us, halved (rayon #968)",
            &["one item"],
            "item",
            Self::items(),
        )
    }

    fn run<S: Splits>(self, threads: &'static S) -> Vec<f64> {
        let start = Instant::now();
        threads.each(0, Self::items(), &|_| compute(Self::MICROSECONDS));
        vec![nanoseconds(start.elapsed()) / Self::items() as f64]
    }
}

/// Threads that waited for work took 75% of all processor time, most of it in a function that was
/// called `wait_until_cold` (rayon #642).
///
/// Short parallel work and 100 microseconds on one thread take turns.
#[derive(Clone, Copy)]
pub(crate) struct Waiting(pub(crate) usize);

impl Waiting {
    const MICROSECONDS: usize = 10;
    const ALONE: usize = 100;

    fn bursts() -> usize {
        Options::read().of(30, 2)
    }
}

impl OfForks for Waiting {
    fn about(self) -> About {
        About::times(
            "parallel work and work of one thread take turns (rayon #642)",
            &["one turn"],
            "turn",
            Self::bursts(),
        )
    }

    fn run<S: Splits>(self, threads: &'static S) -> Vec<f64> {
        let start = Instant::now();
        let bursts = || {
            for _ in 0..Self::bursts() {
                threads.each(0, 4 * self.0, &|_| compute(Self::MICROSECONDS));
                compute(Self::ALONE);
            }
        };
        threads.join(bursts, || ());
        vec![nanoseconds(start.elapsed()) / Self::bursts() as f64]
    }
}

/// A scope with many small tasks is slower than the same work halved: one thread queues all tasks,
/// and every other thread takes them from it one by one.
#[derive(Clone, Copy)]
pub(crate) struct FlatScope;

impl FlatScope {
    fn tasks() -> usize {
        Options::read().of(1_000, 20)
    }
}

impl OfForks for FlatScope {
    fn about(self) -> About {
        About::times(
            "a flat scope of tasks of 1 us",
            &["one task of the scope", "the same, halved"],
            "task",
            2 * Self::tasks(),
        )
    }

    fn run<S: Splits>(self, threads: &'static S) -> Vec<f64> {
        let start = Instant::now();
        threads.scope(Self::tasks());
        let flat = start.elapsed();
        let start = Instant::now();
        threads.each(0, Self::tasks(), &|_| microsecond());
        [flat, start.elapsed()]
            .map(|time| nanoseconds(time) / Self::tasks() as f64)
            .into()
    }
}
