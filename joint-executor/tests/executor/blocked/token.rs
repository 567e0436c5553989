//! Wakers that run on a blocked worker's thread and use up its token.

use std::{sync::atomic::Ordering::SeqCst, thread::ThreadId};

use crate::prelude::*;

/// Asks another thread to send the value that the worker waits for; and once that is done, takes
/// the token that the send has given to the thread, as any code that parks may do.
struct TakesToken {
    blocked: ThreadId,
    ask: mpsc::Sender<()>,
    is_sent: Arc<AtomicBool>,
}

impl Wake for TakesToken {
    fn wake(self: Arc<Self>) {
        self.ask.send(()).unwrap();
        while !self.is_sent.load(SeqCst) {
            thread::yield_now();
        }
        if thread::current().id() == self.blocked {
            thread::park();
        }
    }
}

/// One worker waits, and the other has nothing to do: either of them fires the timer.
#[test]
fn a_waker_that_parks_on_the_blocked_thread_hides_no_value() {
    ends(|| {
        let executor = executor(2);
        for _ in 0..200 {
            let task = executor.spawn(async {
                let (sender, receiver) = oneshot::channel();
                let (ask, asked) = mpsc::channel();
                let is_sent = Arc::new(AtomicBool::new(false));
                let other = {
                    let is_sent = is_sent.clone();
                    thread::spawn(move || {
                        asked.recv().unwrap();
                        sender.send(7).unwrap();
                        is_sent.store(true, SeqCst);
                    })
                };
                let waker = Waker::from(Arc::new(TakesToken {
                    blocked: thread::current().id(),
                    ask,
                    is_sent,
                }));
                let mut timer = pin!(sleep(MILLI));
                assert!(
                    timer
                        .as_mut()
                        .poll(&mut Context::from_waker(&waker))
                        .is_pending()
                );
                assert_eq!(receiver.blocking_recv(), Ok(7));
                other.join().unwrap();
            });
            block_on(task);
        }
    });
}
