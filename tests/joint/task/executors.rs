//! The parts of a task for an executor beyond `run`: `Runnable::poll`, the two other functions of
//! `Schedule`, `Runnable::raw_abort`, and what hides an executor's metadata.

use crate::{
    prelude::*,
    support::{Wakes, each_row, poll_with, yield_now},
};

/// A schedule function for tasks that must not be scheduled.
fn never(_: Runnable) {
    unreachable!("the runnable goes to the caller of `poll`");
}

mod polls {
    use super::*;

    #[test]
    fn the_waiter_of_a_task_that_ends_is_left_to_the_caller() {
        let rows = [
            ("returned", (false, false)),
            ("panicked", (true, false)),
            ("aborted", (true, true)),
        ];
        each_row(rows, |(panics, abort)| {
            let (runnable, mut handle) = task::spawn(async move { assert!(!panics) }, never);
            let wakes = Wakes::new();
            assert!(poll_with(&mut handle, &wakes.waker()).is_pending());
            if abort {
                handle.abort();
            }
            let Polled::Ended(Some(waiter)) = runnable.poll() else {
                panic!("it has a waiter");
            };
            assert_eq!(wakes.count(), 0);
            waiter.wake();
            assert_eq!(wakes.count(), 1);
            match ready(handle.result()) {
                Ok(()) => assert!(!panics),
                Err(error) => assert_eq!(error.is_cancelled(), abort),
            }
        });
    }
}

#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<&'static str>>>);

impl Told {
    fn say(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A schedule function that keeps what it is told. The metadata of its tasks is a number.
struct Teller {
    told: Told,
    queue: Queue<u32>,
}

impl Schedule<u32> for Teller {
    fn schedule(&self, runnable: Runnable<u32>, _: ScheduleInfo) {
        self.told.say("scheduled");
        self.queue.push(runnable);
    }

    fn pending(&self, task: &PendingTask<'_, u32>) {
        assert_eq!((task.metadata(), task.name()), (&7, Some("told")));
        self.told.say(match task.is_woken() {
            true => "pending and woken",
            false => "pending",
        });
    }

    fn ended(&self, task: &EndedTask<'_, u32>, how: TaskEnd) {
        assert_eq!((task.metadata(), task.name()), (&7, Some("told")));
        self.told.say(match how {
            TaskEnd::Finished => "finished",
            TaskEnd::Cancelled => "cancelled",
            TaskEnd::Panicked => "panicked",
        });
    }
}

fn telling<F>(future: F) -> (Told, Queue<u32>, Runnable<u32>, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let (told, queue) = (Told::default(), Queue::new());
    let teller = Teller {
        told: told.clone(),
        queue: queue.clone(),
    };
    let builder = Builder::new().metadata(7).name("told");
    let (runnable, handle) = builder.spawn(|_| future, teller);
    (told, queue, runnable, handle.without_metadata())
}

fn says(told: &Told, what: &'static str) -> impl Send + use<> {
    let told = told.clone();
    OnDrop(move || told.say(what))
}

mod tells {
    use super::*;

    #[test]
    fn pending_reports_whether_the_task_was_woken() {
        let (told, queue, runnable, handle) = telling(yield_now());
        runnable.run();
        assert_eq!(told.take(), ["pending and woken", "scheduled"]);
        queue.run();
        assert_eq!(told.take(), ["finished"]);
        ready(handle);
    }

    #[test]
    fn the_end_after_the_future_is_gone_and_before_the_waiter_knows() {
        let future = Arc::new(Mutex::new(None));
        let kept = future.clone();
        let (told, _queue, runnable, mut handle) = telling(async move {
            let _gone = kept.lock().unwrap().take();
        });
        *future.lock().unwrap() = Some(says(&told, "dropped"));
        let waiter = told.clone();
        let waker = waker_that(move || waiter.say("woken"));
        assert!(poll_with(&mut handle, &waker).is_pending());
        runnable.run();
        assert_eq!(told.take(), ["dropped", "finished", "woken"]);
    }

    #[test]
    fn how_the_task_ends() {
        let (told, _, runnable, _handle) = telling(async { panic!("in poll") as u8 });
        runnable.run();
        assert_eq!(told.take(), ["panicked"]);

        let (told, _, runnable, _handle) = telling(pending::<()>());
        drop(runnable);
        assert_eq!(told.take(), ["cancelled"]);

        let bomb = OnDrop(|| panic!("in drop"));
        let (told, _, runnable, _handle) = telling(keeping(bomb));
        drop(runnable);
        assert_eq!(told.take(), ["panicked"], "the drop of a cancelled future");

        let (told, _, runnable, handle) = telling(pending::<()>());
        handle.detach();
        runnable.run();
        assert_eq!(told.take(), ["pending", "cancelled"], "an orphan");
    }
}

mod aborts {
    use super::*;

    /// Aborts a task by its address.
    ///
    /// # Safety
    /// The task has not ended.
    unsafe fn abort(task: NonNull<()>) -> Option<Runnable> {
        // SAFETY: passed on from the caller.
        unsafe { Runnable::raw_abort(task) }
    }

    #[test]
    fn a_task_that_is_due_when_it_runs() {
        let (runnable, handle) = Queue::new().spawn(async {});
        // SAFETY: the task has not run.
        assert!(unsafe { abort(runnable.as_ptr()) }.is_none());
        assert!(!runnable.run());
        assert!(is_cancelled(handle));
    }
}

/// The act of a schedule function inside `pending` or `ended`.
mod reenters {
    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum At {
        Pending,
        Ended,
    }

    const BOTH: [At; 2] = [At::Pending, At::Ended];

    type Act = Box<dyn FnOnce(NonNull<()>) + Send>;

    /// Acts once, inside the call that is asked for.
    #[derive(Clone)]
    struct Acting {
        at: At,
        act: Arc<Mutex<Option<Act>>>,
        queue: Queue,
    }

    impl Acting {
        /// Spawns a task for whose schedule function the test sets an act.
        fn spawn<F>(at: At, future: F) -> (Self, Runnable, JoinHandle<F::Output>)
        where
            F: Future<Output: Send> + Send + 'static,
        {
            let (act, queue) = (Arc::default(), Queue::new());
            let acting = Self { at, act, queue };
            let (runnable, handle) = Builder::new().spawn(|()| future, acting.clone());
            (acting, runnable, handle)
        }

        fn set(&self, act: impl FnOnce(NonNull<()>) + Send + 'static) {
            *self.act.lock().unwrap() = Some(Box::new(act));
        }

        fn reached(&self, at: At, task: NonNull<()>) {
            let act = (at == self.at).then(|| self.act.lock().unwrap().take());
            act.flatten().into_iter().for_each(|act| act(task));
        }

        /// Demands that it has acted, and that the task is gone.
        #[track_caller]
        fn end(self, futures: &Count) {
            assert!(self.act.lock().unwrap().is_none(), "it has not acted");
            let queue = self.queue.clone();
            drop(self);
            assert_eq!((futures.get(), queue.run(), queue.tasks()), (1, 0, 0));
        }
    }

    impl Schedule for Acting {
        fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
            self.queue.push(runnable);
        }

        fn pending(&self, task: &PendingTask<'_, ()>) {
            self.reached(At::Pending, task.as_ptr());
        }

        fn ended(&self, task: &EndedTask<'_, ()>, _: TaskEnd) {
            self.reached(At::Ended, task.as_ptr());
        }
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Ends {
        Ready,
        Panics,
        Cancelled,
    }

    /// Runs a task whose schedule function does `act` to it at a time, given its handle and a
    /// waker. Demands that the future and the output are dropped once, and that the memory is
    /// freed.
    fn run_with(at: At, ends: Ends, act: fn(JoinHandle<Dropped>, Waker)) {
        let (futures, outputs) = (Count::new(), Count::new());
        let (future, output) = (Dropped(futures.clone()), outputs.clone());
        let body = async move {
            let _future = future;
            yield_now().await;
            pending_once().await;
            assert!(ends != Ends::Panics, "in poll");
            Dropped(output)
        };
        let (acting, runnable, handle) = Acting::spawn(at, body);
        let (waker, second) = (runnable.waker(), runnable.waker());
        acting.set(move |_| act(handle, waker));
        runnable.run();
        match ends {
            Ends::Cancelled => drop(acting.queue.pop()),
            Ends::Ready | Ends::Panics => {
                acting.queue.run();
                second.wake_by_ref();
            }
        }
        acting.queue.run();
        drop(second);
        assert!(outputs.get() <= 1);
        acting.end(&futures);
    }

    #[test]
    fn all_may_be_done_to_the_task_and_its_thread() {
        type Act = fn(JoinHandle<Dropped>, Waker);
        let acts: [(&str, Act); 8] = [
            ("its handle is dropped first", |handle, waker| {
                drop(handle);
                drop(waker);
            }),
            ("its waker is dropped first", |handle, waker| {
                drop(waker);
                drop(handle);
            }),
            ("it is detached, and woken by value", |handle, waker| {
                handle.detach();
                waker.wake();
            }),
            ("it is woken, and aborted twice", |handle, waker| {
                waker.wake_by_ref();
                handle.abort();
                handle.abort();
                drop(waker);
                handle.detach();
            }),
            ("it is cancelled", |handle, waker| {
                drop((handle.cancel(), waker));
            }),
            ("its handle is polled", |mut handle, waker| {
                assert!(!handle.is_finished());
                assert!(poll_with(&mut handle, &waker).is_pending());
                handle.detach();
            }),
            ("other tasks are run and dropped", |handle, waker| {
                let queue = Queue::new();
                let inner = queue.start(async move {
                    yield_now().await;
                    waker.wake();
                    7
                });
                queue.run();
                assert_eq!(ready(inner), 7);
                handle.detach();
                drop(queue.start(pending::<()>()));
                queue.run();
            }),
            ("the thread blocks", |handle, waker| {
                joint::block_on(yield_now());
                drop((handle, waker));
            }),
        ];
        each_row(acts, |act| {
            for at in BOTH {
                for ends in [Ends::Ready, Ends::Panics, Ends::Cancelled] {
                    run_with(at, ends, act);
                }
            }
        });
    }
}

/// A task that nobody can wake ends in the run that leaves it so.
#[test]
fn a_waker_that_is_made_at_the_end_keeps_the_memory() {
    struct Keeps(Arc<Mutex<Option<Waker>>>);

    impl Schedule<Arc<()>> for Keeps {
        fn schedule(&self, _: Runnable<Arc<()>>, _: ScheduleInfo) {
            unreachable!("it has ended");
        }

        fn ended(&self, task: &EndedTask<'_, Arc<()>>, _: TaskEnd) {
            drop(task.waker());
            *self.0.lock().unwrap() = Some(task.waker());
        }
    }

    let (metadata, kept) = (Arc::new(()), Arc::default());
    let builder = Builder::new().metadata(metadata.clone());
    builder
        .spawn_detached(|_| pending::<()>(), Keeps(Arc::clone(&kept)))
        .run();
    let waker = kept.lock().unwrap().take().expect("it has ended");
    assert_eq!(
        Arc::strong_count(&metadata),
        2,
        "the task's memory is there"
    );
    waker.wake();
    assert_eq!(Arc::strong_count(&metadata), 1);
}
