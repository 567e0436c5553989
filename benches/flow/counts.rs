//! Counts beside the times, where they explain them: allocations and polls.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use joint_benches::{
    options::Options,
    report::{Measured, Report},
    runtime::leak,
};

use super::{
    combinators::{Signal, Wait},
    heap::allocations,
    tasks::NamedRun,
};

/// The rows whose allocations are counted. Of rows that differ in a size only, one is enough.
const COUNTED: [&str; 9] = [
    "NET2/512",
    "CALLBACK<32>/64",
    "collection: add 256",
    "spawn and cancel 1,024",
    "race of 2, the second is ready",
    "race of 2, the first is woken",
    "choice of 2, the first is woken",
    "quorum 2 of 3, two are woken",
    "STREAM/64",
];

/// A contestant of a table, and its rows.
pub(crate) type Contestant = (&'static str, fn() -> Vec<NamedRun>);

/// Prints and records rows of counts, with `None` for a contestant that cannot do one.
fn print<'a>(
    (title, unit): (&str, &str),
    contestants: &[&str],
    rows: impl Iterator<Item = (&'a str, Vec<Option<f64>>)>,
    report: &mut Report,
) {
    let mut has_head = false;
    for (row, values) in rows {
        if !std::mem::replace(&mut has_head, true) {
            report.head(title, contestants.iter().copied());
        }
        let own = values[0].unwrap_or(f64::NAN);
        let figures = contestants
            .iter()
            .zip(values)
            .map(|(name, value)| Measured {
                contestant: (*name).to_owned(),
                value,
                // There is no ratio to nothing, so what is more than nothing counts from one.
                ratio: value.map_or(f64::NAN, |value| match own {
                    0.0 => 1.0 + value,
                    own => value / own,
                }),
                is_peer: !name.starts_with("joint") && *name != super::BY_HAND,
            });
        report.row(title, row, unit, &figures.collect::<Vec<_>>());
    }
}

/// Prints how often memory is requested in each operation of a table's rows.
pub(crate) fn print_allocations(
    title: &str,
    contestants: &[Contestant],
    options: &Options,
    report: &mut Report,
) {
    let runs: Vec<_> = contestants.iter().map(|(_, rows)| rows()).collect();
    let count = |runs: &[NamedRun], row: &str| {
        let (_, operations, run) = runs.iter().find(|(title, ..)| *title == row)?;
        // The first run lets caches and queues reach their sizes.
        run();
        Some(allocations(run) as f64 / *operations as f64)
    };
    let names: Vec<_> = contestants.iter().map(|(name, _)| *name).collect();
    let rows = COUNTED.into_iter().filter(|row| {
        let is_here = runs[0].iter().any(|(title, ..)| title == row);
        is_here && options.wants(title, row)
    });
    let rows = rows.map(|row| (row, runs.iter().map(|runs| count(runs, row)).collect()));
    print((title, "allocations"), &names, rows, report);
}

/// Counts the polls of futures that are awaited together, and woken one after the other.
fn polls<F: Future>(count: usize, all: fn(Vec<Wait<'static>>) -> F) -> Option<f64> {
    let signals: &'static [Signal] =
        leak((0..count).map(|_| Signal::default()).collect::<Vec<_>>());
    let mut all = pin!(all(signals.iter().map(Signal::wait).collect()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(all.as_mut().poll(&mut cx).is_pending(), "nothing is set");
    let mut is_ready = false;
    for signal in signals {
        signal.set();
        is_ready = all.as_mut().poll(&mut cx).is_ready();
    }
    assert!(is_ready, "all are set");
    Some(signals.iter().map(Signal::polls).sum::<usize>() as f64)
}

/// Polls each future that is not ready, each time.
async fn all_by_hand(futures: Vec<Wait<'static>>) {
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    poll_fn(|cx| {
        let mut polled = Poll::Ready(());
        for future in &mut futures {
            if let Some(running) = future {
                match Pin::new(running).poll(cx) {
                    Poll::Ready(_) => *future = None,
                    Poll::Pending => polled = Poll::Pending,
                }
            }
        }
        polled
    })
    .await;
}

/// Prints how many polls it takes to await futures that are woken one after the other.
pub(crate) fn print_polls(options: &Options, report: &mut Report) {
    let title = "Flow: polls of futures that are woken in turn";
    let contestants = [
        "joint-flow",
        super::BY_HAND,
        "futures",
        "futures-concurrency",
    ];
    let rows = [("all of 8", 8), ("all of 64", 64)].into_iter();
    let rows = rows.filter(|(row, _)| options.wants(title, row));
    let rows = rows.map(|(row, count)| {
        let polls = vec![
            polls(count, joint_flow::all),
            polls(count, all_by_hand),
            polls(count, futures_util::future::join_all),
            polls(count, futures_concurrency::future::Join::join),
        ];
        (row, polls)
    });
    print((title, "polls"), &contestants, rows, report);
}
