//! The atomic read-modify-writes of each path through a whole executor: the table *Cost in atomic
//! operations* of `docs/executor.md`.
//!
//! The executor is a real one with one worker, and the model's thread runs that worker's loop. A
//! task makes each path happen, and counts all operations of joint's own atomics and locks until it
//! runs again. Each path is taken twice, and counted the second time: an executor that runs has
//! room in its queues and its registry.

use std::{array, collections::BTreeMap, sync::Mutex};

use joint::host;
use joint_executor::{
    hosted::{BoundWorker, Step, apart},
    spawn_detached, spawn_now,
};
use joint_switch::model::{
    FencesTakeTurns,
    observe::{Operation, Step as Act},
};
use loom_tests::lab;

use crate::prelude::*;

const FAR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

/// Atomic read-modify-writes, apart from those of locks; locks; and fences.
type Cost = [usize; 3];

fn less(cost: Cost, part: Cost) -> Cost {
    array::from_fn(|kind| cost[kind] - part[kind])
}

thread_local! {
    static COST: Cell<Cost> = const { Cell::new([0; 3]) };
    /// The costs of a yield, without and with other tasks in the queue.
    static YIELDS: Cell<[Cost; 2]> = const { Cell::new([[0; 3]; 2]) };
}

fn begins(operation: Operation) {
    let mut cost = COST.get();
    match operation.step {
        Act::Update { .. } | Act::Exchange { .. } => cost[0] += 1,
        Act::Lock => cost[1] += 1,
        Act::Fence if operation.order == std::sync::atomic::Ordering::SeqCst => cost[2] += 1,
        _ => {}
    }
    COST.set(cost);
}

/// Returns what a part of a task costs, from where it begins until the task runs again. It runs
/// twice, and the second time counts.
macro_rules! cost_of {
    ($path:block) => {{
        let mut cost = Cost::default();
        for _ in 0..2 {
            COST.take();
            $path
            cost = COST.take();
        }
        cost
    }};
}

/// A task that waits, and its waker. Each time that it is woken, the event happens.
async fn waiting(event: &Event) -> (joint::JoinHandle<()>, Waker) {
    let (waker, happens) = (Arc::new(Mutex::new(None)), event.clone());
    let own = waker.clone();
    let handle = spawn(poll_fn(move |cx| {
        own.lock()
            .unwrap()
            .get_or_insert_with(|| cx.waker().clone());
        happens.happen();
        Poll::Pending
    }));
    event.clone().await;
    let waker = waker.lock().unwrap().take();
    (handle, waker.expect("it has run"))
}

fn let_pass(time: Duration) {
    host::update(|host| host.now = Some(host::now() + time));
}

async fn measure(executor: &Executor, mut row: impl FnMut(&'static str, Cost)) {
    let event = Event::default();
    let (handle, waker) = waiting(&event).await;
    YIELDS.take();
    let alone = cost_of!({ yield_alone().await });
    let other = spawn(async {
        loop {
            yield_now().await;
        }
    });
    // The other task begins, and then each of the two yields once.
    yield_now().await;
    let by_two = cost_of!({ yield_now().await });
    drop(other);
    yield_now().await;
    let with_other = by_two.map(|count| {
        assert_eq!(count % 2, 0);
        count / 2
    });
    YIELDS.set([alone, with_other]);
    // Waiting for the event is subtracted below.
    let spawned = cost_of!({
        spawn_detached(async {});
        let_others_run().await;
    });
    let waits = cost_of!({
        let own = event.clone();
        spawn_detached(async move { own.happen() });
        event.clone().await;
    });
    let waits = less(waits, spawned);

    row("yield, with no other task queued", alone);
    row("yield, with others queued", with_other);
    row("spawn a detached task, and run it", spawned);
    row(
        "spawn a task, run it, and then await it",
        cost_of!({
            let handle = spawn(async { 7 });
            let_others_run().await;
            assert_eq!(handle.await, 7);
        }),
    );
    row(
        "spawn a task and await it, run it, and run the task that waited",
        cost_of!({ assert_eq!(spawn(async { 7 }).await, 7) }),
    );
    row(
        "start a task that is ready, and then await it",
        cost_of!({ assert_eq!(spawn_now(async { 7 }).await, 7) }),
    );
    row(
        "start a task that waits",
        cost_of!({
            let handle = spawn_now(pending::<()>());
            let cost = COST.take();
            drop(handle);
            let_others_run().await;
            COST.set(cost);
        }),
    );
    row(
        "start a task from another thread that is ready",
        cost_of!({ apart(|| drop(executor.spawn_now(async {}))) }),
    );
    row(
        "start a task from another thread that waits",
        cost_of!({
            let mut handle = None;
            apart(|| handle = Some(executor.spawn_now(pending::<()>())));
            let cost = COST.take();
            drop(handle);
            let_others_run().await;
            COST.set(cost);
        }),
    );
    row(
        "wake a task that waits, and run it until it waits again",
        less(
            cost_of!({
                waker.wake_by_ref();
                event.clone().await;
            }),
            waits,
        ),
    );
    row(
        "abort a task that waits, and run it to its end",
        cost_of!({
            let handle = spawn(pending::<()>());
            let_others_run().await;
            COST.take();
            handle.abort();
            let_others_run().await;
        }),
    );
    row(
        "drop the handle of a task that waits, and run it to its end",
        cost_of!({
            let handle = spawn(pending::<()>());
            let_others_run().await;
            COST.take();
            drop(handle);
            let_others_run().await;
        }),
    );
    row(
        "spawn a detached task from another thread, and run it",
        less(
            cost_of!({
                let own = event.clone();
                apart(|| executor.spawn_detached(async move { own.happen() }));
                event.clone().await;
            }),
            waits,
        ),
    );
    row(
        "wake a task from another thread, and run it until it waits again",
        less(
            cost_of!({
                apart(|| waker.wake_by_ref());
                // (`joint-executor/src/worker/schedule.rs`)
                count_of_an_arc();
                event.clone().await;
            }),
            waits,
        ),
    );
    drop(handle);
    measure_timers(row).await;
}

/// Counts the two read-modify-writes of a clone of an `Arc` and its drop, which the model does not
/// see.
fn count_of_an_arc() {
    let [rmws, locks, fences] = COST.get();
    COST.set([rmws + 2, locks, fences]);
}

/// Yields with no other task in the queue, which is not counted.
async fn yield_alone() {
    yield_now().await;
    COST.set(less(COST.get(), YIELDS.get()[0]));
}

/// Yields with other tasks in the queue, which is not counted.
async fn let_others_run() {
    yield_now().await;
    COST.set(less(COST.get(), YIELDS.get()[1]));
}

async fn poll_once(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

async fn asleep() -> joint::JoinHandle<()> {
    COST.take();
    let sleeper = spawn(sleep(SOON));
    let_others_run().await;
    sleeper
}

async fn measure_timers(mut row: impl FnMut(&'static str, Cost)) {
    row(
        "arm a timer that becomes the earliest, and drop it",
        cost_of!({
            // (`joint-executor/src/time/alarm.rs`)
            count_of_an_arc();
            poll_once(sleep(FAR)).await;
        }),
    );
    let earlier = spawn(sleep(FAR));
    let_others_run().await;
    row(
        "arm a timer, and drop it",
        cost_of!({
            count_of_an_arc();
            poll_once(sleep(2 * FAR)).await;
        }),
    );
    drop(earlier);
    let later = spawn(sleep(FAR));
    let_others_run().await;
    row(
        "spawn a task that sleeps, run it, wake it in time, and run it to its end",
        cost_of!({
            let sleeper = asleep().await;
            count_of_an_arc();
            let_pass(SOON);
            // It is woken during one of the yields, and runs during the next.
            yield_now().await;
            while !sleeper.is_finished() {
                yield_alone().await;
            }
            COST.set(less(COST.get(), YIELDS.get()[1]));
        }),
    );
    drop(later);
}

/// The table in the documentation: what each path costs in an executor of one worker, or of more.
fn documented(workers: usize) -> BTreeMap<&'static str, Cost> {
    let docs = include_str!("../../docs/executor.md");
    let (_, section) = docs
        .split_once("\n## Cost in atomic operations\n")
        .expect("it is there");
    let (section, _) = section
        .split_once("\n## ")
        .expect("another section follows");
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .skip(1);
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let number = |cell: usize| cells[cell].parse().expect("a number");
        let [rmws, fences] = if workers > 1 { [1, 3] } else { [4, 5] };
        (cells[0], [rmws, 2, fences].map(number))
    })
    .collect()
}

#[test]
fn each_path_costs_what_the_documentation_says() {
    // It would find a change because there is one more operation, or one less.
    joint_mutants::leave_out();
    for workers in [2, 1] {
        assert_eq!(counted(workers), documented(workers), "{workers}");
    }
}

/// Checks the cost of each path with the fences of an executor that has this number of workers.
fn counted(workers: usize) -> BTreeMap<&'static str, Cost> {
    let mut builder = loom::model::Builder::new();
    // One order, but a long one.
    builder.max_branches = 1_000_000;
    let counted = Arc::new(Mutex::new(BTreeMap::new()));
    let rows = counted.clone();
    lab::check(&builder, move || {
        let _turns = FencesTakeTurns::new();
        set_observer(Some(begins));
        let (executor, mut all) = Executor::builder().workers(workers).build_hosted().unwrap();
        let (worker, executor) = (all.remove(0), Arc::new(executor));
        let (own, rows) = (executor.clone(), rows.clone());
        executor.spawn_detached(async move {
            measure(&own, |path, cost| {
                _ = rows.lock().unwrap().insert(path, cost)
            })
            .await;
            own.shutdown_background();
            // The other worker never runs.
            drop(all);
        });
        worker.run();
        set_observer(None);
    });
    counted.lock().unwrap().clone()
}

#[test]
fn two_starts_from_outside_and_their_ends_are_all_counted() {
    model_window(2, || {
        let (executor, mut workers) = Executor::builder().workers(1).build_hosted().unwrap();
        let (worker, executor) = (workers.remove(0), Arc::new(executor));
        let own = executor.clone();
        let other = lab::thread::spawn(move || drop(own.spawn_now(async {})));
        loom::explore();
        drop(executor.spawn_now(async {}));
        other.join().unwrap();
        loom::stop_exploring();
        let metrics = executor.metrics();
        assert_eq!((metrics.spawned, metrics.finished), (2, 2));
        executor.shutdown_background();
        worker.run();
    });
}

/// Another thread wakes a task that waits, and has to find where the task belongs. The task's
/// worker has written that before the task was idle.
#[test]
fn a_thread_that_wakes_a_task_finds_where_it_belongs() {
    model_window(2, || {
        let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
        let mut worker = workers.into_iter().next().expect("one").bind();
        let (to_wake, waker) = oneshot::channel();
        let other = lab::thread::spawn(move || block_on(waker).map(Waker::wake));
        let task = executor.spawn(second_poll(|waker| to_wake.send(waker).unwrap()));
        loom::explore();
        _ = worker.step(1, Waker::noop());
        assert!(other.join().unwrap().is_ok());
        loom::stop_exploring();
        _ = worker.step(1, Waker::noop());
        assert!(task.is_finished());
        drop(executor);
        _ = worker.step(1, Waker::noop());
    });
}

/// An executor of one worker, which this thread steps, and a task of it that another thread starts.
/// Inside the first poll the exploration begins, and the task's waker is sent.
fn started_outside(
    then: impl FnOnce(Executor, BoundWorker, oneshot::Receiver<Waker>) -> BoundWorker,
) -> (BoundWorker, joint::JoinHandle<()>) {
    let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
    let worker = workers.into_iter().next().expect("one").bind();
    let (to_wake, waker) = oneshot::channel();
    let handle = executor.handle();
    let waits = second_poll(|waker| {
        loom::explore();
        _ = to_wake.send(waker);
    });
    let other = lab::thread::spawn(move || handle.spawn_now(waits));
    let worker = then(executor, worker, waker);
    let task = other.join().unwrap();
    loom::stop_exploring();
    (worker, task)
}

/// The thread that wakes the task may come before the one that has started it has entered it.
#[test]
fn a_wake_up_against_the_start_of_a_task_outside() {
    model_window(2, || {
        let mut left = None;
        let (mut worker, task) = started_outside(|executor, worker, waker| {
            block_on(waker).unwrap().wake();
            left = Some(executor);
            worker
        });
        _ = worker.step(1, Waker::noop());
        assert!(task.is_finished());
        drop(left);
        _ = worker.step(1, Waker::noop());
    });
}

/// The worker cancels the task, or the thread that has started it does.
#[test]
fn the_end_of_an_executor_against_the_start_of_a_task_outside() {
    model_window(2, || {
        let (_worker, task) = started_outside(|executor, mut worker, waker| {
            let waker = block_on(waker).unwrap();
            drop(executor);
            while worker.step(1, Waker::noop()) != Step::Ended {}
            drop(waker);
            worker
        });
        assert!(task.is_finished(), "nobody cancels it");
    });
}
