//! The bugs of `docs/found.md`, as programs of a few lines. Each test fails as soon as the crate
//! has its bug no more: the simulation ends with the words that are given.
#![cfg(test)]

use std::{future::poll_fn, pin::pin, sync::Arc, time::Duration};

use async_lock::RwLock;
use futures::{AsyncWriteExt, StreamExt, poll, stream::FuturesUnordered};
use futures_intrusive::sync::Semaphore;
use http::{Request, Response};
use joint_executor::{
    io::{TcpListener, TcpStream},
    spawn,
    time::{sleep, timeout},
};
use joint_sim::Builder;
use noraft::{Action, Node, NodeId};
use tokio_util::compat::FuturesAsyncReadCompatExt;
use yamux::{Config, Connection, Mode};

const MS: Duration = Duration::from_millis(1);

const DEADLOCK: &str =
    "deadlock: nothing can run, and no timer is armed\nthe main future waits since ";
const ENDLESS: &str = "it took more than 10000 steps";

/// Fails if the program passes, or fails by other words.
#[track_caller]
fn fails(words: &str, program: impl Future<Output = ()>) {
    let failure = Builder::new(0).max_steps(10_000).run(program);
    let report = failure
        .expect_err("the bug is not there any more")
        .to_string();
    assert!(report.contains(words), "{report}");
}

/// A send is polled in a set of futures, and then awaited: with another waker.
#[test]
fn kanal_0_1_1_a_send_wakes_its_first_waker_only() {
    fails(DEADLOCK, async {
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
    });
}

/// A request for more than there is waits at the head, and gives up.
#[test]
fn futures_intrusive_0_5_0_a_request_gives_up_at_the_head() {
    fails(DEADLOCK, async {
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
    });
}

/// Of two sends that wait for room, the first is cancelled after it was woken.
#[test]
fn thingbuf_0_1_6_a_wake_up_is_lost_with_its_send() {
    fails(DEADLOCK, async {
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
    });
}

/// A receive is woken, another takes its message, and it is polled again.
#[test]
fn flume_0_12_0_a_channel_takes_more_than_its_bound() {
    fails("the bound is 1", async {
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
    });
}

/// A leader that removes itself crashes before the other has the new configuration.
#[test]
fn noraft_0_7_1_there_is_no_leader_ever_again() {
    fails("1000 elections, and no leader", async {
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
    });
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

/// Two readers are woken, and another writer comes first.
#[test]
fn async_lock_3_5_0_two_readers_wake_each_other_without_end() {
    fails(ENDLESS, async {
        let lock = Arc::new(RwLock::new(()));
        let writes = lock.try_write().unwrap();
        let reads = [(); 2].map(|()| {
            let lock = lock.clone();
            spawn(async move { drop(lock.read().await) })
        });
        sleep(MS).await;
        drop(writes);
        let writes = lock.try_write().unwrap();
        // From here on each reader wakes the other one, as long as the lock is held.
        sleep(MS).await;
        drop(writes);
        for read in reads {
            read.await;
        }
    });
}

/// A send that waits is woken, and the room that it was told of is taken meanwhile.
#[test]
fn barrage_0_2_3_a_send_wakes_itself_without_end() {
    fails(ENDLESS, async {
        let (sender, receiver) = barrage::bounded(1);
        sender.try_send(0).unwrap();
        let waits = spawn({
            let sender = sender.clone();
            async move { sender.send_async(1).await.unwrap() }
        });
        sleep(MS).await;
        assert_eq!(receiver.try_recv(), Ok(Some(0)));
        sender.try_send(2).unwrap();
        // From here on the send is polled again and again.
        sleep(MS).await;
        assert_eq!(receiver.try_recv(), Ok(Some(2)));
        waits.await;
    });
}

/// A receiver is dropped that has not read its message.
#[test]
fn barrage_0_2_3_a_receiver_takes_its_room_with_it() {
    fails(DEADLOCK, async {
        let (sender, receiver) = barrage::bounded(1);
        let leaves = receiver.clone();
        sender.try_send(0).unwrap();
        assert_eq!(receiver.try_recv(), Ok(Some(0)));
        drop(leaves);
        // Nobody has anything left to read, and this waits forever.
        sender.send_async(1).await.unwrap();
    });
}

/// A stream is opened, and closed with nothing written to it.
#[test]
fn yamux_0_14_1_a_stream_that_is_closed_was_never_opened() {
    fails(DEADLOCK, async {
        let (client, server) = sockets().await;
        let mut client = Connection::new(client, Config::default(), Mode::Client);
        let mut server = Connection::new(server, Config::default(), Mode::Server);

        let opened = poll_fn(|context| client.poll_new_outbound(context)).await;
        let _drives = spawn(async move {
            poll_fn(|context| client.poll_next_inbound(context)).await;
        });
        opened.unwrap().close().await.unwrap();
        // The server never learns of the stream.
        let accepted = poll_fn(|context| server.poll_next_inbound(context)).await;
        assert!(accepted.is_some_and(|stream| stream.is_ok()));
    });
}

/// Requests are dropped while small frames of their responses are on their way.
#[test]
fn h2_0_4_20_cancelled_requests_use_up_the_budget() {
    fails("ENHANCE_YOUR_CALM", async {
        let (client, server) = sockets().await;
        let _server = spawn(async move {
            let mut connection = h2::server::handshake(server.compat()).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let answer = async move {
                    let mut body = respond.send_response(Response::new(()), false).unwrap();
                    // The client has the response when this is over, and the server not its answer.
                    sleep(Duration::from_micros(5)).await;
                    for _ in 0..10 {
                        body.send_data("x".into(), false).unwrap();
                    }
                    let _ = poll_fn(|context| body.poll_reset(context)).await;
                };
                spawn(answer).detach();
            }
        });
        let (mut sender, connection) = h2::client::handshake(client.compat()).await.unwrap();
        let _client = spawn(connection);
        for _ in 0..50 {
            let (response, _) = sender.send_request(Request::new(()), true).unwrap();
            drop(response.await.unwrap());
            sleep(MS).await;
            // Nothing is under way, and nothing is in a buffer.
            sender = sender.ready().await.unwrap();
        }
    });
}

async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
    let client = spawn(TcpStream::connect("127.0.0.1:80"));
    let (server, _) = listener.accept().await.unwrap();
    (client.await.unwrap(), server)
}
