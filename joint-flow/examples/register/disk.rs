//! A replica's disk, which survives its crashes.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joint_flow::time::delay;

use crate::message::Version;

/// It holds one version. A clone is another handle to the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<Version>>);

/// How long a write takes.
const WRITE: Duration = Duration::from_micros(200);

impl Disk {
    pub(crate) fn read(&self) -> Version {
        *self.lock()
    }

    /// Writes all or nothing. A crash before the end leaves the disk as it was.
    pub(crate) async fn write(&self, version: Version) {
        delay(WRITE).await;
        *self.lock() = version;
    }

    fn lock(&self) -> MutexGuard<'_, Version> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
