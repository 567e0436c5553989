//! futures 0.3.34: its lock and its channel.

use crate::{
    channel::{abandoned, channel, delivery},
    lock::{exclusion, lock},
    world::{Item, programs},
};
use futures::{SinkExt, StreamExt, channel::mpsc, lock::Mutex};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    exclusion::<Mutex<()>>
];

channel! {
    // Each sender has a place of its own beside the capacity.
    Bounded(mpsc::Sender<Item>, mpsc::Receiver<Item>), IS_BOUNDED = false;
    new(capacity) mpsc::channel(capacity - 1);
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.next().await;
}

lock! {
    Mutex<()>:
    new Mutex::new(());
    lock(self) self.lock().await;
    is_free(self) self.try_lock().is_some();
}
