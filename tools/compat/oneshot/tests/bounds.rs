//! Programs that compile with upstream compile here: each function is written once, and compiled
//! with either crate.
#![cfg(all(feature = "async", feature = "std"))]

use std::{cell::Cell, rc::Rc, sync::MutexGuard};

fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn unpin<T: Unpin>() {}
fn error<T: std::error::Error>() {}
fn plain<T: Copy + Eq + std::hash::Hash + std::error::Error + Send + Sync + 'static>() {}

/// Is called for a type that is not `Sync`, and is ambiguous for any other.
trait NotSync<A> {
    fn holds() {}
}
struct Sharable;
impl<T> NotSync<()> for T {}
impl<T: Sync> NotSync<Sharable> for T {}

macro_rules! compiles_with {
    ($name:ident, $crate_name:ident) => {
        #[test]
        fn $name() {
            use $crate_name::*;

            fn ends<T: Send>() {
                send::<Sender<T>>();
                send::<Receiver<T>>();
                send::<AsyncReceiver<T>>();
                send::<SendError<T>>();
                unpin::<Sender<T>>();
                unpin::<Receiver<T>>();
                unpin::<AsyncReceiver<T>>();
                error::<SendError<T>>();
            }
            ends::<Cell<u8>>();
            // `Sync`, and not `Send`.
            sync::<Sender<MutexGuard<'static, u8>>>();
            sync::<SendError<u8>>();
            plain::<RecvError>();
            plain::<TryRecvError>();
            plain::<RecvTimeoutError>();
            // What is not `Send` may be used on one thread.
            let (sender, receiver) = channel::<Rc<u8>>();
            sender.send(Rc::new(1)).unwrap();
            assert_eq!(*receiver.try_recv().unwrap(), 1);
            // A receiver is not `Sync`, so that `try_recv(&self)` is sound.
            <Receiver<u8> as NotSync<_>>::holds();
        }
    };
}

compiles_with!(this, oneshot);
compiles_with!(upstreams, upstream);
