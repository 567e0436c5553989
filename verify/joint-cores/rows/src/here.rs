//! Measures the rows on a real machine. Prints nanoseconds by operation: the median of some rounds.
//!
//! The arguments are the number of processors that the program may use, and words of titles.

mod peers;
mod rows;
mod work;

use std::{env, time::Instant};

use peers::{Joint, Peer, Tokio};
use rows::{Of, Row};

/// For so long a row is measured, or for so many rounds.
const SECONDS: f64 = 0.25;
const ROUNDS: usize = 101;

fn measure<P: Of>(row: &Row, workers: usize) -> f64 {
    let peer = P::start(workers);
    let run = || P::of(row)(peer, workers);
    run();
    let (start, mut times) = (Instant::now(), vec![run()]);
    while start.elapsed().as_secs_f64() < SECONDS && times.len() < ROUNDS {
        times.push(run());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let words: Vec<_> = env::args().skip(1).collect();
    let workers = words.first().and_then(|word| word.parse().ok());
    let workers = workers.expect("the number of processors");
    let wanted = |row: &Row| {
        words.len() < 2
            || words[1..]
                .iter()
                .any(|word| row.title.contains(word.as_str()))
    };
    for row in rows::all().iter().filter(|row| wanted(row)) {
        let (joint, tokio) = (
            measure::<Joint>(row, workers),
            measure::<Tokio>(row, workers),
        );
        println!(
            "{workers} | {} | {} {joint:.1} | {} {tokio:.1}",
            row.title,
            Joint::NAME,
            Tokio::NAME
        );
    }
}
