//! The bugs found, as programs of a few lines. Each one fails as long as the crate has it: see
//! `docs/found.md`.

use std::{pin::pin, process::ExitCode, sync::Arc, time::Duration};

use futures::{StreamExt, poll, stream::FuturesUnordered};
use futures_intrusive::sync::Semaphore;
use joint_executor::{
    spawn,
    time::{sleep, timeout},
};
use joint_sim::Builder;
use noraft::{Action, Node, NodeId};

const MS: Duration = Duration::from_millis(1);

/// Fails if a crate has a bug no more, or fails by other words.
fn main() -> ExitCode {
    let all = [
        show(
            "kanal 0.1.1: a send wakes its first waker only",
            "deadlock: nothing can run, no timer is armed, and the main future waits for task 1",
            kanal_send(),
        ),
        show(
            "futures-intrusive 0.5.0: a cancelled head of the queue",
            "deadlock: nothing can run, no timer is armed, and the main future waits for task 2",
            futures_intrusive_semaphore(),
        ),
        show(
            "thingbuf 0.1.6: a cancelled send that was notified",
            "deadlock: nothing can run, no timer is armed, and the main future waits for task 2",
            thingbuf_send(),
        ),
        show(
            "flume 0.12.0: more than the bound",
            "the bound is 1",
            flume_bound(),
        ),
        show(
            "noraft 0.7.1: no leader ever again",
            "1000 elections, and no leader",
            noraft_removed_leader(),
        ),
    ];
    ExitCode::from(u8::from(all.contains(&false)))
}

/// Prints how the program fails, and returns whether it does by these words.
fn show(name: &str, words: &str, program: impl Future<Output = ()>) -> bool {
    let report = match Builder::new(0).run(program) {
        Ok(_) => "not there any more".to_owned(),
        Err(failure) => failure.to_string(),
    };
    let line = report.lines().next().unwrap_or_default();
    println!("{name}: {line}");
    line.contains(words)
}

/// A send is polled in a set of futures, and then awaited: with another waker.
async fn kanal_send() {
    let (sender, receiver) = kanal::bounded_async(0);
    let sends = spawn(async move {
        let mut send = pin!(sender.send("message"));
        let mut set = FuturesUnordered::from_iter([send.as_mut()]);
        assert!(poll!(set.next()).is_pending());
        drop(set);
        send.await.unwrap();
    });
    sleep(MS).await;
    assert_eq!(receiver.recv().await, Ok("message"));
    // The message is there, and the sender waits forever.
    sends.await;
}

/// A request for more than there is waits at the head, and gives up.
async fn futures_intrusive_semaphore() {
    let semaphore = Arc::new(Semaphore::new(true, 1));
    let large = spawn({
        let semaphore = semaphore.clone();
        async move { assert!(timeout(2 * MS, semaphore.acquire(2)).await.is_err()) }
    });
    sleep(MS).await;
    let small = spawn({
        let semaphore = semaphore.clone();
        async move { drop(semaphore.acquire(1).await) }
    });
    large.await;
    assert_eq!(semaphore.permits(), 1);
    // A permit is free, nobody is before it, and it waits forever.
    small.await;
}

/// Of two sends that wait for room, the first is cancelled after it was woken.
async fn thingbuf_send() {
    let (sender, receiver) = thingbuf::mpsc::channel(1);
    sender.send(0).await.unwrap();
    #[expect(clippy::async_yields_async, reason = "the task is what it returns")]
    let send = async |message| {
        let sender = sender.clone();
        let sends = spawn(async move { sender.send(message).await.unwrap() });
        // It waits before the next one does.
        sleep(MS).await;
        sends
    };
    let (first, second) = (send(1).await, send(2).await);
    assert_eq!(receiver.recv().await, Some(0));
    // That has woken the first, which is dropped before it runs.
    drop(first);
    sleep(MS).await;
    assert!(receiver.is_empty(), "there is room");
    // The second waits forever.
    second.await;
}

/// A receive is woken, another takes its message, and it is polled again.
async fn flume_bound() {
    let (sender, receiver) = flume::bounded(1);
    let mut waits = pin!(receiver.recv_async());
    assert!(poll!(waits.as_mut()).is_pending());
    sender.try_send(0).unwrap();
    assert_eq!(receiver.try_recv(), Ok(0));
    for _ in 0..10 {
        assert!(poll!(waits.as_mut()).is_pending());
    }
    let sent = (0..100).take_while(|n| sender.try_send(*n).is_ok()).count();
    assert_eq!(sent, 1, "the bound is 1");
}

/// A leader that removes itself crashes before the other has the new configuration.
async fn noraft_removed_leader() {
    let ids = [0, 1].map(NodeId::new);
    let mut nodes = ids.map(Node::start);
    nodes[0].create_cluster(&ids);
    exchange(&mut nodes);
    assert!(nodes[0].role().is_leader());

    let config = nodes[0].config().to_joint_consensus(&[], &[ids[0]]);
    let joint = nodes[0].propose_config(config);
    // The new configuration is in the log of node 0 alone when it crashes.
    while nodes[0].log().last_position() == joint {
        step(&mut nodes, 0);
        step(&mut nodes, 1);
    }
    let old = &nodes[0];
    nodes[0] = Node::restart(
        ids[0],
        old.current_term(),
        old.voted_for(),
        old.log().clone(),
    );

    // The network is perfect from now on, and both have all the time that they want.
    for round in 0..1000 {
        nodes[round % 2].handle_election_timeout();
        exchange(&mut nodes);
    }
    assert!(
        nodes.iter().any(|node| node.role().is_leader()),
        "1000 elections, and no leader"
    );
}

/// Delivers the messages of one node. All that it saves is in its memory.
fn step(nodes: &mut [Node; 2], from: usize) {
    let actions: Vec<_> = nodes[from].actions_mut().collect();
    for action in actions {
        if let Action::BroadcastMessage(message) | Action::SendMessage(_, message) = action {
            nodes[1 - from].handle_message(&message).unwrap();
        }
    }
}

fn exchange(nodes: &mut [Node; 2]) {
    while nodes.iter().any(|node| !node.actions().is_empty()) {
        step(nodes, 0);
        step(nodes, 1);
    }
}
