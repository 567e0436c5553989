//! What a host stands in for, and what it is told.

use joint::task::Id;
use joint_executor::{
    TaskEnd,
    hosted::{Shutdown, Unwind},
};

use super::*;

/// A host with one executor of one worker.
#[derive(Default)]
struct Here {
    executor: Mutex<Option<Arc<Executor>>>,
    calls: Mutex<Vec<Runnable>>,
    ended: Mutex<Vec<(Id, TaskEnd)>>,
    built: AtomicUsize,
    foreign: AtomicUsize,
    elsewhere: AtomicUsize,
    shut_down: Mutex<Vec<ExecutorId>>,
}

impl Here {
    fn new() -> (Arc<Self>, BoundWorker) {
        let this = Arc::new(Self::default());
        let (executor, worker) = bound_with(|builder| builder.host(this.clone()));
        *this.executor.lock().unwrap() = Some(Arc::new(executor));
        (this, worker)
    }

    fn run_calls(&self) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        calls.into_iter().for_each(|call| _ = call.run());
    }
}

impl Host for Here {
    fn executor(&self) -> Arc<Executor> {
        self.executor.lock().unwrap().clone().unwrap()
    }

    fn build(&self, builder: Builder) -> io::Result<Executor> {
        self.built.fetch_add(1, Relaxed);
        let (executor, workers) = builder.build_hosted()?;
        drop(workers);
        Ok(executor)
    }

    fn default_workers(&self) -> usize {
        7
    }

    fn call_blocking(&self, call: Runnable) {
        self.calls.lock().unwrap().push(call);
    }

    fn call_ended(&self, call: Id, how: TaskEnd) {
        self.ended.lock().unwrap().push((call, how));
    }

    fn descriptor(&self) -> io::Result<()> {
        Err(io::Error::other("none here"))
    }

    fn shut_down(&self, executor: ExecutorId) -> Shutdown {
        self.shut_down.lock().unwrap().push(executor);
        Shutdown::Later
    }

    fn used_elsewhere(&self, _: ExecutorId) {
        self.elsewhere.fetch_add(1, Relaxed);
    }

    fn uses_foreign(&self, _: ExecutorId) {
        self.foreign.fetch_add(1, Relaxed);
    }
}

#[test]
fn it_stands_in_for_the_global_executor_until_it_is_left() {
    let (host, mut worker) = Here::new();
    let entered = hosted::enter(host.clone());
    let task = spawn(async { current_worker() });
    let named = TaskBuilder::new().name("named").spawn(async {});
    exhaust(&mut worker);
    let built = Executor::builder().build().unwrap();
    assert_eq!((built.workers(), host.built.load(Relaxed)), (7, 1));
    drop((built, entered));
    assert_eq!((block_on(task), block_on(named)), (Some(0), ()));
    assert_eq!(host.executor().metrics().finished, 2);
    // The global executor has a worker of its own.
    block_on(spawn(async {}));
    assert_eq!(host.executor().metrics().spawned, 2);
    // The host and its executor own each other.
    let executor = host.executor.lock().unwrap().take();
    let id = worker.executor();
    assert_eq!(executor.map(|executor| executor.id()), Some(id));
    assert_eq!(host.shut_down.lock().unwrap().last(), Some(&id));
    assert_eq!(exhaust(&mut worker), Step::Ended);
}

#[test]
fn it_runs_the_functions_that_block() {
    let (host, _worker) = Here::new();
    let entered = hosted::enter(host.clone());
    let called = spawn_blocking(|| 5);
    let panics = spawn_blocking(|| -> u8 { resume_unwind(Box::new(1)) });
    let cancelled = spawn_blocking(|| -> u8 { resume_unwind(Box::new(Unwind)) });
    let ids = [called.id(), panics.id(), cancelled.id()];
    assert!(!called.is_finished());
    host.run_calls();
    assert_eq!(block_on(called), 5);
    assert!(block_on(panics.result()).unwrap_err().is_panic());
    assert!(!cancelled.is_finished(), "it is back at the host");
    drop(host.calls.lock().unwrap().pop());
    assert_cancelled(cancelled);
    let ends = [TaskEnd::Finished, TaskEnd::Panicked, TaskEnd::Cancelled];
    let expected: Vec<_> = ids.into_iter().zip(ends).collect();
    assert_eq!(*host.ended.lock().unwrap(), expected);
    drop(entered);
    let on_a_thread = spawn_blocking(|| 6);
    assert_eq!(block_on(on_a_thread), 6);
    drop(host.executor.lock().unwrap().take());
}

#[test]
fn it_learns_of_executors_used_where_they_do_not_belong() {
    let (host, worker) = Here::new();
    let own = host.executor();
    let foreign = crate::common::executor(1);
    let counts = || (host.foreign.load(Relaxed), host.elsewhere.load(Relaxed));
    own.spawn_detached(async {});
    assert_eq!(counts(), (0, 1));
    let entered = hosted::enter(host.clone());
    own.spawn_detached(async {});
    assert_eq!(counts(), (0, 1));
    foreign.spawn_detached(async {});
    foreign.enter(|| {});
    foreign.scope(|_| {});
    foreign.task().spawn_detached(async {});
    assert_eq!(counts(), (4, 1));
    // Inside another host.
    let (other, other_worker) = Here::new();
    let inner = hosted::enter(other.clone());
    own.spawn_detached(async {});
    assert_eq!(counts(), (4, 2));
    drop((inner, entered));
    foreign.spawn_detached(async {});
    // One that has closed may be used anywhere.
    worker.close();
    own.spawn_detached(async {});
    assert_eq!(counts(), (4, 2));
    drop((worker, other_worker, own));
    drop(host.executor.lock().unwrap().take());
    drop(other.executor.lock().unwrap().take());
}

#[test]
fn it_may_refuse_descriptors() {
    let (host, mut worker) = Here::new();
    let executor = host.executor();
    let _entered = hosted::enter(host.clone());
    let task = executor.spawn(joint_executor::io::UdpSocket::bind("127.0.0.1:0"));
    exhaust(&mut worker);
    let error = block_on(task).expect_err("it is refused");
    assert_eq!(error.to_string(), "none here");
    drop(host.executor.lock().unwrap().take());
}
