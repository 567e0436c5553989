//! Says where a model has stopped, if it waits for something that the checker does not see.

use core::{
    panic::Location,
    ptr::null_mut,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed},
};
use std::{
    sync::{Arc, Mutex, Once, PoisonError},
    thread,
    time::Duration,
};

/// After so many seconds without a step.
const PATIENCE: u32 = 5;

/// What a thread of the system that runs models has done last.
#[derive(Debug, Default)]
pub(crate) struct Beat {
    /// The steps so far, of all models.
    steps: AtomicU64,
    /// The place of the last step. Null while no model runs.
    at: AtomicPtr<Location<'static>>,
}

static BEATS: Mutex<Vec<Arc<Beat>>> = Mutex::new(Vec::new());

impl Beat {
    /// Watches this thread of the system.
    pub(crate) fn new() -> Arc<Self> {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            // Without it, nothing is said.
            _ = thread::Builder::new().spawn(watch);
        });
        let beat = Arc::<Self>::default();
        let mut beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner);
        beats.retain(|other| Arc::strong_count(other) > 1);
        beats.push(beat.clone());
        beat
    }

    pub(crate) fn step(&self, at: &'static Location<'static>) {
        self.steps.store(self.steps.load(Relaxed) + 1, Relaxed);
        self.at.store(core::ptr::from_ref(at).cast_mut(), Relaxed);
    }

    pub(crate) fn rest(&self) {
        self.at.store(null_mut(), Relaxed);
    }
}

fn watch() {
    // The steps at the last look, and how many looks ago there were fewer.
    let mut seen: Vec<(Arc<Beat>, u64, u32)> = Vec::new();
    loop {
        thread::sleep(Duration::from_secs(1));
        let beats = BEATS.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let look = |beat: Arc<Beat>| {
            let steps = beat.steps.load(Relaxed);
            let mut before = seen.iter().filter(|(other, ..)| Arc::ptr_eq(other, &beat));
            let same = before.next().filter(|(_, before, _)| *before == steps);
            let looks = same.map_or(0, |(.., looks)| looks + 1);
            (beat, steps, looks)
        };
        seen = beats.into_iter().map(look).collect();
        for (beat, _, looks) in &seen {
            // SAFETY: it is null, or came from a reference that lives as long as the process.
            let at = unsafe { beat.at.load(Relaxed).as_ref() };
            if let (Some(at), &PATIENCE) = (at, looks) {
                eprintln!(
                    "joint-check: no step for {PATIENCE} seconds after the one at {at}. If a thread \
                     of the model holds a lock of std's over a step, and another one waits for that \
                     lock, neither goes on: they are one thread of the system. Use the lock of \
                     joint-check."
                );
            }
        }
    }
}
