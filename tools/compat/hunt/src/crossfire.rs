//! crossfire 3.1.22.

use crate::{
    channel::{abandoned, channel, delivery, one_each},
    world::{Item, programs},
};
use crossfire::{MAsyncRx, MAsyncTx, mpmc};

programs![
    delivery::<Bounded>,
    abandoned::<Bounded>,
    one_each::<Bounded>
];

channel! {
    Bounded(MAsyncTx<mpmc::Array<Item>>, MAsyncRx<mpmc::Array<Item>>);
    new(capacity) mpmc::bounded_async(capacity);
    share(receiver) receiver.clone();
    send(sender, item) sender.send(item).await.is_ok();
    recv(receiver) receiver.recv().await.ok();
}
