//! The debug output of a task: its name, where it was spawned, and its state in words.

use crate::prelude::*;

/// Demands that a text has these parts in it, which `..` separates, in this order.
#[track_caller]
fn has(shown: impl std::fmt::Debug, parts: &str) {
    let text = format!("{shown:?}");
    let mut rest = &*text;
    for part in parts.split("..") {
        let found = rest.split_once(part.trim());
        (_, rest) = found.unwrap_or_else(|| panic!("no `{part}` in {text}"));
    }
}

#[track_caller]
fn panic_of<M>(handle: JoinHandle<(), M>) -> PanicPayload {
    match ready(handle.result()) {
        Err(JoinError::Panicked(panic)) => panic,
        other => panic!("not a panic: {other:?}"),
    }
}

#[test]
fn a_runnable_and_a_handle_show_name_place_and_state() {
    let builder = Builder::new().metadata(7u32).name("seven");
    let line = line!() + 1;
    let (runnable, handle) = builder.spawn(|_| async {}, |_| {});
    let here = format!("name: \"seven\", spawned: {}:{line}:", file!());
    has(
        &runnable,
        &format!("Runnable {{ {here} .. handle: true .. wakes: 1"),
    );
    let pending = "join: Completion(Pending) .. cancelled: false, finished: false .. refs: 0";
    has(&handle, &format!("JoinHandle {{ {here} .. {pending}"));
    let waker = runnable.waker();
    has(&handle, "refs: 1");
    handle.abort();
    has(&handle, "cancelled: true");
    drop(runnable);
    let abandoned = "join: Completion(Abandoned) .. cancelled: true";
    has(&handle, &format!("{here} .. {abandoned}"));
    drop((waker, handle));
}

#[test]
fn a_panic_tells_the_task_its_place_and_its_text() {
    let builder = Builder::new().name("seven");
    let line = line!() + 1;
    let (runnable, handle) = builder.spawn(|()| async { panic!("no {}", 1) }, |_| {});
    runnable.run();
    let panic = panic_of(handle);
    assert_eq!(
        (panic.message(), panic.task_name()),
        (Some("no 1"), Some("seven"))
    );
    assert_eq!(
        (panic.spawned().file(), panic.spawned().line()),
        (file!(), line)
    );
    has(
        &panic,
        "task_name: Some(\"seven\") .. debug.rs: .. message: \"no 1\"",
    );
    let expected = format!(
        "the task `seven` spawned at {} panicked: no 1",
        panic.spawned()
    );
    assert_eq!(panic.to_string(), expected);
    assert_eq!(JoinError::Panicked(panic).to_string(), expected);
}

#[test]
fn awaiting_a_cancelled_task_names_the_task() {
    let (runnable, handle) = Builder::new().name("seven").spawn(|()| async {}, |_| {});
    drop(runnable);
    let payload = crate::support::panics(|| ready(handle));
    let text = payload.downcast_ref::<String>().unwrap();
    assert!(
        text.starts_with("awaited a task that was cancelled") && text.contains("debug.rs"),
        "{text}"
    );
}

/// The line of this file that a task says it was spawned at, and the place by its handle.
#[track_caller]
fn spawned_here<T>(handle: &JoinHandle<T>, line: u32) {
    assert_eq!(handle.spawned().line(), line);
    has(handle, &format!("spawned: {}:{line}:", file!()));
}

#[test]
fn each_way_to_spawn_tells_the_line_of_its_caller() {
    fn nothing() -> impl Future<Output = ()> + Send {
        pending()
    }
    let (runnable, handle) = task::spawn(nothing(), |_| {});
    spawned_here(&handle, line!() - 1);
    assert_eq!(runnable.spawned().line(), line!() - 2);
    let (_runnable, handle) = Builder::new().spawn(|()| nothing(), |_| {});
    spawned_here(&handle, line!() - 1);
    let (_runnable, handle) = task::spawn_local(nothing(), |_| {});
    spawned_here(&handle, line!() - 1);
    let (_runnable, handle) = Builder::new().spawn_local(|()| nothing(), |_| {});
    spawned_here(&handle, line!() - 1);
    let runnable = task::spawn_detached(nothing(), |_| {});
    assert_eq!(runnable.spawned().line(), line!() - 1);
    let runnable = Builder::new().spawn_detached(|()| nothing(), |_| {});
    assert_eq!(runnable.spawned().line(), line!() - 1);
    // SAFETY: all of it may be sent, and borrows nothing.
    let (_runnable, handle) = unsafe { task::spawn_unchecked(nothing(), |_| {}) };
    spawned_here(&handle, line!() - 1);
}
