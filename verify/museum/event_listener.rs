//! event-listener 5.0.0 to 5.3.0, repaired in 5.3.1: smol-rs/event-listener#138. A notification
//! while the first listener of an event is made is lost, so the listener waits forever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

use event_listener::{Event, Listener};

#[test]
fn the_first_listener_is_notified() {
    let shared = Arc::new((Event::new(), AtomicBool::new(false)));
    let theirs = shared.clone();
    let notifies = thread::spawn(move || {
        theirs.1.store(true, SeqCst);
        theirs.0.notify(1);
    });
    let listener = shared.0.listen();
    if !shared.1.load(SeqCst) {
        listener.wait();
    }
    notifies.join().unwrap();
}
