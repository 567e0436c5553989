//! Values that tasks carry with them: where they are seen, and where they are not.

use crate::prelude::*;

static NUMBER: TaskLocal<u32> = TaskLocal::new();
static OTHER: TaskLocal<u32> = TaskLocal::new();
static NAME: TaskLocal<String> = TaskLocal::new();

fn number() -> Option<u32> {
    NUMBER.try_with(|&number| number)
}

/// Polls once, with a waker that does nothing.
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_value_is_there_in_each_poll_and_not_between() {
    let mut future = pin!(NUMBER.scope(7, async {
        assert_eq!(number(), Some(7));
        yield_now().await;
        number()
    }));
    assert!(poll(future.as_mut()).is_pending());
    assert_eq!(number(), None);
    assert_eq!(poll(future), Poll::Ready(Some(7)));
    assert_eq!(number(), None);
}

#[test]
fn keys_of_one_type_do_not_mix() {
    let future = NUMBER.scope(
        1,
        OTHER.scope(
            2,
            NAME.scope("three".into(), async {
                yield_now().await;
                (NUMBER.get(), OTHER.get(), NAME.with(String::clone))
            }),
        ),
    );
    assert_eq!(block_on(future), (1, 2, "three".into()));
}

#[test]
fn a_child_has_a_value_when_it_is_carried() {
    let executor = LocalExecutor::new();
    let task = executor.spawn(NAME.scope("parent".into(), async {
        let spawn = |future| joint_executor::spawn_local(future);
        let read = || async { NAME.try_with(String::clone) };
        let carried: Pin<Box<dyn Future<Output = _>>> = Box::pin(NAME.carry(read()));
        let bare: Pin<Box<dyn Future<Output = _>>> = Box::pin(read());
        (spawn(carried).await, spawn(bare).await)
    }));
    assert_eq!(executor.block_on(task), (Some("parent".into()), None));
}

#[test]
fn a_child_carries_a_copy_that_outlives_the_parent() {
    static SHARED: TaskLocal<Rc<Cell<u32>>> = TaskLocal::new();
    let shared = Rc::new(Cell::new(0));
    let child = SHARED.sync_scope(shared.clone(), || {
        SHARED.carry(async { SHARED.with(|shared| shared.set(5)) })
    });
    assert_eq!(Rc::strong_count(&shared), 2, "ours, and the child's");
    block_on(child);
    assert_eq!((shared.get(), Rc::strong_count(&shared)), (5, 1));
}

#[test]
fn carry_without_a_value_carries_nothing() {
    let carried = NUMBER.carry(async { number() });
    // What is set where it runs.
    assert_eq!(block_on(NUMBER.scope(4, carried)), Some(4));
    assert_eq!(block_on(NUMBER.carry(async { number() })), None);
}

#[test]
fn the_future_is_dropped_under_its_value() {
    let seen = RefCell::new(Vec::new());
    let guard = || OnDrop(|| seen.borrow_mut().push(number()));
    drop(NUMBER.scope(6, hold(guard())));
    let mut polled = Box::pin(NUMBER.scope(7, hold(guard())));
    assert!(poll(polled.as_mut()).is_pending());
    drop(polled);
    assert_eq!(*seen.borrow(), [Some(6), Some(7)]);
    assert_eq!(number(), None);
}

#[test]
fn a_panic_takes_the_value_off_again() {
    let mut future = Box::pin(NUMBER.scope(7, async { panic!("a poll") }));
    panics(|| poll::<_>(future.as_mut()) == Poll::Ready(()));
    assert_eq!(number(), None);

    let value = Rc::new(());
    static HELD: TaskLocal<Rc<()>> = TaskLocal::new();
    let future = HELD.scope(value.clone(), NUMBER.scope(8, hold(Panics)));
    panics(|| drop(future));
    assert_eq!(number(), None);
    assert_eq!(Rc::strong_count(&value), 1, "it is dropped all the same");

    panics(|| NUMBER.sync_scope(9, || panic!("a function")));
    assert_eq!(number(), None);
}

#[test]
fn a_value_may_be_set_while_one_is_read() {
    let sum = NUMBER.sync_scope(1, || {
        NUMBER.with(|outer| outer + NUMBER.sync_scope(2, || NUMBER.with(|inner| inner + outer)))
    });
    assert_eq!(sum, 4);
}

#[test]
fn a_key_that_is_not_set_says_what_to_do() {
    assert_eq!(NUMBER.try_with(|_| ()), None);
    let message = panic_text(|| NUMBER.get());
    for part in [
        "the task-local value of type `u32`, declared at ",
        "task_local.rs:",
        "wrap the future in `scope`, or in `carry` where it is spawned",
    ] {
        assert_contains(&message, part);
    }
}

#[test]
fn a_scope_is_as_free_as_what_it_holds() {
    fn is_send<T: Send + Sync>(_: &T) {}
    fn is_unpin<T: Unpin>(_: &T) {}
    let future = NUMBER.scope(1, poll_fn(|_| Poll::Ready(1)));
    is_send(&future);
    is_unpin(&future);
    assert_eq!(block_on(future), 1);
}

/// Looks from a side of bob's join, which the worker of alice takes while it waits: for its own
/// value and its own local tasks, and not for those of its taker, who has hers again afterwards.
#[test]
fn a_side_that_was_taken_is_not_its_taker() {
    let executor = executor(3);
    let [taken, looked] = [(); 2].map(|()| Arc::<AtomicBool>::default());
    let waits = {
        let (taken, looked) = (taken.clone(), looked.clone());
        // No other worker is idle, so the one that waits here takes bob's side.
        let waits = move || {
            join(
                || wait_until(|| taken.load(Relaxed)),
                || {
                    taken.store(true, Relaxed);
                    wait_until(|| looked.load(Relaxed));
                },
            );
        };
        executor.spawn(async move {
            let local = LocalExecutor::new();
            NUMBER.sync_scope(1, || {
                local.block_on(async { waits() });
                assert_eq!(number(), Some(1));
            });
            assert!(local.is_empty());
        })
    };
    wait_until(|| taken.load(Relaxed));
    let bob = executor.spawn(NAME.scope("bob".into(), async move {
        let (by_a, (by_b, seen, spawned)) = join(
            || {
                wait_until(|| looked.load(Relaxed));
                current_worker()
            },
            || {
                let seen = (number(), NUMBER.sync_scope(2, number), number());
                let spawned = spawn_local(async { current_worker() });
                looked.store(true, Relaxed);
                (current_worker(), seen, spawned)
            },
        );
        assert_ne!(by_a, by_b, "the side was taken");
        assert_eq!(seen, (None, Some(2), None));
        assert_eq!(spawned.await, by_b, "it has stayed on its worker");
    }));
    block_on(bob);
    block_on(waits);
}
