//! Families: by which an executor recognises the wakers of its own tasks.

use std::sync::mpsc::Sender;

use joint::waker::{self, Family};

use crate::{common::Wakes, prelude::*};

static FAMILY: Family = Family::new();
static OTHER: Family = Family::new();

/// Sends the runnables of its tasks, which are of [`FAMILY`].
#[derive(Clone)]
struct Sends(Sender<Runnable>);

impl Schedule for Sends {
    const FAMILY: Option<&'static Family> = Some(&FAMILY);

    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        let _sent = self.0.send(runnable);
    }
}

#[derive(Clone, Copy)]
struct Drops;

impl Schedule for Drops {
    const FAMILY: Option<&'static Family> = Some(&OTHER);

    fn schedule(&self, _: Runnable, _: ScheduleInfo) {}
}

/// Whether a waker is of each of the families, in both of its forms.
fn families(waker: &Waker) -> [bool; 2] {
    [&FAMILY, &OTHER].map(|family| {
        let is_of = waker::is_of(waker, family);
        assert_eq!(ThinWaker::from(waker).is_of(family), is_of);
        assert_eq!(waker::is_of(&ThinWaker::from(waker).into(), family), is_of);
        is_of
    })
}

#[test]
fn a_task_is_of_the_family_of_its_scheduler_alone() {
    let (sender, _runnables) = mpsc::channel();
    let (ours, _handle) = Builder::new().spawn(|()| async {}, Sends(sender));
    assert_eq!(families(&ours.waker()), [true, false]);
    let (others, _handle) = Builder::new().spawn(|()| async {}, Drops);
    assert_eq!(families(&others.waker()), [false, true]);
}

#[test]
fn strangers_threads_and_tasks_of_functions_have_no_family() {
    let (of_function, _handle) = task::spawn(async {}, |_| {});
    let parker = Parker::new();
    let stranger = Wakes::new().waker();
    for waker in [
        &of_function.waker(),
        parker.waker(),
        Waker::noop(),
        &stranger,
    ] {
        assert_eq!(families(waker), [false; 2]);
    }
}

/// A scheduler whose family is a constant, which has no address of its own.
#[derive(Clone, Copy)]
struct InPlace<const N: u8>;

impl Schedule for InPlace<0> {
    const FAMILY: Option<&'static Family> = Some(&Family::new());

    fn schedule(&self, _: Runnable, _: ScheduleInfo) {}
}

impl Schedule for InPlace<1> {
    const FAMILY: Option<&'static Family> = Some(&Family::new());

    fn schedule(&self, _: Runnable, _: ScheduleInfo) {}
}

#[test]
fn families_that_are_no_statics_are_not_merged() {
    let (task, _handle) = Builder::new().spawn(|()| async {}, InPlace::<0>);
    let other = InPlace::<1>::FAMILY.unwrap();
    assert!(!waker::is_of(&task.waker(), other));
}
