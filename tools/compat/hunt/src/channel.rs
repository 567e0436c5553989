//! Programs for channels in which each message has one receiver.

use joint_executor::{spawn, time::timeout};
use std::{collections::BTreeMap, time::Duration};

use crate::world::{Census, Item, List, below, join, maybe, rest, settle};

/// An adapter, which `channel!` makes.
pub trait Channel: 'static {
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

/// Makes a type that is a [`Channel`], of expressions for its functions. `share` is left out if
/// there is one receiver only.
macro_rules! channel {
    (
        $name:ident($sender:ty, $receiver:ty) $(, $constant:ident = $value:expr)*;
        new($capacity:ident) $new:expr;
        $(share($shared:ident) $share:expr;)?
        send($from:ident, $item:ident) $send:expr;
        recv($to:ident) $recv:expr;
    ) => {
        struct $name;

        impl $crate::channel::Channel for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            $(const $constant: bool = $value;)*

            fn new($capacity: usize) -> (Self::Sender, Self::Receiver) {
                $new
            }

            $(fn share($shared: &Self::Receiver) -> Option<Self::Receiver> {
                Some($share)
            })?

            async fn send($from: &mut Self::Sender, $item: $crate::world::Item) -> bool {
                $send
            }

            async fn recv($to: &mut Self::Receiver) -> Option<$crate::world::Item> {
                $recv
            }
        }
    };
}
pub(crate) use channel;

/// Cancelled sends and receives lose nothing, double nothing, and leave nobody waiting, although
/// the channel is not closed.
pub async fn delivery<C: Channel>() {
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
                    None if C::LOSES => {}
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
pub async fn abandoned<C: Channel>() {
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
pub async fn one_each<C: Channel>() {
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
