//! [`Owner`]: what the executors of a world know of it. They find the world by the thread that they
//! are on.

use std::{
    io,
    net::SocketAddr,
    panic::Location,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::SystemTime,
};

use super::{
    World,
    entered::{with, with_own},
    threads::let_others_go_on,
};
use joint::task::{Id, Runnable, TaskEnd};
use joint_executor::{
    Builder, Executor, TaskInfo, current_worker,
    hosted::{ExecutorId, Host, NamedWait, Shutdown, Socket, SocketKind, WaitChange},
};
use joint_switch::{AtomicU64, AtomicUsize, order};

pub(super) struct Owner {
    /// Tells the world from all others of the process. It is not 0.
    pub(super) number: u64,
    /// Whether a thread that is none of the world's has pushed something to a queue of any of its
    /// executors, since the world looked last: 0 or 1.
    has_pushed: AtomicUsize,
    /// Whether such a thread has closed one of its executors: 0 or 1.
    has_closed: AtomicUsize,
    /// The first worker of an executor outside that has woken something of the world.
    waker: Mutex<Option<String>>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Owner {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            // ORDERING: new_number. Relaxed: the numbers differ in any order, and nothing else
            // depends on them.
            number: NEXT.fetch_add(1, order!(new_number: Relaxed)),
            has_pushed: AtomicUsize::new(0),
            has_closed: AtomicUsize::new(0),
            waker: Mutex::default(),
        })
    }

    /// Something has been pushed to the executor with this number.
    pub(super) fn pushed(&self, pool: Option<u16>) {
        with_own(self.number, |world| match (world, pool) {
            (Some(world), Some(pool)) => world.pools.pushed(pool),
            _ => {
                self.woken();
                // ORDERING: pushed. Relaxed: a push may be missed, and is then found when nothing
                // is ready.
                self.has_pushed.store(1, order!(pushed: Relaxed));
            }
        });
    }

    /// Something has been woken. If a worker of an executor outside has done it, the run is not
    /// repeatable, and that worker is kept for the report. Other threads may: a poll can wait for
    /// them.
    pub(super) fn woken(&self) {
        if with(|world| world.is_some()) || current_worker().is_none() {
            return;
        }
        let describe = |task: &TaskInfo<'_>| match task.name() {
            Some(name) => format!("the task \"{name}\", spawned at {},", task.spawned()),
            None => format!("the task that was spawned at {}", task.spawned()),
        };
        let task = TaskInfo::with_current(describe);
        let task = task.unwrap_or_else(|| "a timer, a descriptor or the end of a task".into());
        let thread = thread::current();
        let thread = thread.name().unwrap_or("without a name");
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        waker.get_or_insert_with(|| format!("{task} on the thread {thread}"));
    }

    /// Returns which worker of an executor outside has woken something of the world first.
    pub(super) fn take_waker(&self) -> Option<String> {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        waker.take()
    }

    /// Returns whether a thread that is none of the world's has closed an executor.
    pub(super) fn has_closed(&self) -> bool {
        // ORDERING: closed_look. Relaxed: the flag may be seen late, and is then seen at the next
        // look.
        self.has_closed.load(order!(closed_look: Relaxed)) != 0
    }

    /// Returns whether another thread has pushed something since the last call.
    pub(super) fn take_pushed(&self) -> bool {
        // ORDERING: pushed_look, pushed_taken. Relaxed: as for `pushed`.
        let has_pushed = self.has_pushed.load(order!(pushed_look: Relaxed)) != 0;
        if has_pushed {
            self.has_pushed.store(0, order!(pushed_taken: Relaxed));
        }
        has_pushed
    }
}

/// Calls `f` with the world of this thread, which has entered it.
fn here<R>(f: impl FnOnce(&World) -> R) -> R {
    with(|world| f(world.expect("a thread leaves the owner together with the world")))
}

impl Host for Owner {
    fn executor(&self) -> Arc<Executor> {
        here(World::ambient)
    }

    fn build(&self, builder: Builder) -> io::Result<Executor> {
        here(|world| world.build(builder))
    }

    fn default_workers(&self) -> usize {
        here(|world| world.settings.workers)
    }

    fn call_blocking(&self, call: Runnable) {
        here(|world| world.take_call(call));
    }

    fn call_goes_on(&self) {
        let_others_go_on();
    }

    fn call_ended(&self, call: Id, how: TaskEnd) {
        here(|world| world.has_ended(call, how));
    }

    fn descriptor(&self) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a descriptor of the system cannot be waited for in a simulation, because nothing of it \
             is simulated; use `TcpStream`, `TcpListener` and `UdpSocket`, which are",
        ))
    }

    fn shut_down(&self, executor: ExecutorId) -> Shutdown {
        with_own(self.number, |world| match world {
            Some(world) => world.shut_down(executor),
            // The world ends it when nothing is ready, or has ended it.
            None => {
                // ORDERING: closed. Relaxed: as for `closed_look`.
                self.has_closed.store(1, order!(closed: Relaxed));
                Shutdown::Later
            }
        })
    }

    fn used_elsewhere(&self, _: ExecutorId) {
        panic!(
            "this executor belongs to a simulation, and this thread does not, or to another one; \
             in a simulation use `joint_executor::spawn_blocking` instead of `std::thread::spawn`, and let \
             each simulation build its own executors"
        );
    }

    fn uses_foreign(&self, _: ExecutorId) {
        panic!(
            "this executor was made outside of the simulation that uses it, and its threads would not \
             take turns with the simulation; use `joint_executor::spawn`, or build the executor inside"
        );
    }

    fn wait_changed(&self, wait: NamedWait, how: WaitChange) {
        here(|world| world.wait_changed(wait, how));
    }

    fn open(&self, kind: SocketKind, address: SocketAddr) -> Option<io::Result<Box<dyn Socket>>> {
        here(|world| Some(world.network(|network| network.open(world, kind, address))))
    }

    fn look_up(&self, name: &str, port: u16) -> Option<io::Result<Vec<SocketAddr>>> {
        let ip = here(|world| world.network(|network| network.host_ip(name)));
        let none = || {
            let message = format!("there is no host named `{name}`");
            io::Error::new(io::ErrorKind::NotFound, message)
        };
        Some(
            ip.ok_or_else(none)
                .map(|ip| Vec::from([SocketAddr::new(ip, port)])),
        )
    }

    fn random(&self, place: &'static Location<'static>) -> Option<u64> {
        let_others_go_on();
        here(|world| Some(world.draw(place)))
    }

    fn wall(&self) -> Option<SystemTime> {
        here(|world| Some(world.wall()))
    }

    fn fires(&self, site: &str) -> bool {
        let_others_go_on();
        here(|world| world.fires(site))
    }
}
