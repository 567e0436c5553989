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

/// As above, and a third thread reserves the slot in between, but spawns nothing.
#[test]
fn last_waker_dropped_against_a_slot_given_back_against_a_spawn() {
    explore(|world| {
        let (pool, waker) = with_a_waker_left(world);
        let dropping = thread::spawn(move || drop(waker));
        let reserving = thread::spawn({
            let pool = pool.clone();
            move || drop(reserve(&pool))
        });
        if let Some(slot) = reserve(&pool) {
            spawn(world, slot).take().run();
        }
        dropping.join().unwrap();
        reserving.join().unwrap();
    });
}

#[cfg(not(joint_check))]
loom::lazy_static! {
    static ref STATIC: TaskPool<SIZE, 1> = TaskPool::new();
}

/// A `static` pool, into which two threads spawn. A future that finds it full is dropped by its
/// thread.
#[cfg(not(joint_check))]
#[test]
fn two_spawn_into_a_static_pool() {
    explore(|world| {
        let spawn = |value: Value| {
            let pool: &'static TaskPool<SIZE, 1> = &STATIC;
            let never = |_: Runnable| unreachable!("it is not woken before it ends");
            match pool.spawn_detached(ready(value), never) {
                Ok(runnable) => Kept::new(runnable).take().run(),
                Err(_) => false,
            }
        };
        let value = world.value();
        let other = thread::spawn(move || {
            spawn(value);
        });
        spawn(world.value());
        other.join().unwrap();
        assert!(STATIC.reserve().is_some());
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

/// A thread drops the output of a task that ended on another, and its slot with it.
#[test]
fn handle_dropped_against_the_end_against_a_spawn() {
    explore(|world| {
        let pool = pool();
        let slot = reserve(&pool).expect("it is free").take();
        let output = world.value();
        let (runnable, handle) = Builder::new()
            .slot(slot)
            .spawn(|()| ready::<Value>(output), drop);
        let (runnable, handle) = (Kept::new(runnable), Kept::new(handle));
        let others = [
            thread::spawn(move || {
                runnable.take().run();
            }),
            thread::spawn(move || drop(handle)),
        ];
        if let Some(slot) = reserve(&pool) {
            spawn(world, slot).take().run();
        }
        super::world::join_all(others);
        assert!(reserve(&pool).is_some());
    });
}
