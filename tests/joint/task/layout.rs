//! Sizes, alignments, and what may cross threads.

use joint::{
    budget::Saved,
    oneshot::Sender,
    task::{AbortHandle, Fallible},
};

use crate::prelude::*;

const WORD: usize = size_of::<usize>();

#[test]
fn a_runnable_is_one_word_and_a_handle_three() {
    assert_eq!(size_of::<Runnable>(), WORD);
    assert_eq!(size_of::<Option<Runnable>>(), WORD);
    assert_eq!(size_of::<JoinHandle<()>>(), 3 * WORD);
    assert_eq!(size_of::<JoinHandle<[u64; 64]>>(), 3 * WORD);
    assert_eq!(size_of::<JoinResult<u64>>(), 3 * WORD);
    assert_eq!(size_of::<Fallible<u64>>(), 3 * WORD);
    assert_eq!(size_of::<Runnable<[u64; 64]>>(), WORD);
    assert_eq!(size_of::<JoinHandle<u64, [u64; 64]>>(), 3 * WORD);
}

/// May be sent, and not shared.
type Unshared = std::cell::Cell<u32>;
/// May be shared, and not sent.
type Unsent = std::sync::MutexGuard<'static, u32>;
/// Neither.
type Local = std::rc::Rc<u32>;

/// It compiles.
#[test]
fn runnables_handles_and_views_are_send_and_sync() {
    fn sent_and_shared<T: Send + Sync + Unpin>() {}
    sent_and_shared::<Runnable>();
    sent_and_shared::<Runnable<u32>>();
    sent_and_shared::<JoinHandle<Unshared>>();
    sent_and_shared::<JoinHandle<Unshared, u32>>();
    sent_and_shared::<JoinResult<Unshared>>();
    sent_and_shared::<Fallible<Unshared>>();
    sent_and_shared::<AbortHandle>();
    sent_and_shared::<JoinError>();
    sent_and_shared::<Polled<u32>>();
    sent_and_shared::<PendingTask<'_, u32>>();
    sent_and_shared::<EndedTask<'_, u32>>();
    sent_and_shared::<Builder<u32>>();
}

/// It compiles: for a type that has the trait, there would be two functions to choose from.
macro_rules! lacks {
    ($lacked:ident: $($type:ty),* $(,)?) => {$({
        trait Ambiguous<A> {
            fn chosen() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        impl<T: ?Sized + $lacked> Ambiguous<u8> for T {}
        <$type as Ambiguous<_>>::chosen();
    })*};
}

#[test]
fn types_with_unsendable_parts_are_neither_send_nor_sync() {
    lacks!(Send: Runnable<Unshared>, Runnable<Unsent>, Runnable<Local>);
    lacks!(Sync: Runnable<Unshared>, Runnable<Unsent>, Runnable<Local>);
    lacks!(Send: JoinHandle<(), Unshared>, JoinHandle<(), Unsent>, JoinHandle<Local>);
    lacks!(Sync: JoinHandle<(), Unshared>, JoinHandle<(), Unsent>, JoinHandle<Local>);
    lacks!(Send: JoinResult<Local>, Fallible<Local>);
    lacks!(Sync: JoinResult<Local>, Fallible<Local>);
    lacks!(Send: Sender<Unsent>, Sender<Local>, Receiver<Unsent>, Receiver<Local>);
    lacks!(Sync: Sender<Unsent>, Sender<Local>, Receiver<Unsent>, Receiver<Local>);
    lacks!(Send: Polled<Unshared>, Polled<Unsent>, Parker, Saved);
    lacks!(Sync: Polled<Unshared>, Polled<Unsent>, Parker, Saved);
    // They lend the metadata.
    lacks!(Send: PendingTask<'_, Unshared>, EndedTask<'_, Unshared>);
    lacks!(Sync: PendingTask<'_, Unshared>, EndedTask<'_, Unshared>);
    lacks!(Unpin: TaskPool<64, 1>);
}

/// Aligned to more than the allocator gives by itself.
#[repr(align(512))]
struct Aligned(u8);

impl Future for Aligned {
    type Output = Self;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self> {
        assert_eq!((&raw const *self).addr() % 512, 0);
        Poll::Ready(Self(self.0 + 1))
    }
}

#[test]
fn an_over_aligned_future_and_output_are_aligned() {
    let queue = Queue::new();
    let handle = queue.start(Aligned(6));
    queue.run();
    let output = ready(handle);
    assert_eq!(((&raw const output).addr() % 512, output.0), (0, 7));
    drop(queue.start(Aligned(6)));
    queue.run();
    assert_eq!(queue.tasks(), 0);
}
