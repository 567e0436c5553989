//! Rows of a descriptor beside a task that never has to wait: how long a client waits for its
//! answer.

use std::time::Duration;

use joint_benches::{driven::Driven, echo::ask_beside, options::Options, table::Row};

/// How long the busy task runs until it yields.
const POLL: Duration = Duration::from_micros(45);
/// How long the client pauses between questions, so that the server's worker goes to sleep.
const PAUSE: Duration = Duration::from_micros(100);

fn messages() -> usize {
    Options::read().of(500, 5)
}

pub(crate) fn rows<R: Driven>() -> Vec<Row<R>> {
    vec![
        Row::new("UDP echo, the median", 1, wait::<R, 50>),
        Row::new("UDP echo, 99 in 100", 1, wait::<R, 99>),
    ]
}

/// How long the slowest of this many out of a hundred clients waits, while one worker runs a task
/// that yields every 45 microseconds.
fn wait<R: Driven, const HUNDREDTHS: usize>(runtime: &'static R) -> Duration {
    runtime.run(async move {
        let times = ask_beside(runtime, (1, POLL), messages(), PAUSE).await;
        times[times.len() * HUNDREDTHS / 100]
    })
}
