//! Models of the set of tasks on its real source: tasks end in threads of their own, against a set
//! that waits for them, detaches them, or is dropped.

use joint::JoinHandle;
use joint_executor::JoinSet;
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

fn value(drops: &Drops) -> (Runnable, JoinHandle<Value>) {
    let value = drops.value();
    task::spawn(async { value }, |_| unreachable!("never woken"))
}

fn run(runnable: Runnable) -> Thread<()> {
    thread::spawn(move || {
        runnable.run();
    })
}

fn poll(set: &mut JoinSet<Value>, wakes: &Arc<Wakes>) -> Poll<Option<Value>> {
    let waker = wakes.waker();
    let poll = set.poll_join_next(&mut Context::from_waker(&waker));
    poll.map(|next| {
        let value = next?.unwrap();
        value.look();
        Some(value)
    })
}

/// Polls until the set is empty. A pending set is polled again only after a wake-up.
fn drain(mut set: JoinSet<Value>, mut threads: Vec<Thread<()>>, mut left: usize) {
    loop {
        let wakes = Wakes::new();
        match poll(&mut set, &wakes) {
            Poll::Ready(Some(_)) => left -= 1,
            Poll::Ready(None) => break,
            Poll::Pending => {
                assert!(
                    !threads.is_empty(),
                    "all have ended, and a result is missing"
                );
                join_all(threads.drain(..));
                assert_eq!(wakes.count(), 1, "a result without a wake-up");
            }
        }
        assert_eq!(wakes.wakers(), 0);
    }
    assert_eq!(left, 0);
    join_all(threads.drain(..));
}

fn ends_against_polls(tasks: usize) {
    let drops = Drops::default();
    let (runnables, set): (Vec<_>, JoinSet<_>) = (0..tasks).map(|_| value(&drops)).unzip();
    let threads = runnables.into_iter().map(run).collect();
    drain(set, threads, tasks);
    drops.assert_all_of(tasks);
}

#[test]
fn an_end_against_another_waker() {
    model(|| {
        let drops = Drops::default();
        let (runnable, handle) = value(&drops);
        let mut set = JoinSet::from_iter([handle]);
        let thread = run(runnable);
        let (first, last) = (Wakes::new(), Wakes::new());
        let polled = poll(&mut set, &first).is_ready();
        let polled_again = polled || poll(&mut set, &last).is_ready();
        thread.join().unwrap();
        if !polled_again {
            assert_eq!((first.count(), last.count()), (0, 1));
            assert!(matches!(poll(&mut set, &last), Poll::Ready(Some(_))));
        } else {
            assert_eq!(first.count(), usize::from(!polled));
        }
        assert_eq!((first.wakers(), last.wakers()), (0, 0));
        drop(set);
        drops.assert_all_of(1);
    });
}

#[test]
fn an_end_against_its_insertion() {
    model(|| {
        let drops = Drops::default();
        let (runnable, handle) = value(&drops);
        let thread = run(runnable);
        let set = JoinSet::from_iter([handle]);
        drain(set, vec![thread], 1);
        drops.assert_all_of(1);
    });
}

#[test]
fn an_end_against_the_insertion_of_another() {
    model_bounded(3, || {
        let drops = Drops::default();
        let ((first, first_handle), (second, second_handle)) = (value(&drops), value(&drops));
        let mut set = JoinSet::from_iter([first_handle]);
        let thread = run(first);
        let wakes = Wakes::new();
        let waits = poll(&mut set, &wakes).is_pending();
        second.run();
        set.insert(second_handle);
        thread.join().unwrap();
        assert_eq!(wakes.count(), usize::from(waits), "woken once for both");
        drain(set, Vec::new(), 1 + usize::from(waits));
        drops.assert_all_of(2);
    });
}

fn gone(detach: bool, polled: bool) {
    model(move || {
        let drops = Drops::default();
        let (runnable, handle) = value(&drops);
        let mut set = JoinSet::from_iter([handle]);
        let thread = run(runnable);
        let wakes = Wakes::new();
        let taken = polled && poll(&mut set, &wakes).is_ready();
        if detach {
            set.detach_all();
            let mut after = Wakes::new();
            assert!(matches!(poll(&mut set, &after), Poll::Ready(None)));
            after = Wakes::new();
            let (second, handle) = value(&drops);
            set.insert(handle);
            assert!(poll(&mut set, &after).is_pending());
            second.run();
            assert_eq!(after.count(), 1);
            assert!(matches!(poll(&mut set, &after), Poll::Ready(Some(_))));
        }
        drop(set);
        thread.join().unwrap();
        let woken = polled && !taken;
        assert!(wakes.count() <= usize::from(woken));
        assert!(!detach || wakes.count() == usize::from(woken));
        assert_eq!(wakes.wakers(), 0);
        drops.assert_all_of(1 + usize::from(detach));
    });
}

models! {
    an_end_against_polls: model(|| ends_against_polls(1));
    two_ends_against_polls: model_bounded(3, || ends_against_polls(2));
    an_end_against_the_drop_of_the_set: gone(false, false);
    an_end_against_the_drop_of_a_set_that_was_waited_for: gone(false, true);
    an_end_against_the_detaching_of_a_set_that_was_waited_for: gone(true, true);
}
