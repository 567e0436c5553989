//! The race: the first future that is ready.

use std::future::ready;

use joint::oneshot;
use joint_flow::{
    Closed, OneOf2, race, spawn,
    stream::{self, StreamExt},
};
use joint_sim::{Check, Faults};

use crate::common::{check, settled};

/// A loser that has another owner is released, and not cancelled.
#[test]
fn race_success_with_a_shared_loser() {
    check(|| async {
        let (sender, sent) = oneshot::channel();
        let loser = spawn(async move { sent.await.unwrap() });
        let raced = race((loser.clone(), ready(7))).await;
        assert!(matches!(raced, OneOf2::B(7)));
        settled().await;
        sender.send("late").unwrap();
        assert_eq!(loser.await.unwrap(), "late");
    });
}

#[test]
fn race_stream_ready() {
    let faults = Faults::all().extra_yields(0.0);
    Check::new().faults(faults).run(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        sender.send(11).unwrap();
        let raced = race((receiver.next(), ready("later"))).await;
        assert_eq!(raced, OneOf2::A(Some(Ok(11))));

        // An item that was not taken is still there.
        sender.send(12).unwrap();
        let raced = race((ready("first"), receiver.next())).await;
        assert_eq!(raced, OneOf2::A("first"));
        assert_eq!(receiver.next().await, Some(Ok(12)));
    });
}

#[test]
fn race_stream_success() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<_, Closed>();
        let (text, text_sent) = oneshot::channel::<&str>();
        let raced = spawn(async move {
            let winner = race((receiver.next(), text_sent)).await;
            (winner, receiver.len())
        });
        settled().await;
        sender.send(13).unwrap();
        assert_eq!(raced.await.unwrap(), (OneOf2::A(Some(Ok(13))), 0));
        assert!(text.is_closed());
    });
}
