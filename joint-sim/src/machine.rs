//! [`Machine`]: what a run knows about a host.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    panic::Location,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::disk::Disk;
use joint::task::JoinHandle;
use joint_executor::Executor;

/// Which host something belongs to, and which start of that host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) host: usize,
    pub(super) start: u32,
}

impl Place {
    pub(super) const MAIN: Self = Self { host: 0, start: 0 };
}

/// Makes the main future of a host.
pub(super) type Main = Box<dyn FnMut() -> Pin<Box<dyn Future<Output = ()>>>>;

/// Whether a machine runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    Off,
    /// The machine answers, but no program runs there.
    Idle,
    Running,
}

pub(super) struct Program {
    pub(super) executor: Rc<Executor>,
    /// The main future. Without a handle it would be dropped if nobody could wake it.
    pub(super) _main: Option<JoinHandle<()>>,
}

/// The world's data on a host.
pub(super) struct Machine {
    pub(super) name: Arc<str>,
    /// The number of starts and ends, which tells what belongs to an earlier start.
    pub(super) start: u32,
    pub(super) power: Power,
    pub(super) main: Option<Rc<RefCell<Main>>>,
    pub(super) program: Option<Program>,
    /// The call that gave the host its main future.
    pub(super) given: &'static Location<'static>,
    end: Option<HostEnd>,
    /// Each future that waits for the end has a clone.
    pub(super) watched: Arc<()>,
    waiting: Waiting,
    pub(super) next_port: u16,
    pub(super) disk: Disk,
    /// Whether faults may kill it.
    pub(super) may_crash: bool,
    /// Whether it is to be started again.
    pub(super) is_down: bool,
    /// The time of its last start or end, in nanoseconds of the clock.
    pub(super) changed: u64,
}

impl Machine {
    #[track_caller]
    pub(super) fn new(name: Arc<str>, power: Power) -> Self {
        Self {
            name,
            start: 0,
            power,
            main: None,
            program: None,
            given: Location::caller(),
            end: None,
            watched: Arc::default(),
            waiting: Waiting::default(),
            next_port: FIRST_PORT,
            disk: Disk::default(),
            may_crash: false,
            is_down: false,
            changed: 0,
        }
    }

    pub(super) fn begin(&mut self) -> u32 {
        self.start += 1;
        self.power = Power::Running;
        self.is_down = false;
        self.end = None;
        self.start
    }

    /// Ends, and wakes what waits for that.
    pub(super) fn end(&mut self, power: Power, end: HostEnd, wakers: &mut Vec<Waker>) {
        self.start += 1;
        self.power = power;
        self.end = Some(end);
        self.waiting.wake(wakers);
    }

    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<HostEnd> {
        if let Some(end) = &self.end {
            return Poll::Ready(end.clone());
        }
        self.waiting.add(cx);
        Poll::Pending
    }
}

/// Tasks that wait for something on a machine.
#[derive(Default)]
pub(super) struct Waiting(Vec<Waker>);

impl Waiting {
    pub(super) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|own| own.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    /// Returns what each task has as the address of its waker.
    pub(super) fn addresses(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|waker| waker.data().addr())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn wake(&mut self, wakers: &mut Vec<Waker>) {
        wakers.append(&mut self.0);
    }
}

pub(super) struct Machines {
    pub(super) all: Vec<Machine>,
    numbers: BTreeMap<Arc<str>, usize>,
    /// The wakers to wake now.
    pub(super) wakers: Vec<Waker>,
}

/// The machine of the main future.
impl Default for Machines {
    fn default() -> Self {
        let mut own = Self {
            all: Vec::new(),
            numbers: BTreeMap::new(),
            wakers: Vec::new(),
        };
        own.add(Machine::new(Arc::from("main"), Power::Running));
        own
    }
}

impl Machines {
    pub(super) fn add(&mut self, machine: Machine) -> usize {
        let number = self.all.len();
        self.numbers.insert(machine.name.clone(), number);
        self.all.push(machine);
        number
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }
}

pub(super) const FIRST_PORT: u16 = 49_152;

pub(super) fn host(ip: IpAddr) -> Option<usize> {
    match ip {
        IpAddr::V4(ip) => match ip.octets() {
            [10, 0, high, low] => usize::from(u16::from_be_bytes([high, low])).checked_sub(1),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}

pub(super) fn ip(host: usize) -> Ipv4Addr {
    let number = u16::try_from(host + 1).unwrap_or(u16::MAX);
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

/// How a host's main future has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it may be a panic"]
pub enum HostEnd {
    /// The main future returned.
    Returned,
    /// The host was killed.
    Killed,
    /// The main future panicked with this message.
    Panicked(String),
}
