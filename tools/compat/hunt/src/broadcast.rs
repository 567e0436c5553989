//! Programs for channels in which all receivers get all messages.

use crate::world::{List, below, join, maybe, programs, rest, settle};
use joint_executor::spawn;
use mea::broadcast::overflow;
use postage::{sink::Sink, stream::Stream};
use tokio::sync::broadcast;

/// The result of a receive.
enum Got {
    Message(u64),
    /// So many messages were overwritten.
    Missed(u64),
    Closed,
}

/// An adapter, which `broadcasts!` makes.
trait Broadcast: 'static {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn subscribe(sender: &Self::Sender, receiver: &Self::Receiver) -> Self::Receiver;
    fn send(sender: &mut Self::Sender, message: u64) -> impl Future<Output = bool> + Send;
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Got> + Send;
}

/// Makes types that are [`Broadcast`]s, of expressions for their functions.
macro_rules! broadcasts {
    ($(
        $name:ident($sender:ty, $receiver:ty);
        new($capacity:ident) $new:expr;
        subscribe($subscribed:pat, $beside:pat) $subscribe:expr;
        send($from:ident, $message:ident) $send:expr;
        recv($to:ident) $recv:expr;
    )*) => {$(
        struct $name;

        impl Broadcast for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn new($capacity: usize) -> (Self::Sender, Self::Receiver) {
                $new
            }

            fn subscribe($subscribed: &Self::Sender, $beside: &Self::Receiver) -> Self::Receiver {
                $subscribe
            }

            async fn send($from: &mut Self::Sender, $message: u64) -> bool {
                $send
            }

            async fn recv($to: &mut Self::Receiver) -> Got {
                $recv
            }
        }
    )*};
}

broadcasts! {
    AsyncBroadcastWaits(async_broadcast::Sender<u64>, async_broadcast::Receiver<u64>);
    new(capacity) async_broadcast::broadcast(capacity);
    subscribe(sender, _) sender.new_receiver();
    send(sender, message) sender.broadcast_direct(message).await.is_ok();
    recv(receiver) got(receiver.recv_direct().await);

    AsyncBroadcastOverflows(async_broadcast::Sender<u64>, async_broadcast::Receiver<u64>);
    new(capacity) {
        let (mut sender, receiver) = async_broadcast::broadcast(capacity);
        sender.set_overflow(true);
        (sender, receiver)
    };
    subscribe(sender, _) sender.new_receiver();
    send(sender, message) sender.broadcast_direct(message).await.is_ok();
    recv(receiver) got(receiver.recv_direct().await);

    Barrage(barrage::Sender<u64>, barrage::Receiver<u64>);
    new(capacity) barrage::bounded(capacity);
    subscribe(_, receiver) receiver.clone();
    send(sender, message) sender.send_async(message).await.is_ok();
    recv(receiver) receiver.recv_async().await.map_or(Got::Closed, Got::Message);

    Mea(overflow::Sender<u64>, overflow::Receiver<u64>);
    new(capacity) overflow::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) {
        sender.send(message);
        true
    };
    recv(receiver) match receiver.recv().await {
        Ok(message) => Got::Message(message),
        Err(overflow::RecvError::Lagged(count)) => Got::Missed(count),
        Err(overflow::RecvError::Disconnected) => Got::Closed,
    };

    Postage(postage::broadcast::Sender<u64>, postage::broadcast::Receiver<u64>);
    new(capacity) postage::broadcast::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) sender.send(message).await.is_ok();
    recv(receiver) receiver.recv().await.map_or(Got::Closed, Got::Message);

    Tokio(broadcast::Sender<u64>, broadcast::Receiver<u64>);
    new(capacity) broadcast::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) sender.send(message).is_ok();
    recv(receiver) match receiver.recv().await {
        Ok(message) => Got::Message(message),
        Err(broadcast::error::RecvError::Lagged(count)) => Got::Missed(count),
        Err(broadcast::error::RecvError::Closed) => Got::Closed,
    };
}

fn got(received: Result<u64, async_broadcast::RecvError>) -> Got {
    match received {
        Ok(message) => Got::Message(message),
        Err(async_broadcast::RecvError::Overflowed(count)) => Got::Missed(count),
        Err(async_broadcast::RecvError::Closed) => Got::Closed,
    }
}

programs! {
    same_for_all: AsyncBroadcastWaits, AsyncBroadcastOverflows, Barrage, Mea, Postage, Tokio;
}

/// All get the same messages in the same order, and learn how many they have missed.
async fn same_for_all<B: Broadcast>() {
    // The power of two is for those that round up.
    let (sender, first) = B::new(1 << below(3));
    let mut receivers = Vec::new();
    for _ in 0..1 + below(3) {
        receivers.push(B::subscribe(&sender, &first));
    }
    receivers.push(first);

    let stayed = List::new();
    let mut takers = Vec::new();
    for (place, mut receiver) in receivers.into_iter().enumerate() {
        let stayed = stayed.clone();
        let leaves = place == 0 && below(2) == 0;
        takers.push(spawn(async move {
            let (mut order, mut missed) = (Vec::new(), 0);
            while !leaves || below(4) != 0 {
                rest().await;
                match maybe(B::recv(&mut receiver)).await {
                    Some(Got::Message(message)) => {
                        order.push((order.len() as u64 + missed, message))
                    }
                    Some(Got::Missed(count)) => missed += count,
                    Some(Got::Closed) => return stayed.push((order, missed)),
                    None => {}
                }
            }
        }));
    }

    let sent = List::new();
    let mut givers = Vec::new();
    let cancels = below(2) == 0;
    for giver in 0..1 + below(2) {
        let (mut sender, sent) = (sender.clone(), sent.clone());
        givers.push(spawn(async move {
            for number in 0..1 + below(6) {
                rest().await;
                let message = giver * 100 + number;
                let sends = B::send(&mut sender, message);
                let done = match cancels {
                    true => maybe(sends).await,
                    false => Some(sends.await),
                };
                match done {
                    Some(true) => sent.push(message),
                    Some(false) => panic!("the channel is open, and {message} was refused"),
                    None => {}
                }
            }
        }));
    }
    join(givers).await;
    settle().await;
    drop(sender);
    join(takers).await;

    let (stayed, sent) = (stayed.get(), sent.get());
    for (order, missed) in &stayed {
        let all = order.len() as u64 + missed;
        let count = sent.len() as u64;
        let is_right = if cancels { all >= count } else { all == count };
        assert!(
            is_right,
            "{count} are sent, and {all} are received or missed"
        );
        for (place, message) in order {
            let mut others = stayed.iter().flat_map(|(order, _)| order);
            let same = others.all(|(at, what)| (at == place) == (what == message));
            assert!(
                same,
                "message {message} is not at place {place} for all: {stayed:?}"
            );
        }
    }
}
