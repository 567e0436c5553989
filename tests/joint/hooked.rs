//! A waker whose functions act, or panic, when a test says so.

use std::mem::ManuallyDrop;

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    Clone,
    Wake,
    Drop,
}

type Act = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(crate) struct Hooks(Mutex<Option<(At, Act)>>);

/// A waker that does nothing yet, and its other side.
pub(crate) fn hooked() -> (Arc<Hooks>, Waker) {
    let hooks = Arc::<Hooks>::default();
    // SAFETY: the table counts references, and may be used from any thread.
    let waker = unsafe { Waker::new(Arc::into_raw(hooks.clone()).cast(), &TABLE) };
    (hooks, waker)
}

impl Hooks {
    pub(crate) fn next(&self, at: At, act: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some((at, Box::new(act)));
    }

    pub(crate) fn panics_next(&self, at: At) {
        self.next(at, || panic!("in the waker"));
    }

    /// How many wakers, and clones of them, are alive.
    pub(crate) fn wakers(self: &Arc<Self>) -> usize {
        Arc::strong_count(self) - 1
    }

    fn reached(&self, at: At) {
        let next = self.0.lock().unwrap().take_if(|(of, _)| *of == at);
        if let Some((_, act)) = next {
            act();
        }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the data of this table's wakers comes from `Arc::into_raw`.
        let hooks = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Hooks>()) });
        hooks.reached(At::Clone);
        RawWaker::new(Arc::into_raw(Arc::clone(&hooks)).cast(), &TABLE)
    },
    |data| give_up(data, At::Wake),
    |_| {},
    |data| give_up(data, At::Drop),
);

fn give_up(data: *const (), at: At) {
    // SAFETY: as above, and this reference is given up.
    unsafe { Arc::from_raw(data.cast::<Hooks>()) }.reached(at);
}
