//! Programs for channels in which each message has one receiver.

use async_priority_channel as priority;
use crossfire::{MAsyncRx, MAsyncTx, mpmc};
use futures::channel::mpsc;
use futures_intrusive::channel::shared as intrusive;
use joint_executor::{spawn, time::timeout};
use postage::{sink::Sink, stream::Stream};
use std::{collections::BTreeMap, time::Duration};

use crate::world::{Census, Item, List, below, join, maybe, programs, rest, settle};

/// An adapter, which `channels!` makes.
trait Channel: 'static {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;

    /// Whether messages of one sender arrive in their order.
    const IN_ORDER: bool = true;
    /// Whether a receive that is cancelled may lose a message, as the documentation says.
    const LOSES: bool = false;
    /// Whether there is a bound.
    const IS_BOUNDED: bool = true;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);

    /// Clones the receiver, if a channel has several.
    fn share(_: &Self::Receiver) -> Option<Self::Receiver> {
        None
    }

    /// Returns whether the message was sent.
    fn send(sender: &mut Self::Sender, item: Item) -> impl Future<Output = bool> + Send;

    /// Returns `None` if the channel is closed.
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Option<Item>> + Send;
}

/// Makes types that are [`Channel`]s, of expressions for their functions. `share` is left out if
/// there is one receiver only.
macro_rules! channels {
    ($(
        $name:ident($sender:ty, $receiver:ty) $(, $constant:ident = $value:expr)*;
        new($capacity:ident) $new:expr;
        $(share($shared:ident) $share:expr;)?
        send($from:ident, $item:ident) $send:expr;
        recv($to:ident) $recv:expr;
    )*) => {$(
        struct $name;

        impl Channel for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            $(const $constant: bool = $value;)*

            fn new($capacity: usize) -> (Self::Sender, Self::Receiver) {
                $new
            }

            $(fn share($shared: &Self::Receiver) -> Option<Self::Receiver> {
                Some($share)
            })?

            async fn send($from: &mut Self::Sender, $item: Item) -> bool {
                $send
            }

            async fn recv($to: &mut Self::Receiver) -> Option<Item> {
                $recv
            }
        }
    )*};
}

channels! {
    AsyncChannel(async_channel::Sender<Item>, async_channel::Receiver<Item>);
    new(capacity) async_channel::bounded(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();

    AsyncPriorityChannel(priority::Sender<Item, u64>, priority::Receiver<Item, u64>), IN_ORDER = false;
    new(capacity) priority::bounded(capacity as u64);
    share(receiver) receiver.clone();
    send(sender, item) {
        let priority = item.number;
        sender.send(item, priority).await.is_ok()
    };
    recv(receiver) Some(receiver.recv().await.ok()?.0);

    Crossfire(MAsyncTx<mpmc::Array<Item>>, MAsyncRx<mpmc::Array<Item>>);
    new(capacity) mpmc::bounded_async(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();

    Flume(flume::Sender<Item>, flume::Receiver<Item>);
    // 0 makes a channel in which sender and receiver meet.
    new(capacity) flume::bounded(capacity - 1);
    share(receiver) receiver.clone();
    send(sender, item) sender.send_async(item).await.is_ok();
    recv(receiver) receiver.recv_async().await.ok();

    // Each sender has a place of its own beside the capacity.
    Futures(mpsc::Sender<Item>, mpsc::Receiver<Item>), IS_BOUNDED = false;
    new(capacity) mpsc::channel(capacity - 1);
    send(sender, item) futures::SinkExt::send(sender, item).await.is_ok();
    recv(receiver) futures::StreamExt::next(receiver).await;

    FuturesIntrusive(intrusive::Sender<Item>, intrusive::Receiver<Item>);
    new(capacity) intrusive::channel(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.receive().await;

    // A receive that is cancelled may lose a message, as its documentation says.
    Kanal(kanal::AsyncSender<Item>, kanal::AsyncReceiver<Item>), LOSES = true;
    new(capacity) kanal::bounded_async(capacity - 1);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();

    Loole(loole::Sender<Item>, loole::Receiver<Item>);
    new(capacity) loole::bounded(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send_async(item).await.is_ok();
    recv(receiver) receiver.recv_async().await.ok();

    Mea(mea::mpsc::BoundedSender<Item>, mea::mpsc::BoundedReceiver<Item>);
    new(capacity) mea::mpsc::bounded(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();

    PostageMpsc(postage::mpsc::Sender<Item>, postage::mpsc::Receiver<Item>);
    new(capacity) postage::mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;

    PostageDispatch(postage::dispatch::Sender<Item>, postage::dispatch::Receiver<Item>);
    new(capacity) postage::dispatch::channel(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;

    Tachyonix(tachyonix::Sender<Item>, tachyonix::Receiver<Item>);
    new(capacity) tachyonix::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();

    Thingbuf(thingbuf::mpsc::Sender<Item>, thingbuf::mpsc::Receiver<Item>);
    new(capacity) thingbuf::mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;

    Tokio(tokio::sync::mpsc::Sender<Item>, tokio::sync::mpsc::Receiver<Item>);
    new(capacity) tokio::sync::mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;
}

programs! {
    delivery: AsyncChannel, AsyncPriorityChannel, Crossfire, Flume, Futures, FuturesIntrusive,
        Kanal, Loole, Mea, PostageMpsc, PostageDispatch, Tachyonix, Thingbuf, Tokio;
    abandoned: AsyncChannel, AsyncPriorityChannel, Crossfire, Flume, Futures, FuturesIntrusive,
        Kanal, Loole, Mea, PostageMpsc, PostageDispatch, Tachyonix, Thingbuf, Tokio;
    one_each: AsyncChannel, AsyncPriorityChannel, Crossfire, Flume, FuturesIntrusive, Loole,
        PostageDispatch;
}

/// Cancelled sends and receives lose nothing, double nothing, and leave nobody waiting, although
/// the channel is not closed.
async fn delivery<C: Channel>() {
    let census = Census::default();
    let capacity = 1 + below(3) as usize;
    let (sender, receiver) = C::new(capacity);
    let mut receivers = vec![receiver];
    if let Some(second) = C::share(&receivers[0]) {
        receivers.push(second);
        if below(2) == 0 {
            receivers.push(C::share(&receivers[0]).unwrap());
        }
    }
    let room = capacity + receivers.len();
    let (sent, received) = (List::new(), List::new());

    let mut takers = Vec::new();
    for (place, mut receiver) in receivers.into_iter().enumerate() {
        let received = received.clone();
        // All but the first may leave early.
        let most = match place {
            0 => u64::MAX,
            _ => below(8),
        };
        takers.push(spawn(async move {
            let mut count = 0;
            while count < most {
                rest().await;
                match maybe(C::recv(&mut receiver)).await {
                    Some(Some(item)) => received.push((place, item.number)),
                    Some(None) => return,
                    None => {}
                }
                count += 1;
            }
        }));
    }

    let mut givers = Vec::new();
    for giver in 0..1 + below(3) {
        let mut sender = sender.clone();
        let (census, sent, received) = (census.clone(), sent.clone(), received.clone());
        givers.push(spawn(async move {
            for number in 0..1 + below(5) {
                rest().await;
                let number = giver * 100 + number;
                match maybe(C::send(&mut sender, census.item(number))).await {
                    Some(true) => sent.push(number),
                    Some(false) => panic!("the channel is open, and {number} was refused"),
                    None => continue,
                }
                let ahead = sent.get().len().saturating_sub(received.get().len());
                let most = match C::LOSES {
                    true => usize::MAX,
                    false => room,
                };
                assert!(
                    !C::IS_BOUNDED || ahead <= most,
                    "{ahead} are sent and not received"
                );
            }
        }));
    }
    join(givers).await;

    // The channel is open: closing it would wake those who are forgotten.
    settle().await;
    let (given, taken) = (sent.get(), received.get());
    let mut seen = BTreeMap::new();
    for &(_, number) in &taken {
        *seen.entry(number).or_insert(0) += 1;
    }
    assert!(
        seen.values().all(|&times| times == 1),
        "some arrived twice: {seen:?}"
    );
    if !C::LOSES {
        let lost: Vec<_> = given
            .iter()
            .filter(|number| !seen.contains_key(number))
            .collect();
        assert!(
            lost.is_empty(),
            "sent, and not received though somebody waits: {lost:?}"
        );
    }
    if C::IN_ORDER {
        let mut last = BTreeMap::new();
        for (place, number) in taken {
            let before = last.insert((place, number / 100), number);
            assert!(before < Some(number), "{number} came after {before:?}");
        }
    }
    drop(sender);
    join(takers).await;
    census.assert_empty();
}

/// If all receivers leave, those that wait to send are told.
async fn abandoned<C: Channel>() {
    let census = Census::default();
    let (sender, mut receiver) = C::new(1 + below(2) as usize);
    let mut givers = Vec::new();
    for giver in 0..1 + below(3) {
        let mut sender = sender.clone();
        let census = census.clone();
        givers.push(spawn(async move {
            for number in 0..4 {
                rest().await;
                let sends = C::send(&mut sender, census.item(giver * 100 + number));
                if maybe(sends).await == Some(false) {
                    return;
                }
            }
            // At the latest now it must be seen that there is no receiver.
            settle().await;
            assert!(
                !C::send(&mut sender, census.item(7)).await,
                "sent to nobody"
            );
        }));
    }
    let taker = spawn(async move {
        for _ in 0..below(4) {
            rest().await;
            let limit = Duration::from_millis(1);
            let _ = timeout(limit, C::recv(&mut receiver)).await;
        }
        rest().await;
    });
    taker.await;
    join(givers).await;
    drop(sender);
    census.assert_empty();
}

/// One message for each receiver that has not left: none waits in vain.
async fn one_each<C: Channel>() {
    let (mut sender, receiver) = C::new(1 + below(2) as usize);
    let census = Census::default();
    let received = List::new();
    let count = 2 + below(2);
    let mut takers = Vec::new();
    for _ in 0..count {
        let mut receiver = C::share(&receiver).expect("several receivers");
        let received = received.clone();
        takers.push(spawn(async move {
            rest().await;
            // A cancelled one tries again, at the end of the queue.
            let item = loop {
                match maybe(C::recv(&mut receiver)).await {
                    Some(item) => break item,
                    None => rest().await,
                }
            };
            received.push(item.expect("the channel is open").number);
            // It stays, so that nobody is woken because it leaves.
            settle().await;
        }));
    }
    let giver = spawn(async move {
        for number in 0..count {
            rest().await;
            assert!(C::send(&mut sender, census.item(number)).await);
        }
        settle().await;
        sender
    });
    join(takers).await;
    assert_eq!(received.get().len(), count as usize);
    giver.await;
}
