//! Models of `quorum` on its real source: a success against a failure when either can decide, or
//! when only one of them can.

use joint::oneshot::{Receiver, Sender};
use joint_flow::{any, quorum};

use crate::{
    flow::{drain, end, end_all},
    prelude::*,
};

fn channels(count: usize) -> (Vec<Sender<Value>>, Vec<Receiver<Value>>) {
    (0..count).map(|_| oneshot::channel()).unzip()
}

/// Cell: quorum: the n-th success against the n-th failure.
#[test]
fn the_success_against_a_failure_that_is_tolerated() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (senders, receivers) = channels(2);
        let threads = end_all(senders, [false, true], &drops);
        let values = drain(quorum(1, receivers), threads).unwrap();
        assert!(values[0].is_none());
        values[1].as_ref().unwrap().look();
        drop(values);
        drops.assert_all_of(1);
    });
}

/// Cell: quorum: the n-th success against the n-th failure.
#[test]
fn the_failure_that_decides_against_a_success() {
    model_bounded(2, || {
        let drops = Drops::default();
        let (mut senders, receivers) = channels(3);
        drop(senders.pop());
        let threads = end_all(senders, [true, false], &drops);
        let Err(errors) = drain(quorum(2, receivers), threads) else {
            panic!("two have failed");
        };
        assert!(errors[1].is_some() && errors[2].is_some());
        drops.assert_all_of(1);
    });
}

/// Cell: quorum: the n-th success against the n-th failure.
#[test]
fn the_success_against_the_failure_of_a_strict_quorum() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (senders, receivers) = channels(2);
        let threads = end_all(senders, [true, false], &drops);
        if let Ok(values) = drain(quorum(1, receivers).strict(), threads) {
            values[0].as_ref().unwrap().look();
        }
        drops.assert_all_of(1);
    });
}

/// Cell: any: two failures at once.
#[test]
fn the_last_failure_against_the_one_before() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (senders, receivers) = channels(2);
        let threads = end_all(senders, [false; 2], &drops);
        assert_eq!(drain(any(receivers), threads).unwrap_err().len(), 2);
    });
}

/// Cell: quorum: losers kept or dropped by choice.
#[test]
fn a_losers_end_against_its_being_kept() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (mut senders, receivers) = channels(2);
        senders.remove(0).send(drops.value()).unwrap();
        let thread = end(senders.remove(0), true, &drops);
        let (values, losers) = drain(quorum(1, receivers).keep_losers(), Vec::new());
        values.unwrap()[0].as_ref().unwrap().look();
        let outputs = drain(losers, vec![thread]);
        let [(1, Ok(value))] = &outputs[..] else {
            panic!("one is left");
        };
        value.look();
        drop(outputs);
        drops.assert_all_of(2);
    });
}
