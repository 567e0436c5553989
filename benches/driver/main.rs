//! The driver beside its peers: timers and descriptors, with one worker and with two. `DELAY` and
//! `YIELD` are turns of one task, by a sleep of zero or a yield, while timers are pending.
//!
//! The system calls of one contestant in some rows:
//! `JOINT_BENCH_ONLY=joint strace -c -f PROGRAM --bench FILTER`, with the program that
//! `cargo bench -p joint-benches --no-run --bench driver` names.

use std::time::Duration;

mod busy;
#[cfg(unix)]
#[path = "../graveyard/cost.rs"]
mod cost;
mod descriptors;
mod million;
mod timers;

use joint_benches::{
    allocator::Allocator,
    driven::smol::Smol,
    locals::tokio::DrivenTokioLocal,
    pools::{joint::Joint, tokio::DrivenTokioPool},
    processors::Processors,
    runtime::Pool,
    table::Table,
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// A table in which all have the same rows.
macro_rules! table {
    ($title:expr, $seconds:expr, $all:expr, $rows:expr) => {
        Table::new($title, Duration::from_secs($seconds))
            .with("joint", $all.0, $rows)
            .with(
                "tokio",
                $all.1,
                $rows.into_iter().filter(|row| !timers::is_delay(row)),
            )
            .with("smol", $all.2, $rows)
    };
}

fn main() {
    let processors = Processors::of_this_process();
    let alone = || (Joint::start(1), &DrivenTokioLocal {}, Smol::start(1));
    let alone = processors.on_first(1, alone);
    let both = (Joint::start(2), DrivenTokioPool::start(2), Smol::start(2));
    let tables = [
        table!("timers, one worker", 1, alone, timers::one_worker())
            .on_first_of(processors.clone()),
        table!("timers, two workers", 3, both, timers::two_workers()),
        table!("a million timers, one worker", 5, alone, million::rows())
            .on_first_of(processors.clone())
            .heavy(),
        table!("descriptors, one worker", 5, alone, descriptors::rows())
            .on_first_of(processors.clone())
            .heavy(),
        table!("descriptors, two workers", 10, both, descriptors::rows()).heavy(),
        table!(
            "beside a task that yields every 45 us, two workers",
            10,
            both,
            busy::rows()
        )
        .heavy(),
    ];
    joint_benches::table::main("driver", &tables, |_, _| ());
}
