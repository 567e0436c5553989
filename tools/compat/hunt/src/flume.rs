//! flume 0.12.0, its asynchronous half.

use crate::{
    channel::{abandoned, channel, delivery, one_each},
    world::{Item, programs},
};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    one_each::<Bounded>
];

channel! {
    Bounded(flume::Sender<Item>, flume::Receiver<Item>);
    // 0 makes a channel in which sender and receiver meet.
    new(capacity) flume::bounded(capacity - 1);
    share(receiver) receiver.clone();
    send(sender, item) sender.send_async(item).await.is_ok();
    recv(receiver) receiver.recv_async().await.ok();
}
