//! Models of the executor's sleep protocol (`joint-executor/src/sleep.rs`) on the real queues of a
//! worker (`joint-executor/src/deques`): a worker looks into them and goes to sleep, while an owner
//! pushes and pops.
//!
//! The owner does not run on after the last task that it has popped, as if its poll blocked it. If
//! another task stays in its queues while the other workers sleep, that is therefore a deadlock,
//! which the model reports.

use joint_executor::model::Sleep;

use crate::prelude::*;

type Owner = fn(&World, &Deques<Value>, &Drops);

type Pop = fn(&Deques<Value>) -> Option<Value>;

/// Worker 0 is the owner, and active. All other workers begin as lookouts, or sleep.
struct World {
    sleep: Sleep,
    stealer: Stealer<Value>,
}

impl World {
    /// As `Worker::push_spawned`.
    fn push_spawned(&self, deques: &Deques<Value>, task: Value) {
        deques.push_spawned(task);
        self.sleep.notify();
    }

    /// As `Worker::push`.
    fn push_woken(&self, deques: &Deques<Value>, task: Value) {
        deques.push_woken(task);
        self.sleep.notify();
    }

    /// As `Worker::requeue`, and the next task.
    fn yield_and_take(&self, deques: &Deques<Value>, task: Value, pop: Pop) {
        deques.push_woken(task);
        if let Some(next) = pop(deques) {
            next.take();
        }
        self.sleep.notify_after_take(|| !self.has_work());
    }

    fn has_work(&self) -> bool {
        !self.stealer.is_empty()
    }

    /// As `Shared::last_look`.
    fn last_look(&self) -> bool {
        let owners = self.sleep.awake().filter(|worker| *worker == 0);
        owners.for_each(|_| self.stealer.meet());
        self.has_work()
    }

    /// As a worker that looks for work, until there is some.
    fn look_out(&self, worker: usize) {
        self.sleep.begin(worker);
        self.sleep.search();
        loop {
            self.sleep.sleep(worker, || false, || self.last_look());
            if self.has_work() {
                break;
            }
        }
        self.sleep.found(|| false);
    }
}

fn world(workers: usize) -> (Arc<World>, Deques<Value>) {
    let deques = Deques::new();
    let world = World {
        sleep: Sleep::new(workers),
        stealer: deques.stealer(),
    };
    (Arc::new(world), deques)
}

fn take(task: Option<Value>) {
    task.expect("the owner has it").take();
}

/// The owner pushes a task at the index at which it has just popped one.
fn pop_and_push(world: &World, deques: &Deques<Value>, drops: &Drops) {
    world.push_spawned(deques, drops.value());
    take(deques.pop_newest_spawned());
    world.push_spawned(deques, drops.value());
}

fn push_and_pop_newest(world: &World, deques: &Deques<Value>, drops: &Drops) {
    world.push_spawned(deques, drops.value());
    world.push_spawned(deques, drops.value());
    take(deques.pop_newest_spawned());
}

fn push_and_pop_oldest(world: &World, deques: &Deques<Value>, drops: &Drops) {
    world.push_woken(deques, drops.value());
    world.push_woken(deques, drops.value());
    take(deques.pop_woken());
}

/// A task yields. Another one runs next, and then the owner looks whether to announce the first.
fn yield_behind_a_woken_task(world: &World, deques: &Deques<Value>, drops: &Drops) {
    deques.push_woken(drops.value());
    world.yield_and_take(deques, drops.value(), Deques::pop_woken);
}

fn yield_behind_a_spawned_task(world: &World, deques: &Deques<Value>, drops: &Drops) {
    deques.push_spawned(drops.value());
    world.yield_and_take(deques, drops.value(), Deques::pop_newest_spawned);
}

fn yield_behind_a_high_task(world: &World, deques: &Deques<Value>, drops: &Drops) {
    deques.push_high(drops.value());
    world.yield_and_take(deques, drops.value(), Deques::pop_high);
}

/// The same on a worker that has just woken up.
fn yield_after_a_watch(world: &World, deques: &Deques<Value>, drops: &Drops) {
    world.sleep.search();
    world.sleep.watch(0, Duration::ZERO, || false);
    world.sleep.found(|| world.last_look());
    yield_behind_a_woken_task(world, deques, drops);
}

/// The only lookout goes to sleep.
fn against_sleep(owner: Owner) {
    model_bounded(2, move || {
        let ((world, deques), drops) = (world(2), Drops::default());
        let lookout = start(&world, move |world| world.look_out(1));
        owner(&world, &deques, &drops);
        lookout.join().unwrap();
        assert!(world.has_work());
    });
}

/// The only lookout finds a task elsewhere, which blocks it. A third worker, which sleeps or is
/// about to, has to take over.
fn against_found(owner: Owner) {
    model_bounded(1, move || {
        let ((world, deques), drops) = (world(3), Drops::default());
        let finder = start(&world, move |world| {
            world.sleep.search();
            world.sleep.found(|| world.last_look());
        });
        let lookout = start(&world, move |world| world.look_out(2));
        owner(&world, &deques, &drops);
        finder.join().unwrap();
        lookout.join().unwrap();
    });
}

models! {
    a_task_that_is_pushed_after_a_pop_keeps_the_last_lookout_awake: against_sleep(pop_and_push);
    a_task_below_one_that_is_popped_keeps_the_last_lookout_awake: against_sleep(push_and_pop_newest);
    a_task_behind_one_that_is_popped_keeps_the_last_lookout_awake: against_sleep(push_and_pop_oldest);
    a_yield_behind_a_woken_task_keeps_the_last_lookout_awake: against_sleep(yield_behind_a_woken_task);
    a_yield_behind_a_spawned_task_keeps_the_last_lookout_awake: against_sleep(yield_behind_a_spawned_task);
    a_yield_behind_a_high_task_keeps_the_last_lookout_awake: against_sleep(yield_behind_a_high_task);
    a_yield_of_a_worker_just_woken_keeps_the_last_lookout_awake: against_sleep(yield_after_a_watch);
    the_last_lookout_that_finds_something_sees_a_task_that_is_pushed_after_a_pop: against_found(pop_and_push);
    the_last_lookout_that_finds_something_sees_a_yield: against_found(yield_behind_a_woken_task);
}
