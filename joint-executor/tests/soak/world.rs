//! The reference: what each thing of a program must come to, in plain data under one lock, and who
//! the code at a place must be.
//!
//! * Everything that is made is dropped once, and by the end of the program.
//! * What must run has run once, and what need not has run at most once.
//! * Code inside a door is who the door says, and after the door who it was before it.

use std::{fmt::Debug, io::Write, process::abort};

use crate::prelude::*;

pub(crate) static VALUE: TaskLocal<u64> = TaskLocal::new();

thread_local! {
    /// Which owner of local tasks this thread drives: a `LocalExecutor`, or a worker.
    static DRIVEN: Cell<u64> = const { Cell::new(0) };
}

/// Calls `f` while this thread drives the owner of local tasks that is expected at this place.
pub(crate) fn driving<R>(place: &Here, f: impl FnOnce() -> R) -> R {
    let Is::This(owner) = place.who.owner else {
        panic!("a place without an owner");
    };
    let before = DRIVEN.replace(owner);
    let result = f();
    DRIVEN.set(before);
    result
}

/// Says so for the whole thread.
pub(crate) fn drives(owner: u64) {
    DRIVEN.set(owner);
}

/// What is expected of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is<T> {
    This(T),
    None,
    Any,
}

impl<T: PartialEq + Copy> Is<T> {
    fn allows(self, found: Option<T>) -> bool {
        match self {
            Self::This(expected) => found == Some(expected),
            Self::None => found.is_none(),
            Self::Any => true,
        }
    }
}

/// Who the code at a place is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    /// The task-local value that it sees.
    pub(crate) value: Is<u64>,
    /// The executor to which it spawns, or none but the global one.
    pub(crate) executor: Is<ExecutorId>,
    /// The one that runs the local tasks that it spawns.
    pub(crate) owner: Is<u64>,
}

impl Who {
    pub(crate) const NOBODY: Self = Self {
        value: Is::None,
        executor: Is::None,
        owner: Is::None,
    };
    pub(crate) const ANYBODY: Self = Self {
        value: Is::Any,
        executor: Is::Any,
        owner: Is::Any,
    };

    /// A task of an executor, or of a worker, that has this number as an owner.
    pub(crate) fn task(executor: ExecutorId, owner: u64) -> Self {
        Self {
            value: Is::None,
            executor: Is::This(executor),
            owner: Is::This(owner),
        }
    }
}

/// A place in the program.
#[derive(Clone)]
pub(crate) struct Here {
    pub(crate) world: Arc<World>,
    /// The doors around it.
    pub(crate) path: String,
    pub(crate) who: Who,
    /// Whether the owner of local tasks runs them while this place waits.
    pub(crate) is_driven: bool,
}

impl Here {
    /// The place inside a door, whose code is a blocking call unless the door says otherwise.
    pub(crate) fn inside(&self, name: &str) -> Self {
        Self {
            path: format!("{}/{name}", self.path),
            is_driven: false,
            ..self.clone()
        }
    }

    pub(crate) fn with(&self, who: Who) -> Self {
        Self {
            who,
            is_driven: true,
            ..self.clone()
        }
    }

    pub(crate) fn demand(&self, holds: bool, what: impl Debug) {
        if !holds {
            fail(&format!("{what:?} at {}", self.path));
        }
    }

    /// Demands that the running code is who it should be.
    pub(crate) fn check(&self) {
        let (value, executor) = (self.who.value, self.who.executor);
        let seen = VALUE.try_with(|value| *value);
        self.demand(value.allows(seen), ("identity: task-local", value, seen));
        let seen = Handle::try_current().map(|handle| handle.id());
        self.demand(
            executor.allows(seen),
            ("identity: executor", executor, seen),
        );
    }

    /// Demands that the owner of local tasks that should drive this thread does.
    pub(crate) fn check_owner(&self) {
        let driven = DRIVEN.get();
        let is_right = self.who.owner.allows(Some(driven));
        self.demand(is_right, ("identity: owner", self.who.owner, driven));
    }

    /// A new thing of this place.
    pub(crate) fn token(&self) -> Token {
        let mut things = self.world.things.lock().unwrap();
        things.push(Thing {
            path: self.path.clone(),
            ..Thing::default()
        });
        let (world, index) = (self.world.clone(), things.len() - 1);
        Token { world, index }
    }
}

#[derive(Debug, Default)]
struct Thing {
    path: String,
    ran: u32,
    dropped: u32,
    must_run: bool,
}

/// A thing that is counted.
pub(crate) struct Token {
    world: Arc<World>,
    index: usize,
}

impl Token {
    /// Counts a run.
    pub(crate) fn run(&self) {
        self.change(|thing| thing.ran += 1);
    }

    /// Demands that it has run, by the end.
    pub(crate) fn must_run(&self) {
        self.change(|thing| thing.must_run = true);
    }

    fn change(&self, change: impl FnOnce(&mut Thing)) {
        let mut things = self.world.things.lock().unwrap();
        let thing = &mut things[self.index];
        change(thing);
        if thing.ran > 1 || thing.dropped > 1 {
            fail(&format!("count: {thing:?}"));
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.change(|thing| thing.dropped += 1);
    }
}

/// What any place may take and use.
pub(crate) enum Left {
    Handle(JoinHandle<crate::doors::Output>),
    Sender(oneshot::Sender<()>),
    Waker(Waker),
    Value { _dropped: Box<dyn Send> },
}

impl Left {
    pub(crate) fn value(value: impl Send + 'static) -> Self {
        let _dropped = Box::new(value);
        Self::Value { _dropped }
    }
}

pub(crate) struct World {
    things: Mutex<Vec<Thing>>,
    /// The doors that have not come back.
    open: Mutex<Vec<String>>,
    pub(crate) left: Mutex<Vec<Left>>,
    numbers: AtomicU64,
    /// Of an executor that all places share.
    pub(crate) shared: Handle,
    pub(crate) shared_owner: u64,
    /// Held by a place that blocks until a task of the shared executor answers.
    pub(crate) waits: Mutex<()>,
}

static WORLD: Mutex<Option<Arc<World>>> = Mutex::new(None);

impl World {
    /// A number that nobody else has.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }

    /// Calls `f`, and notes that its door is open.
    pub(crate) fn open<R>(&self, path: &str, f: impl FnOnce() -> R) -> R {
        self.open.lock().unwrap().push(path.to_owned());
        let result = f();
        let mut open = self.open.lock().unwrap();
        let at = open.iter().rposition(|open| open == path).unwrap();
        open.remove(at);
        result
    }

    /// Runs a program in a world of its own, and demands that everything of it has come to its end.
    pub(crate) fn run(program: impl FnOnce(&Here)) {
        let shared_owner = 1;
        let shared = Executor::builder()
            .workers(2)
            .on_thread_start(move |_| drives(shared_owner))
            .build()
            .unwrap();
        let world = Arc::new(Self {
            things: Mutex::default(),
            open: Mutex::default(),
            left: Mutex::default(),
            numbers: AtomicU64::new(2),
            shared: shared.handle(),
            shared_owner,
            waits: Mutex::default(),
        });
        *WORLD.lock().unwrap() = Some(world.clone());
        let here = Here {
            world: world.clone(),
            path: String::new(),
            who: Who::NOBODY,
            is_driven: false,
        };
        program(&here);
        // Wakers and handles outlive the executor.
        let left = std::mem::take(&mut *world.left.lock().unwrap());
        drop(shared);
        for left in left {
            if let Left::Waker(waker) = left {
                waker.wake();
            }
        }
        world.come_to_rest();
    }

    fn come_to_rest(&self) {
        let is_left = |things: &Vec<Thing>| things.iter().any(|thing| thing.dropped == 0);
        while is_left(&self.things.lock().unwrap()) {
            // A task of the global executor may still leave something.
            drop(std::mem::take(&mut *self.left.lock().unwrap()));
            thread::yield_now();
        }
        for thing in &*self.things.lock().unwrap() {
            if thing.must_run && thing.ran == 0 {
                fail(&format!("count: {thing:?}"));
            }
        }
    }
}

/// Says what is open, for a program that hangs.
pub(crate) fn hang() -> ! {
    let world = WORLD.lock().unwrap().clone().expect("a program runs");
    let (open, things) = (world.open.lock().unwrap(), world.things.lock().unwrap());
    let left = things.iter().filter(|thing| thing.dropped == 0);
    let left: Vec<_> = left.map(|thing| &thing.path).collect();
    fail(&format!(
        "hang: open are {open:?}, not dropped are {left:?}"
    ))
}

/// Ends the process, whatever the code around may catch.
pub(crate) fn fail(what: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "fuzz: {what}");
    abort()
}
