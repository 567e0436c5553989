//! Ids, abort handles, and what an error says about its task.

use std::{collections::HashSet, io};

use joint::task::CancelledTask;

use crate::{
    prelude::*,
    support::{Wakes, poll_with, yield_now},
};

#[test]
fn an_id_is_not_used_again_with_the_memory() {
    static STORAGE: TaskStorage<256> = TaskStorage::new();
    let id = || {
        let (runnable, handle) = STORAGE.spawn(async {}, |_| {}).expect("it is free");
        let id = handle.id();
        drop(runnable);
        id
    };
    let ids: HashSet<_> = (0..3000).map(|_| id()).collect();
    assert_eq!(ids.len(), 3000);
}

#[test]
fn all_that_belong_to_a_task_know_its_id() {
    let queue = Queue::new();
    let (runnable, handle) = queue.spawn(async {
        let (before, ()) = (task::id(), yield_now().await);
        (before, task::id(), task::try_id())
    });
    let (id, abort) = (handle.id(), handle.abort_handle());
    assert_eq!((runnable.id(), abort.id()), (id, id));
    assert!(!runnable.attach(|_| unreachable!("it has an id")));
    assert!(runnable.view().data().is_none());
    assert_eq!(
        handle.spawned(),
        runnable.spawned(),
        "it is found behind the id too"
    );
    queue.push(runnable);
    queue.run();
    assert_eq!(ready(handle), (id, id, Some(id)));
    assert_eq!(id.to_string(), id.get().to_string());
}

#[test]
fn a_view_shows_no_waiter_of_a_task_that_has_ended() {
    for is_cancelled in [false, true] {
        let (runnable, mut handle) = task::spawn(async {}, |_| {});
        // SAFETY: the handle keeps the task alive.
        let view = unsafe { Runnable::<()>::raw_view(runnable.as_ptr()) };
        assert_eq!(view.waiter(), None);
        assert!(poll_with(&mut handle, &Wakes::new().waker()).is_pending());
        assert!(view.waiter().is_some());
        match is_cancelled {
            true => drop(runnable),
            false => _ = runnable.run(),
        }
        assert_eq!(view.waiter(), None);
    }
}

#[test]
fn the_last_abort_handle_of_a_detached_task_can_end_it() {
    for aborts in [false, true] {
        let queue = Queue::new();
        let handle = queue.start(pending::<()>());
        let abort = handle.abort_handle();
        queue.run();
        handle.detach();
        assert!(!abort.is_finished());
        assert_eq!(queue.len(), 0, "the abort handle could still end it");
        if aborts {
            abort.abort();
            assert_eq!(queue.run(), 1);
            assert!(abort.is_finished());
        }
        drop(abort);
        assert_eq!(queue.run(), usize::from(!aborts));
        assert_eq!(queue.tasks(), 0);
    }
}

#[test]
fn an_error_knows_the_task_that_panicked_and_gives_its_payload() {
    let queue = Queue::new();
    let handle = queue.start(async { std::panic::resume_unwind(Box::new(4)) });
    let id = handle.id();
    queue.run();
    let error = ready(handle.result()).map(|(): ()| ()).unwrap_err();
    assert_eq!(error.id(), Some(id));
    assert!(error.is_panic() && !error.is_cancelled());
    assert_eq!(error.into_panic().downcast_ref(), Some(&4));

    let payload = PanicPayload::new(Box::new(5), Location::caller());
    let error = JoinError::Panicked(payload);
    assert_eq!(error.id(), None);
    assert_eq!(error.try_into_panic().unwrap().downcast_ref(), Some(&5));
}

/// An error says which task was cancelled, by what is known of it when it is joined.
#[test]
fn an_error_names_the_task_that_was_cancelled() {
    let here = Location::caller();
    let rows = [
        (None, false),
        (None, true),
        (Some("flush"), false),
        (Some("flush"), true),
    ];
    for (name, is_asked) in rows {
        let new = || Builder::new().spawned_at(here);
        let (runnable, handle) = match name {
            Some(name) => new().name(String::from(name)).spawn(|()| async {}, |_| {}),
            None => new().spawn(|()| async {}, |_| {}),
        };
        let id = is_asked.then(|| runnable.id());
        drop(runnable);
        let error = ready(handle.result()).unwrap_err();
        assert!(error.is_cancelled() && !error.is_panic());
        assert_eq!(error.id(), id);
        let JoinError::Cancelled(task) = &error else {
            unreachable!()
        };
        assert_eq!(
            (task.task_name(), task.id(), task.spawned()),
            (name, id, here)
        );
        let named = match (name, id) {
            (Some(name), _) => format!("`{name}` "),
            (None, Some(id)) => format!("{id} "),
            (None, None) => String::new(),
        };
        let text = format!("the task {named}spawned at {here} was cancelled");
        assert_eq!(error.to_string(), text);
        let error = error.try_into_panic().unwrap_err();
        let wrong = std::panic::catch_unwind(|| error.into_panic()).unwrap_err();
        let wrong = wrong.downcast_ref::<String>().unwrap();
        assert_eq!(*wrong, format!("`into_panic` was called, but {text}"));
    }
    assert_eq!(size_of::<JoinError>(), 2 * size_of::<usize>());
    assert_eq!(
        size_of::<Result<u64, JoinError>>(),
        16.max(2 * size_of::<usize>())
    );
}

#[test]
fn an_error_becomes_an_io_error_that_contains_it() {
    let cancelled = CancelledTask::new(Location::caller());
    let error = io::Error::from(JoinError::Cancelled(cancelled));
    assert_eq!(error.kind(), io::ErrorKind::Other);
    let inner = error.into_inner().unwrap().downcast::<JoinError>().unwrap();
    assert!(inner.is_cancelled());
}

#[test]
fn a_value_is_attached_once_and_is_dropped_with_the_task() {
    let dropped = Count::new();
    let (runnable, handle) = task::spawn(async {}, |_| {});
    assert!(runnable.view().data().is_none());
    let value = || Box::new(Dropped(dropped.clone()));
    let mut made_for = None;
    assert!(runnable.attach(|id| {
        made_for = Some(id);
        value()
    }));
    assert_eq!(made_for, Some(handle.id()));
    assert!(!runnable.attach(|_| unreachable!("it has a value")));
    let data = runnable.view().data();
    assert!(data.is_some_and(|data| data.is::<Dropped>()));
    runnable.run();
    assert_eq!(dropped.get(), 0, "the handle keeps the task");
    drop(handle);
    assert_eq!(dropped.get(), 1);
}
