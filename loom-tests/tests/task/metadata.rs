//! Metadata: the holder of a runnable or a handle may look at it while other threads end the task,
//! and the side that frees the task drops it, once.

use joint::JoinHandle;

use super::world::{Kept, World, explore, explore_bounded, join_all, poll_once};
use crate::prelude::*;

/// Several threads may look at it, and one of them drops it. A drop that is too early is a race.
type Tag = Value;

type Spawned<T> = (Kept<Runnable<Tag>>, Kept<JoinHandle<T, Tag>>);

/// A task with metadata that is never queued: the schedule function drops the runnable.
fn spawn<F>(world: &World, future: F) -> Spawned<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let builder = Builder::new().metadata(world.value());
    let (runnable, handle) = builder.spawn(|_| future, drop);
    (Kept::new(runnable), Kept::new(handle))
}

#[track_caller]
fn take(handle: &mut JoinHandle<Value, Tag>) {
    let Poll::Ready(output) = poll_once(handle) else {
        panic!("it has not ended")
    };
    output.look();
}

#[test]
fn a_runner_reads_metadata_while_the_handle_cancels() {
    explore(|world| {
        let (runnable, handle) = spawn(world, pending::<Value>());
        let other = world.start(move || drop(handle));
        runnable.metadata().look();
        runnable.take().run();
        other.join().unwrap();
    });
}

#[test]
fn a_joined_handle_reads_metadata_during_the_last_wakers_drop() {
    explore(|world| {
        let (runnable, mut handle) = spawn(world, ready(world.value()));
        let waker = Kept::new(runnable.waker());
        runnable.take().run();
        take(&mut handle);
        let other = world.start(move || drop(waker));
        handle.metadata().look();
        drop(handle);
        other.join().unwrap();
    });
}

#[test]
fn dropped_by_the_last_of_three() {
    explore_bounded(3, |world| {
        let (runnable, handle) = spawn(world, ready(world.value()));
        let waker = Kept::new(runnable.waker());
        let others = [
            world.start(move || drop(waker)),
            world.start(move || {
                handle.metadata().look();
                handle.take().detach();
            }),
        ];
        runnable.metadata().look();
        runnable.take().run();
        join_all(others);
    });
}
