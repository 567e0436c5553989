//! postage 0.5.0.

use crate::{
    broadcast::{Got, broadcast as to_all, same_for_all},
    channel::{abandoned, channel, delivery, one_each},
    world::{Item, programs},
};
use postage::{broadcast, dispatch, mpsc, sink::Sink, stream::Stream};

programs![
    delivery::<Mpsc>,
    abandoned::<Mpsc>,
    delivery::<Dispatch>,
    abandoned::<Dispatch>,
    one_each::<Dispatch>,
    same_for_all::<All>,
];

channel! {
    Mpsc(mpsc::Sender<Item>, mpsc::Receiver<Item>);
    new(capacity) mpsc::channel(capacity);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;
}

channel! {
    Dispatch(dispatch::Sender<Item>, dispatch::Receiver<Item>);
    new(capacity) dispatch::channel(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await;
}

to_all! {
    All(broadcast::Sender<u64>, broadcast::Receiver<u64>);
    new(capacity) broadcast::channel(capacity);
    subscribe(sender, _) sender.subscribe();
    send(sender, message) sender.send(message).await.is_ok();
    recv(receiver) receiver.recv().await.map_or(Got::Closed, Got::Message);
}
