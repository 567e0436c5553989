//! Long chains of tasks, each of which has the last handle of the next, are cancelled on a stack as
//! small as a worker's. That is a process of its own, because an overflow ends it.
#![cfg(not(miri))]

use joint_flow::{Collection, task::from_future};

use crate::prelude::*;

const LENGTH: usize = 100_000;

type Driver = Pin<Box<dyn Future<Output = ()>>>;

fn poll(driver: impl Future<Output = ()> + 'static) -> Driver {
    let mut driver = Box::pin(driver);
    let polled = driver
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    driver
}

/// Makes a chain of tasks that await each other, cancels it, and checks that it is gone.
fn of_tasks(cancel: impl FnOnce(Task<()>, Vec<Driver>)) {
    let dropped = Arc::<AtomicUsize>::default();
    let (driver, mut task) = from_future(pending());
    let mut drivers = vec![poll(driver)];
    for _ in 0..LENGTH {
        let held = counted(&dropped);
        let (driver, next) = from_future(async move {
            let _held = held;
            _ = task.await;
        });
        drivers.push(poll(driver));
        task = next;
    }
    cancel(task, drivers);
    assert_eq!(dropped.load(Relaxed), LENGTH);
}

fn of_collections() {
    let dropped = Arc::<AtomicUsize>::default();
    let mut drivers = Vec::new();
    let mut collection = Collection::<()>::new();
    for _ in 0..LENGTH {
        let (next, held) = (Collection::new(), counted(&dropped));
        let child = async move {
            let _held = (held, collection);
            pending().await
        };
        drivers.extend(next.adder().enter(child).map(poll));
        collection = next;
    }
    drop(collection);
    assert_eq!(dropped.load(Relaxed), LENGTH);
}

/// The programs, by name.
const PROGRAMS: [(&str, fn()); 4] = [
    ("the last handle", || of_tasks(|task, _| drop(task))),
    ("cancel", || of_tasks(|task, _| task.cancel())),
    ("the driver", || {
        of_tasks(|_, drivers| drivers.into_iter().rev().for_each(drop));
    }),
    ("a collection", of_collections),
];

#[test]
fn a_chain_of_any_length_is_cancelled_on_a_workers_stack() {
    let cancel_all = || {
        for (name, program) in PROGRAMS {
            println!("{name}");
            let worker = thread::Builder::new().stack_size(2 << 20).spawn(program);
            worker.unwrap().join().unwrap();
        }
    };
    in_process(|_| {}, cancel_all);
}

/// Makes a chain of tasks, 1 to `length`. Each one drops, before the handle of the next one, what
/// `before` returns for it, and what `after` returns after that.
fn numbered<B: Send + 'static, A: Send + 'static>(
    length: usize,
    before: impl Fn(usize) -> B,
    after: impl Fn(usize) -> A,
) -> (Task<()>, Vec<Driver>) {
    let mut drivers = Vec::new();
    let mut below = None;
    for number in (1..=length).rev() {
        // Fields are dropped in this order.
        let held = (before(number), below, after(number));
        let (driver, task) = from_future(async move {
            let _held = held;
            pending().await
        });
        drivers.push(poll(driver));
        below = Some(task);
    }
    (below.expect("a chain has a task"), drivers)
}

#[test]
fn below_64_tasks_each_one_is_dropped_after_the_one_above() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let note = |number| {
        let log = log.clone();
        on_drop(move || log.lock().unwrap().push(number))
    };
    let (task, _drivers) = numbered(70, |_| (), note);
    drop(task);
    let order: Vec<_> = (64..=70).chain((1..64).rev()).collect();
    assert_eq!(*log.lock().unwrap(), order);
}

#[test]
fn a_panic_below_64_tasks_keeps_no_task_alive() {
    for panics in [1, 40, 65, 66, 70, 99] {
        let dropped = Arc::<AtomicUsize>::default();
        let (task, drivers) = numbered(
            100,
            |number| {
                on_drop(move || {
                    if number == panics {
                        resume_unwind(Box::new("planned"));
                    }
                })
            },
            |_| counted(&dropped),
        );
        let payload = catch_unwind(AssertUnwindSafe(|| drop(task))).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"planned"));
        assert_eq!(dropped.load(Relaxed), 100, "task {panics} panicked");
        // What comes next is at the first level again.
        let log = Arc::<AtomicUsize>::default();
        drop(numbered(64, |_| (), |_| counted(&log)).0);
        assert_eq!(log.load(Relaxed), 64);
        drop(drivers);
    }
}

#[test]
fn a_destructor_below_64_tasks_finds_gone_what_it_has_cancelled() {
    for number in [1, 64, 65, 66, 70] {
        let gone = Arc::<AtomicUsize>::default();
        let (other, _others) = numbered(10, |_| (), |_| counted(&gone));
        let mut other = Some(other);
        let seen = Arc::<AtomicUsize>::default();
        let slot = Mutex::new(Some({
            let (gone, seen) = (gone.clone(), seen.clone());
            on_drop(move || {
                other.take().inspect(Task::cancel);
                seen.store(gone.load(Relaxed), Relaxed);
            })
        }));
        let before = |it| (it == number).then(|| slot.lock().unwrap().take());
        let (task, _drivers) = numbered(70, before, |_| ());
        drop(task);
        assert_eq!(seen.load(Relaxed), 10, "task {number} cancels");
    }
}
