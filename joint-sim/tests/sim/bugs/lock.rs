//! A fair lock.

use joint::oneshot::SendError;

use super::*;

/// A guard that is dropped is handed to the task that waits longest, as with those of tokio.
#[derive(Clone)]
pub(crate) struct Lock(Arc<Mutex<Queue>>);

struct Queue {
    is_held: bool,
    waiting: VecDeque<oneshot::Sender<Option<Guard>>>,
    version: Version,
}

pub(crate) struct Guard(Lock);

impl Lock {
    /// Planted: what is handed over is only the news of it, which is lost with a waiter that has
    /// been cancelled.
    pub(crate) fn new(version: Version) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            is_held: false,
            waiting: VecDeque::new(),
            version,
        })))
    }

    pub(crate) async fn lock(&self) -> Guard {
        let receiver = {
            let mut queue = self.0.lock().unwrap();
            if !mem::replace(&mut queue.is_held, true) {
                return Guard(self.clone());
            }
            let (sender, receiver) = oneshot::channel();
            queue.waiting.push_back(sender);
            receiver
        };
        let guard = receiver.await.unwrap();
        guard.unwrap_or_else(|| Guard(self.clone()))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        loop {
            let mut queue = self.0.0.lock().unwrap();
            let next = queue.waiting.pop_front();
            queue.is_held = next.is_some();
            let Some(next) = next else { return };
            let guard = (queue.version == Version::Repaired).then(|| Guard(self.0.clone()));
            drop(queue);
            // If its future was dropped, a guard comes back, and its drop hands it on.
            let lost = next.send(guard).map_err(SendError::into_inner);
            if !matches!(lost, Err(None)) {
                return;
            }
        }
    }
}
