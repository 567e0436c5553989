//! Variables and triggers.

use joint_flow::{Closed, variable::Changed};

use crate::prelude::*;

fn poll(changed: &mut Changed) -> Poll<Result<(), Closed>> {
    poll_with(changed, Waker::noop())
}

#[test]
fn a_waker_that_waits_again_gets_the_next_change() {
    struct Again {
        variable: Arc<AsyncVar<u32>>,
        wakes: AtomicUsize,
        next: Mutex<Option<Changed>>,
    }
    impl Again {
        fn wait(self: Arc<Self>) {
            let mut next = self.variable.on_change();
            assert!(poll_with(&mut next, &Waker::from(self.clone())).is_pending());
            *self.next.lock().unwrap() = Some(next);
        }
    }
    impl Wake for Again {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Relaxed);
            self.wait();
        }
    }

    let again = Arc::new(Again {
        variable: Arc::new(AsyncVar::new(0)),
        wakes: AtomicUsize::new(0),
        next: Mutex::default(),
    });
    again.clone().wait();
    for n in 1..=3 {
        again.variable.set(n);
        assert_eq!(again.wakes.load(Relaxed), n as usize);
    }
    again.next.lock().unwrap().take();
}

#[test]
fn the_old_value_may_use_the_variable_when_it_is_dropped() {
    struct Uses(Option<Arc<AsyncVar<Uses>>>);
    impl PartialEq for Uses {
        fn eq(&self, _: &Self) -> bool {
            false
        }
    }
    impl Drop for Uses {
        fn drop(&mut self) {
            if let Some(variable) = self.0.take() {
                assert!(variable.with(|new| new.0.is_none()));
            }
        }
    }

    let variable = Arc::new(AsyncVar::new(Uses(None)));
    variable.set(Uses(Some(variable.clone())));
    let mut changed = variable.on_change();
    assert!(variable.set(Uses(None)));
    assert_eq!(poll(&mut changed), Poll::Ready(Ok(())));
}

/// A variable says what it is even while its value is in use.
#[test]
fn a_variable_is_printed_under_its_own_lock() {
    let variable = AsyncVar::new(3);
    let text = variable.with(|_| format!("{variable:?}"));
    assert!(text.contains("AsyncVar"), "{text}");
    assert!(format!("{variable:?}").contains("value: 3"));
}

#[test]
fn a_change_in_place_notifies_if_it_says_so() {
    let variable = AsyncVar::new(1);
    let changed = variable.on_change();
    assert!(!variable.send_if_modified(|value| *value > 1));
    assert!(!changed.is_finished());
    let modified = catch_unwind(AssertUnwindSafe(|| {
        variable.modify(|value| {
            *value = 2;
            resume_unwind(Box::new("planned"));
        })
    }));
    assert!(modified.is_err() && !changed.is_finished());
    assert!(variable.send_if_modified(|value| *value > 1));
    assert!(changed.is_finished());
    let changed = variable.on_change();
    assert_eq!(variable.modify(|value| *value), 2);
    assert!(changed.is_finished());
}
