//! The solution of exercise 9, which is the guide's `work`, and repairs that are wrong.

use super::*;
use crate::exercise::refused;

fn work(queue: &Queue) {
    loop {
        let mut runnables = queue.runnables.lock().unwrap();
        let runnable = loop {
            let Some(queued) = &mut *runnables else {
                return;
            };
            match queued.pop_front() {
                Some(runnable) => break runnable,
                None => runnables = queue.pushed.wait(runnables).unwrap(),
            }
        };
        drop(runnables);
        runnable.run();
    }
}

#[test]
fn exercise_9_is_solved() {
    judge(work).unwrap();
}

fn spin(queue: &Queue) {
    loop {
        let mut runnables = queue.runnables.lock().unwrap();
        let Some(queued) = &mut *runnables else {
            return;
        };
        let next = queued.pop_front();
        drop(runnables);
        match next {
            Some(runnable) => drop(runnable.run()),
            None => thread::yield_now(),
        }
    }
}

fn run_under_the_lock(queue: &Queue) {
    let mut runnables = queue.runnables.lock().unwrap();
    loop {
        let Some(queued) = &mut *runnables else {
            return;
        };
        match queued.pop_front() {
            Some(runnable) => drop(runnable.run()),
            None => runnables = queue.pushed.wait(runnables).unwrap(),
        }
    }
}

fn wait_once(queue: &Queue) {
    loop {
        let mut runnables = queue.runnables.lock().unwrap();
        if runnables.as_ref().is_some_and(VecDeque::is_empty) {
            runnables = queue.pushed.wait(runnables).unwrap();
        }
        let Some(queued) = &mut *runnables else {
            return;
        };
        let runnable = queued.pop_front().expect("a runnable was pushed");
        drop(runnables);
        runnable.run();
    }
}

#[test]
fn wrong_repairs_of_exercise_9_are_refused() {
    refused(judge(spin), "must wait");
    refused(judge(run_under_the_lock), "must not hold it");
    refused(judge(wait_once), "must look again");
}
