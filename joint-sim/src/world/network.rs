//! [`Network`]: the hosts, links and sockets of a run.

mod arrival;
mod connection;
mod ending;
mod link;
mod ports;
mod tcp;
mod udp;
mod waits;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{self, ErrorKind},
    mem,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::Arc,
    task::Poll,
};

pub use self::link::{Latency, Link};
use self::{
    connection::{Connection, Listener},
    link::{Links, Way},
    tcp::{TcpListener, TcpStream},
    udp::{Datagrams, UdpSocket},
};
use super::{World, with_own};
use crate::{
    disk_event::{DiskEvent, Op, before, told},
    faults::Fault,
    machine::{HostEnd, Machine, Machines, Main, Place, Power, Program, host, ip},
    reached::Reached,
    record::What,
    traffic::{End, Event, Pair, Traffic},
};
use joint_executor::{
    hosted::{Socket, SocketKind},
    io::Ready,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// The ports that are in use, and the socket of each.
pub(super) type Port = (usize, Protocol, u16);

#[derive(Default)]
pub(crate) struct Network {
    pub(crate) machines: Machines,
    pub(crate) links: Links,
    ports: BTreeMap<Port, u64>,
    datagrams: BTreeMap<u64, Datagrams>,
    listeners: BTreeMap<u64, Listener>,
    connections: BTreeMap<u64, Connection>,
    sockets: u64,
    /// Until when ports stay in use that no socket has.
    busy: BTreeMap<Port, u64>,
    /// The last port that was given up, of those that are not chosen by programs.
    given_up: BTreeMap<(usize, Protocol), u16>,
    /// Two hosts, as events have them.
    pairs: BTreeMap<[usize; 2], Arc<Pair>>,
}

impl Network {
    pub(crate) fn number(&self, name: &str) -> usize {
        let number = self.machines.find(name);
        number.unwrap_or_else(|| panic!("there is no host named `{name}`"))
    }

    pub(crate) fn host_ip(&self, name: &str) -> Option<IpAddr> {
        match name {
            "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            name => self.machines.find(name).map(|number| ip(number).into()),
        }
    }

    /// Returns the host that an address means on a host.
    pub(super) fn at(&self, address: IpAddr, from: usize) -> io::Result<usize> {
        if address.is_loopback() || address.is_unspecified() {
            return Ok(from);
        }
        let found = host(address).filter(|&host| host < self.machines.all.len());
        found.ok_or_else(|| error(ErrorKind::NetworkUnreachable, "no host has this address"))
    }

    fn close_all(&mut self, world: &World, number: usize, power: Power) {
        self.close_streams(world, number, power);
        self.ports.retain(|&(host, ..), _| host != number);
        self.busy.retain(|&(host, ..), _| host != number);
        self.datagrams.retain(|_, socket| {
            let stays = socket.host != number;
            if !stays {
                socket.waiting.wake(&mut self.machines.wakers);
            }
            stays
        });
    }

    pub(super) fn is_open(&self, way: Way) -> bool {
        !self.links.is_cut(way) && self.machines.all[way.1].power != Power::Off
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.sockets += 1;
        self.sockets
    }

    /// Returns the host of the running code, unless it has been killed.
    pub(super) fn running(&self, world: &World) -> io::Result<usize> {
        let Place { host, start } = world.place();
        match self.machines.all.get(host) {
            Some(machine) if machine.start == start => Ok(host),
            _ => Err(gone()),
        }
    }

    pub(super) fn note_host(&mut self, world: &World, event: Event, host: usize) {
        self.note(world, event, [(host, 0); 2], &[]);
    }

    pub(super) fn note(&mut self, world: &World, event: Event, ends: [End; 2], bytes: &[u8]) {
        match event {
            Event::Lost => world.reach(Reached::Loss.text().into()),
            Event::Reset => world.reach(Reached::Reset.text().into()),
            _ => {}
        }
        let hosts = ends.map(|(host, _)| host);
        let all = &self.machines.all;
        let pair = self.pairs.entry(hosts);
        let pair = pair.or_insert_with(|| {
            let names = hosts.map(|host| all[host].name.clone());
            Arc::new(Pair { hosts, names })
        });
        let traffic = Traffic::new(event, ends, bytes, pair.clone());
        world.note(world.acting(), What::Net(Arc::new(traffic)));
    }

    /// Notes that these bytes are sent, which may be when a link fails.
    pub(super) fn note_sent(&mut self, world: &World, ends: [End; 2], bytes: &[u8]) {
        self.note(world, Event::Sent, ends, bytes);
        world.may_cut(self, ends.map(|(host, _)| host));
    }

    pub(super) fn open(
        &mut self,
        world: &World,
        kind: SocketKind,
        address: SocketAddr,
    ) -> io::Result<Box<dyn Socket>> {
        Ok(match kind {
            SocketKind::TcpListener => Box::new(TcpListener::bind(world, self, address)?),
            SocketKind::TcpStream => Box::new(TcpStream::begin(world, self, address)?),
            SocketKind::UdpSocket => Box::new(UdpSocket::bind(world, self, address)?),
        })
    }

    /// Starts a host. Returns its place and how its main future is made.
    pub(super) fn start(&mut self, world: &World, host: usize) -> (Place, Rc<RefCell<Main>>) {
        let machine = &mut self.machines.all[host];
        let main = machine.main.clone();
        let main = main.expect("a host is started by `Host::run` the first time");
        let was_off = machine.power == Power::Off;
        machine.changed = world.now();
        let start = machine.begin();
        self.note_host(world, Event::Started, host);
        if was_off {
            self.resume(world, |(_, to)| to == host);
        }
        (Place { host, start }, main)
    }

    /// Ends what runs on a host. Returns its place and what runs there.
    pub(super) fn stop(
        &mut self,
        world: &World,
        host: usize,
        power: Power,
        end: HostEnd,
    ) -> (Place, Option<Program>) {
        let machine = &mut self.machines.all[host];
        let start = machine.start;
        machine.end(power, end.clone(), &mut self.machines.wakers);
        let program = machine.program.take();
        if end == HostEnd::Killed {
            world.reach(Reached::Crash.text().into());
            if machine.disk.unsynced_files().next().is_some() {
                world.reach(Reached::CrashBeforeSync.text().into());
            }
            if machine.disk.unsynced_names().next().is_some() {
                world.reach(Reached::CrashBeforeDirSync.text().into());
            }
        }
        machine.changed = world.now();
        if power == Power::Off {
            let unsynced = before(&machine.disk);
            if machine.disk.lose(&mut world.chance()) {
                world.note_fault(world.acting(), Fault::LostWrites);
            }
            for (path, text) in told(&machine.disk, unsynced) {
                let event = DiskEvent {
                    op: Op::PowerCut(text),
                    path: path.into(),
                    host: machine.name.clone(),
                    bytes: 0,
                    error: None,
                };
                world.note(world.acting(), What::Disk(Arc::new(event)));
            }
        }
        self.note_host(world, Event::Stopped, host);
        self.close_all(world, host, power);
        (Place { host, start }, program)
    }

    /// Takes what hosts and sockets own of the program's.
    pub(super) fn end(&mut self) -> impl Sized + use<> {
        let take = |machine: &mut Machine| (machine.program.take(), machine.main.take());
        let programs: Vec<_> = self.machines.all.iter_mut().map(take).collect();
        let streams = (
            mem::take(&mut self.listeners),
            mem::take(&mut self.connections),
        );
        (programs, streams, mem::take(&mut self.datagrams))
    }
}

/// Returns whether a socket that is bound to `bound` receives what is sent to `to`.
pub(super) fn accepts(bound: SocketAddr, to: IpAddr) -> bool {
    bound.ip().is_unspecified() || bound.ip() == to || to.is_unspecified()
}

pub(super) fn error(kind: ErrorKind, message: &'static str) -> io::Error {
    io::Error::new(kind, message)
}

/// Reports the error of a socket, once.
fn take_error(of: &mut Option<ErrorKind>) -> io::Result<()> {
    of.take().map_or(Ok(()), |kind| Err(kind.into()))
}

pub(super) fn gone() -> io::Error {
    error(
        ErrorKind::NotConnected,
        "the host of this socket was killed",
    )
}

/// Calls `f` with the network of a run, if this thread is in it.
pub(super) fn with_run<R>(
    run: u64,
    f: impl FnOnce(&World, &mut Network) -> io::Result<R>,
) -> io::Result<R> {
    with_own(run, |world| {
        let outside = || {
            let message = "a socket of a simulation works only inside its simulation";
            error(ErrorKind::Unsupported, message)
        };
        let world = world.ok_or_else(outside)?;
        world.network(|network| f(world, network))
    })
}

/// A listener, or a socket for datagrams.
struct Bound {
    id: u64,
    local: SocketAddr,
    run: u64,
}

impl Bound {
    /// Calls `f` with the state of the socket. It is taken out of the network meanwhile, because a
    /// socket may send to itself.
    fn with<T, R>(
        &self,
        all: fn(&mut Network) -> &mut BTreeMap<u64, T>,
        f: impl FnOnce(&World, &mut Network, &mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        with_run(self.run, |world, network| {
            let mut own = all(network).remove(&self.id).ok_or_else(gone)?;
            let result = f(world, network, &mut own);
            all(network).insert(self.id, own);
            result
        })
    }
}

pub(super) fn pending_if_none(ready: Ready) -> Poll<io::Result<Ready>> {
    match ready.is_empty() {
        true => Poll::Pending,
        false => Poll::Ready(Ok(ready)),
    }
}
