//! The operations of the clients, and their record.

use std::{io, time::Duration};

use joint_flow::time::delay;
use joint_sim::{may_cancel, random};

use super::client::Client;
use crate::{history::Operation, record::Record};

/// The longest time between two operations, in microseconds.
const PAUSE: u64 = 5_000;

/// Reads and writes. Each value is written once, so that a read tells which write it has found.
pub(crate) async fn run(mut client: Client, name: u64, operations: u64, record: Record) {
    for serial in 1..=operations {
        delay(Duration::from_micros(random() % PAUSE)).await;
        let operation = match random() % 2 {
            0 => Operation::Read,
            _ => Operation::Write(100 * name + serial),
        };
        let call = record.called(name, operation);
        // An operation that has failed, or that the simulation has cancelled, may have happened. It
        // never returns.
        if let Some(Ok(found)) = may_cancel(perform(&mut client, operation)).await {
            record.returned(call, found);
        }
    }
}

/// Returns the value that is found, if the operation tells.
async fn perform(client: &mut Client, operation: Operation) -> io::Result<Option<u64>> {
    match operation {
        Operation::Write(value) => client.write(value).await.map(|()| None),
        _ => client.read().await.map(Some),
    }
}
