//! The additions of a builder to a task: metadata, a name, and a future that is made of the
//! metadata.

use std::thread::ThreadId;

use crate::{prelude::*, support::each_row};

/// Metadata that tells on which thread it was dropped, each time that it is.
struct Tag {
    number: u32,
    drops: Arc<Mutex<Vec<ThreadId>>>,
}

impl Tag {
    fn new() -> Self {
        Self {
            number: 7,
            drops: Arc::default(),
        }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        self.drops.lock().unwrap().push(thread::current().id());
    }
}

struct Tagged {
    queue: Queue<Tag>,
    drops: Arc<Mutex<Vec<ThreadId>>>,
}

impl Tagged {
    fn spawn<F>(future: F) -> (Self, Runnable<Tag>, JoinHandle<F::Output, Tag>)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (queue, tag) = (Queue::new(), Tag::new());
        let drops = tag.drops.clone();
        let builder = Builder::new().metadata(tag);
        let (runnable, handle) = builder.spawn(|_| future, queue.scheduler());
        (Self { queue, drops }, runnable, handle)
    }

    fn drops(&self) -> Vec<ThreadId> {
        self.drops.lock().unwrap().clone()
    }
}

#[test]
fn metadata_is_one_place_for_runnable_and_handle() {
    let (task, runnable, handle) = Tagged::spawn(pending_once());
    assert_eq!(runnable.metadata().number, 7);
    assert!(ptr::eq(runnable.metadata(), handle.metadata()));
    let waker = runnable.waker();
    runnable.run();
    waker.wake();
    let runnable = task.queue.pop().unwrap();
    assert!(ptr::eq(runnable.metadata(), handle.metadata()));
    runnable.run();
    assert_eq!(handle.metadata().number, 7);
    let mut result = handle.result();
    assert!(poll(&mut result).is_ready());
    assert_eq!(result.handle().metadata().number, 7, "taken, and kept");
    assert!(task.drops().is_empty());
    drop(result);
    assert_eq!(task.drops().len(), 1);
}

#[test]
fn metadata_is_dropped_by_who_frees_the_task_on_its_thread() {
    each_row(frees(), |free| {
        let (task, runnable, handle) = Tagged::spawn(pending());
        assert!(task.drops().is_empty());
        let dropper = thread::spawn(move || free(runnable, handle));
        let id = dropper.thread().id();
        dropper.join().unwrap();
        assert_eq!(task.drops(), [id]);
    });
}

/// Looks at what it borrows when it is dropped.
struct Looking<'a, const SIZE: usize>(&'a Cell<usize>, [u8; SIZE]);

impl<const SIZE: usize> Drop for Looking<'_, SIZE> {
    fn drop(&mut self) {
        self.0
            .set(self.0.get() + usize::from(self.1.iter().all(|&byte| byte == 7)));
    }
}

/// Ends a task whose future and output borrow in each way, with parts of these sizes, frees what
/// they borrow, and then uses the references that are left.
fn outlived_by_references<const FUTURE: usize, const OUTPUT: usize>() {
    for way in ["taken", "dropped", "panicked", "cancelled"] {
        let lent = Box::new(Cell::new(0));
        let future = async {
            let held = Looking(&lent, [7; FUTURE]);
            pending_once().await;
            assert_ne!(way, "panicked", "it is meant to panic");
            drop(held);
            Looking(&lent, [7; OUTPUT])
        };
        let queue = Queue::new();
        let builder = Builder::new().metadata(7).name(String::from(way));
        // SAFETY: everything stays on this thread. The task ends, and its output is dropped, before
        // `lent` is. Nothing else borrows.
        let (runnable, handle) = unsafe { builder.spawn_unchecked(|_| future, queue.scheduler()) };
        let (waker, abort) = (runnable.waker(), handle.abort_handle());
        runnable.run();
        waker.wake_by_ref();
        let runnable = queue.pop().unwrap();
        match way {
            "cancelled" => drop(runnable),
            _ => _ = runnable.run(),
        }
        assert!(handle.is_finished());
        match way {
            "taken" => drop(ready(handle)),
            _ => drop(handle),
        }
        assert_eq!(
            lent.get(),
            if ["taken", "dropped"].contains(&way) {
                2
            } else {
                1
            }
        );
        drop(lent);
        abort.abort();
        waker.wake_by_ref();
        assert_eq!(queue.len(), 0);
        drop((waker, abort));
        assert_eq!(queue.tasks(), 0);
    }
}

#[test]
fn wakers_outlive_what_the_future_and_the_output_borrow() {
    const LARGE: usize = 17 * 1024;
    outlived_by_references::<1, 1>();
    outlived_by_references::<LARGE, 1>();
    outlived_by_references::<1, LARGE>();
    outlived_by_references::<LARGE, LARGE>();
}

#[test]
fn an_output_may_borrow_the_metadata_while_the_handle_lives() {
    let builder = Builder::new().metadata(String::from("seven"));
    // SAFETY: as above; the output is not used after the handle.
    let (runnable, mut handle) =
        unsafe { builder.spawn_unchecked(|text| async move { text.as_str() }, |_| {}) };
    runnable.run();
    assert_eq!(poll(&mut handle), Poll::Ready("seven"));
}

#[test]
fn a_name_is_there_for_runnable_and_handle() {
    let names = [
        Builder::new().name("static"),
        Builder::new().name(String::from("owned")),
        Builder::new().name("replaced").name("last"),
    ];
    for (builder, name) in names.into_iter().zip(["static", "owned", "last"]) {
        let (runnable, handle) = builder.spawn(|()| async {}, |_| {});
        assert_eq!((runnable.name(), handle.name()), (Some(name), Some(name)));
        runnable.run();
        let mut result = handle.result();
        assert!(poll(&mut result).is_ready());
        assert_eq!(result.handle().name(), Some(name), "taken, and kept");
    }
}

#[test]
fn over_aligned_metadata_is_aligned() {
    #[repr(align(256))]
    struct Aligned(u8);
    let builder = Builder::new().metadata(Aligned(7)).name("aligned");
    let (runnable, handle) = builder.spawn(|metadata| std::future::ready(metadata.0), |_| {});
    assert_eq!((&raw const *handle.metadata()).addr() % 256, 0);
    runnable.run();
    assert_eq!(ready(handle), 7);
}

#[test]
fn a_handle_converts_between_its_ways_to_be_awaited() {
    let (task, runnable, handle) = Tagged::spawn(async { 7 });
    let handle = handle.result().into_handle().fallible().into_handle();
    assert!(!handle.fallible().handle().is_finished());
    runnable.run();
    assert_eq!(
        task.drops().len(),
        1,
        "the last of them was dropped, which cancelled"
    );

    let (task, runnable, handle) = Tagged::spawn(async { 7 });
    runnable.run();
    let cancel = handle.cancel();
    assert!(cancel.handle().is_finished());
    assert_eq!(
        ready(cancel.into_handle()),
        7,
        "there before it was cancelled"
    );
    assert_eq!(task.drops().len(), 1);
}
