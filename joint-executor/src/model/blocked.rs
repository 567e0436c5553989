//! For models of blocked threads. This exists under the model-checking cfg alone.

use alloc::rc::Rc;
use core::{cell::RefCell, time::Duration};

use joint::host;
use joint_switch::thread_local;

type Attend = Rc<dyn Fn() -> Option<Duration>>;

thread_local! {
    static ATTEND: RefCell<Option<Attend>> = const { RefCell::new(None) };
}

/// Sets what this thread does for other threads while it is blocked in a wait of the crate.
pub fn attend_while_blocked(attend: impl Fn() -> Option<Duration> + 'static) {
    ATTEND.with(|cell| cell.replace(Some(Rc::new(attend))));
    host::update(|host| {
        host.attend = Some(|_| {
            // Taken out of the cell, because a waker's code could block, and call this again.
            let attend = ATTEND.with(|cell| cell.borrow().clone());
            attend.and_then(|attend| attend())
        })
    });
}
