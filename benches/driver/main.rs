//! The driver beside its peers: timers and descriptors, with one worker and with two.
//!
//! Turns of one task while so many timers are pending (`DELAY` by a sleep of zero, `YIELD` by a yield), timers that never fire, a
//! million timers, TCP connections that echo, and a byte that goes to and fro through pipes.
//!
//! `cargo xtask bench driver`, or `cargo bench --bench driver`; with `-- FILTER` only the rows whose titles contain it; with
//! `-- --test` each row runs once, and those of a million with a thousand. `JOINT_CRITERION=1` adds criterion.
//!
//! To count the system calls of a row: `strace -c -f` on the program that cargo says it runs, with `--bench "FILTER"`.

use std::time::Duration;

mod descriptors;
mod million;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part")]
mod support;
mod timers;

use support::{
    driven::{Driven, Smol},
    locals::tokio::DrivenTokioLocal,
    options::Options,
    pools::{joint::Joint, tokio::DrivenTokioPool},
    runtime::Pool,
    table::Table,
};

/// All with as many workers.
struct Contestants<T: 'static> {
    joint: &'static Joint,
    tokio: &'static T,
    smol: &'static Smol,
}

/// A table in which all have the same rows, given as a function of the runtime.
macro_rules! table {
    ($title:expr, $budget:expr, $all:expr, $rows:expr) => {
        Table::new($title, $budget)
            .with("joint", $all.joint, $rows)
            .with("tokio", $all.tokio, $rows)
            .with("smol", $all.smol, $rows)
    };
}

fn one_worker() -> [Table; 3] {
    let all = Contestants {
        joint: Joint::start(1),
        tokio: &DrivenTokioLocal {},
        smol: Smol::start(1),
    };
    [
        table!(
            "timers, one worker",
            Duration::from_secs(1),
            all,
            timers::one_worker()
        ),
        million(&all),
        table!(
            "descriptors, one worker",
            Duration::from_secs(5),
            all,
            descriptors::rows()
        )
        .heavy(),
    ]
}

fn two_workers() -> [Table; 2] {
    let all = Contestants {
        joint: Joint::start(2),
        tokio: DrivenTokioPool::start(2),
        smol: Smol::start(2),
    };
    [
        table!(
            "timers, two workers",
            Duration::from_secs(3),
            all,
            timers::two_workers()
        ),
        table!(
            "descriptors, two workers",
            Duration::from_secs(10),
            all,
            descriptors::rows()
        )
        .heavy(),
    ]
}

fn million<T: Driven>(all: &Contestants<T>) -> Table {
    let timers = if Options::read().once {
        1_000
    } else {
        1_000_000
    };
    Table::new("a million timers, one worker", Duration::from_secs(5))
        .heavy()
        .with_runs("joint", million::rows(all.joint, timers))
        .with_runs("tokio", million::rows(all.tokio, timers))
        .with_runs("smol", million::rows(all.smol, timers))
}

fn main() {
    let [timers, million, descriptors] = one_worker();
    let [timers_of_two, descriptors_of_two] = two_workers();
    let tables = [
        timers,
        timers_of_two,
        million,
        descriptors,
        descriptors_of_two,
    ];
    support::table::main("driver", &tables, |_, _| ());
}
