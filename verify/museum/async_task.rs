//! async-task up to 1.1.0, repaired in 1.1.1, as its changelog says. The schedule function of a
//! task runs. Meanwhile the task that it passed on is run and dropped, and with it the function.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

#[test]
fn a_task_ends_while_it_is_scheduled() {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let (theirs, count) = (queue.clone(), AtomicUsize::new(0));
    let schedule = move |task| {
        theirs.lock().unwrap().push(task);
        count.fetch_add(1, Relaxed);
    };
    let (task, handle) = async_task::spawn(async {}, schedule, ());
    drop(handle);
    let schedules = thread::spawn(move || task.schedule());
    let task = queue.lock().unwrap().pop();
    task.map(|task: async_task::Task<()>| task.run());
    schedules.join().unwrap();
}
