//! The slots of a task pool: one that becomes free is taken by another thread, which must not meet
//! the task that was in it.

use joint::task::{FreeSlot, TaskPool};
use loom_tests::lab::thread;

use super::world::{Kept, World, explore, waker_of};
use crate::prelude::*;

/// The atomics of a model are larger than those of a program.
const SIZE: usize = 256;

type Pool = Pin<Arc<TaskPool<SIZE, 1>>>;

fn pool() -> Pool {
    Arc::pin(TaskPool::new())
}

fn reserve(pool: &Pool) -> Option<Kept<FreeSlot<SIZE>>> {
    pool.as_ref().reserve_pinned().map(Kept::new)
}

/// Puts a task into the slot that is ready at once.
fn spawn(world: &World, slot: Kept<FreeSlot<SIZE>>) -> Kept<Runnable> {
    let never = |_: Runnable| unreachable!("it is not woken before it ends");
    let builder = Builder::new().slot(slot.take());
    let future = ready(world.value());
    Kept::new(builder.spawn_detached(|()| future, never))
}

/// A pool whose slot has a task that has ended, and a waker of the task.
fn with_a_waker_left(world: &World) -> (Pool, Kept<std::task::Waker>) {
    let pool = pool();
    let runnable = spawn(world, reserve(&pool).expect("it is free"));
    let waker = waker_of(&runnable);
    runnable.take().run();
    assert!(reserve(&pool).is_none(), "the waker keeps the slot");
    (pool, waker)
}

#[test]
fn last_waker_dropped_against_a_spawn() {
    explore(|world| {
        let (pool, waker) = with_a_waker_left(world);
        let other = thread::spawn(move || drop(waker));
        if let Some(slot) = reserve(&pool) {
            spawn(world, slot).take().run();
        }
        other.join().unwrap();
        spawn(world, reserve(&pool).expect("all are gone"))
            .take()
            .run();
    });
}

#[test]
fn two_reserve_the_last_slot() {
    explore(|_| {
        let pool = pool();
        let other = thread::spawn({
            let pool = pool.clone();
            move || reserve(&pool)
        });
        let mine = reserve(&pool);
        let slots = [mine, other.join().unwrap()];
        assert_eq!(slots.iter().flatten().count(), 1);
    });
}
