//! Guards that are counted when they are made and when they are dropped.

use std::{
    marker::PhantomData,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, ThreadId},
};

/// How many guards were made, were dropped by their own thread, and by others.
#[derive(Clone, Default)]
pub(crate) struct Guards(Arc<[AtomicUsize; 3]>);

pub(crate) struct Guard(Guards, ThreadId);

impl Guards {
    pub(crate) fn guard(&self) -> Guard {
        self.0[0].fetch_add(1, Relaxed);
        Guard(self.clone(), thread::current().id())
    }

    /// One that must not be sent to another thread.
    pub(crate) fn local(&self) -> (Guard, PhantomData<Rc<()>>) {
        (self.guard(), PhantomData)
    }

    pub(crate) fn made(&self) -> usize {
        self.0[0].load(Relaxed)
    }

    pub(crate) fn dropped(&self) -> usize {
        self.0[1].load(Relaxed) + self.0[2].load(Relaxed)
    }

    /// Returns how many guards, and others, share these counts.
    pub(crate) fn shares(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    #[track_caller]
    pub(crate) fn assert_all_dropped(&self, made: usize) {
        assert_eq!((self.made(), self.dropped()), (made, made), "made, dropped");
    }

    #[track_caller]
    pub(crate) fn assert_dropped_at_home(&self, dropped: usize) {
        let [_, home, elsewhere] = &*self.0;
        let drops = (home.load(Relaxed), elsewhere.load(Relaxed));
        assert_eq!(drops, (dropped, 0), "dropped at home, elsewhere");
    }

    #[track_caller]
    pub(crate) fn assert_all_at_home(&self, made: usize) {
        assert_eq!(self.made(), made, "guards made");
        self.assert_dropped_at_home(made);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let is_home = thread::current().id() == self.1;
        self.0.0[if is_home { 1 } else { 2 }].fetch_add(1, Relaxed);
    }
}
