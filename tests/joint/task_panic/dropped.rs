//! Panics while the future or the output is dropped.

use crate::{
    prelude::*,
    support::{each_row, panics},
};

#[test]
fn a_panic_in_the_drop_of_a_ready_future_drops_the_output() {
    struct Ready(
        #[expect(dead_code, reason = "it is dropped")] PanicsInDrop,
        Option<Dropped>,
    );
    impl Future for Ready {
        type Output = Dropped;
        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Dropped> {
            Poll::Ready(self.1.take().unwrap())
        }
    }
    let queue = Queue::new();
    let (futures, outputs) = (Count::new(), Count::new());
    let bomb = PanicsInDrop(futures.clone(), "in the future's drop");
    let handle = queue.start(Ready(bomb, Some(Dropped(outputs.clone()))));
    queue.run();
    assert_eq!((futures.get(), outputs.get()), (1, 1));
    assert!(is_panicked(handle));
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn a_panicking_drop_of_a_future_reaches_its_handle_alone() {
    type Way = fn(&Queue, Runnable, JoinHandle<()>);
    let ways: [(&str, Way); 5] = [
        ("it is cancelled", |queue, runnable, handle| {
            runnable.run();
            let mut cancel = handle.cancel();
            queue.run();
            panics(|| poll(&mut cancel));
        }),
        ("its runnable is dropped", |queue, runnable, handle| {
            let waker = runnable.waker();
            runnable.run();
            waker.wake();
            drop(queue.pop());
            assert!(is_panicked(handle));
        }),
        ("its run leaves an orphan", |_, runnable, handle| {
            handle.detach();
            runnable.run();
        }),
        ("it is an orphan's last run", |queue, runnable, handle| {
            runnable.run();
            handle.detach();
            assert_eq!(queue.run(), 1);
        }),
        ("its handle is dropped", |queue, runnable, handle| {
            runnable.run();
            drop(handle);
            assert_eq!(queue.run(), 1);
        }),
    ];
    each_row(ways, |way| {
        let (queue, dropped) = (Queue::new(), Count::new());
        let future = keeping(PanicsInDrop(dropped.clone(), "in the future's drop"));
        let (runnable, handle) = queue.spawn(future);
        way(&queue, runnable, handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    });
}

/// It is discarded when the handle drops the output, as when the handle goes first, and the run
/// drops it: which of the two is up to chance.
#[test]
fn a_panicking_drop_of_an_output_reaches_who_took_it_alone() {
    type Way = fn(&Queue, Runnable, JoinHandle<PanicsInDrop>);
    let ways: [(&str, Way); 5] = [
        ("its handle is dropped", |_, runnable, handle| {
            runnable.run();
            drop(handle);
        }),
        ("its handle is detached", |_, runnable, handle| {
            runnable.run();
            handle.detach();
        }),
        ("its handle is dropped by a panic", |_, runnable, handle| {
            runnable.run();
            let payload = panics(|| {
                let _handle = handle;
                panic!("the first")
            });
            assert_eq!(payload.downcast_ref(), Some(&"the first"));
        }),
        ("it was taken", |_, runnable, mut handle| {
            runnable.run();
            let taken = poll(&mut handle);
            drop(handle);
            panics(|| drop(taken));
        }),
        ("a waker is left", |queue, runnable, handle| {
            let waker = runnable.waker();
            runnable.run();
            drop(handle);
            assert_eq!(queue.tasks(), 1);
            waker.wake();
        }),
    ];
    each_row(ways, |way| {
        let (queue, dropped) = (Queue::new(), Count::new());
        let output = PanicsInDrop(dropped.clone(), "in the output's drop");
        let (runnable, handle) = queue.spawn(async move { output });
        way(&queue, runnable, handle);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    });
}

/// The payload of a task's panic is an output like any other.
#[test]
fn a_panic_is_discarded_when_the_handle_drops_a_panic_payload() {
    let (queue, dropped) = (Queue::new(), Count::new());
    let payload = PanicsInDrop(dropped.clone(), "in the payload's drop");
    let handle = queue.start(async move { panic_any(payload) });
    queue.run();
    drop::<JoinHandle<()>>(handle);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

/// A task that nobody can wake or join ends like any other that is detached.
#[test]
fn a_panic_is_discarded_when_an_orphan_drops_a_panic_payload() {
    let (queue, dropped) = (Queue::new(), Count::new());
    let of_payload = dropped.clone();
    let panics = move || panic_any(PanicsInDrop(of_payload.clone(), "in the payload's drop"));
    let guard = OnDrop(panics);
    let (runnable, handle) = queue.spawn(async move { keeping(guard).await });
    handle.detach();
    runnable.run();
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}
