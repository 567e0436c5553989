//! Passes if the feature `repaired` is on.

use std::{sync::Arc, thread};

use gate::Gate;

#[test]
fn a_waiter_passes() {
    let gate = Arc::new(Gate::new());
    let waits = {
        let gate = gate.clone();
        thread::spawn(move || gate.wait())
    };
    gate.open(waits.thread());
    waits.join().unwrap();
}
