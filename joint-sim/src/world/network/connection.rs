//! The state of connections and listeners, and what is sent on connections.
//!
//! A connection has two ends, and a pipe from each of them to the other. End 0 has connected, and
//! end 1 was accepted. Pipe 0 leads from end 0 to end 1. What arrives on a pipe keeps its order.
//!
//! A pipe whose way is cut stalls, until the way is open again or the sender gives up. A sender
//! that has lost its power gives up at once. `arrival.rs` has what arriving segments do, and
//! `ending.rs` how ends close, break and are lost.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, ErrorKind},
    mem,
    net::SocketAddr,
    task::Waker,
    time::Duration,
};

use super::{
    Network, gone,
    link::{Arrival, RESEND, Way},
};
use crate::{chance::About, faults::Fault, machine::Waiting, traffic, world::World};
use joint_executor::hosted::StreamOptions;

/// The size of a receive buffer, in bytes.
pub(super) const WINDOW: usize = 64 << 10;

/// The largest number of connections that wait to be accepted.
pub(super) const BACKLOG: usize = 1024;

pub(super) const SECOND: u64 = 1_000_000_000;

/// The time after which an unanswered attempt to connect fails.
pub(super) const CONNECT_LIMIT: u64 = 127 * SECOND;

/// The time for which a connection resends data that does not arrive.
pub(super) const RESEND_LIMIT: u64 = 15 * 60 * SECOND;

/// The holder of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// A stream, or the listener that has not accepted it yet.
    Program,
    /// No program, any more or yet. The machine answers.
    Nobody,
    /// The machine has lost its power, and the connection with it.
    Lost,
}

pub(super) enum Segment {
    /// Asks for a connection.
    Connect,
    /// Accepts the connection.
    Accept,
    Data(Box<[u8]>),
    /// The end of the data.
    End,
    /// The connection does not exist.
    Reset,
}

pub(super) struct End {
    pub(super) host: usize,
    pub(super) address: SocketAddr,
    pub(super) holder: Holder,
    pub(super) is_established: bool,
    pub(super) inbox: VecDeque<u8>,
    /// Whether no more data will arrive.
    pub(super) has_all: bool,
    /// Whether the machine of the peer knows that no more data will come.
    pub(super) end_has_arrived: bool,
    /// Whether a reset has arrived, or the end has given up.
    pub(super) is_broken: bool,
    /// The reason, until an operation has reported it.
    pub(super) error: Option<ErrorKind>,
    pub(super) is_read_shut: bool,
    pub(super) is_write_shut: bool,
    pub(super) readers: Waiting,
    pub(super) writers: Waiting,
    pub(super) options: StreamOptions,
}

impl End {
    fn new(host: usize, address: SocketAddr, holder: Holder) -> Self {
        Self {
            host,
            address,
            holder,
            is_established: false,
            inbox: VecDeque::new(),
            has_all: false,
            end_has_arrived: false,
            is_broken: false,
            error: None,
            is_read_shut: false,
            is_write_shut: false,
            readers: Waiting::default(),
            writers: Waiting::default(),
            options: StreamOptions::default(),
        }
    }

    /// Wakes what waits for the end.
    pub(super) fn wake(&mut self, wakers: &mut Vec<Waker>) {
        self.readers.wake(wakers);
        self.writers.wake(wakers);
    }

    /// Breaks the end, unless the connection is over for it.
    pub(super) fn fail(&mut self, kind: ErrorKind, wakers: &mut Vec<Waker>) {
        if self.lives() && !self.is_over() {
            self.is_broken = true;
            self.error = Some(kind);
            self.wake(wakers);
        }
    }

    pub(super) fn lives(&self) -> bool {
        self.holder == Holder::Program && !self.is_broken
    }

    /// Whether the connection is over: it is broken, or both directions have ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_broken || self.has_all && self.end_has_arrived
    }
}

/// One direction of a connection.
#[derive(Default)]
pub(super) struct Pipe {
    /// The segments in flight, with their arrival times.
    pub(super) flying: VecDeque<(u64, Segment)>,
    /// The arrival time of the last segment.
    last: u64,
    /// The number of bytes that were written and have not been read.
    used: usize,
    pub(super) is_stalled: bool,
    /// The time at which the sender gives up, if its data does not arrive.
    pub(super) limit: Option<u64>,
}

impl Pipe {
    /// Lets nothing arrive before a time.
    pub(super) fn hold_until(&mut self, at: u64) {
        self.last = self.last.max(at);
        for (arrives, _) in &mut self.flying {
            *arrives = at.max(*arrives);
        }
    }
}

pub(super) struct Connection {
    pub(super) ends: [End; 2],
    pub(super) pipes: [Pipe; 2],
    pub(super) begun: u64,
    /// Whether the time at which end 0 gives up connecting has been set.
    pub(super) is_limited: bool,
}

impl Connection {
    pub(super) fn way(&self, side: usize) -> Way {
        (self.ends[side].host, self.ends[1 - side].host)
    }

    /// Returns the end on a side, and the other one.
    pub(super) fn between(&self, side: usize) -> [traffic::End; 2] {
        let end = |side: usize| (self.ends[side].host, self.ends[side].address.port());
        [end(side), end(1 - side)]
    }

    /// Takes an end away from its program, and wakes everything that waits for the end.
    pub(super) fn let_go(&mut self, side: usize, holder: Holder, wakers: &mut Vec<Waker>) {
        let end = &mut self.ends[side];
        end.holder = holder;
        end.wake(wakers);
        let unread = mem::take(&mut end.inbox).len();
        self.free(side, unread);
    }

    /// Frees room in the pipe to an end. Returns whether the sender waits for that.
    pub(super) fn free(&mut self, side: usize, bytes: usize) -> bool {
        self.pipes[1 - side].used -= bytes;
        bytes > 0 && !self.ends[1 - side].writers.is_empty()
    }

    /// Whether an end is, or is the peer of, one of a host with a port that a program still holds.
    pub(super) fn knows(&self, host: usize, port: u16) -> bool {
        let is_own = |end: &End| end.host == host && end.address.port() == port;
        let is_held = self.ends.iter().any(|end| end.holder == Holder::Program);
        is_held && self.ends.iter().any(is_own)
    }

    /// Returns how many bytes an end can write now.
    pub(super) fn room(&self, side: usize) -> usize {
        WINDOW - self.pipes[side].used
    }
}

/// How an attempt to connect or to accept fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// There is no connection: it is refused, or gone.
    Now,
    /// Nobody answers, or the connection waits on.
    Stays,
}

pub(super) struct Listener {
    pub(super) host: usize,
    pub(super) local: SocketAddr,
    /// The connections that wait to be accepted.
    pub(super) backlog: VecDeque<u64>,
    pub(super) acceptors: Waiting,
}

/// Returns a connection that has not been forgotten.
pub(super) fn known(all: &mut BTreeMap<u64, Connection>, id: u64) -> &mut Connection {
    all.get_mut(&id).expect("it is looked up before")
}

impl Network {
    pub(super) fn connect(
        &mut self,
        world: &World,
        id: u64,
        (from, local): (usize, SocketAddr),
        (to, peer): (usize, SocketAddr),
    ) {
        let connection = Connection {
            ends: [
                End::new(from, local, Holder::Program),
                End::new(to, peer, Holder::Nobody),
            ],
            pipes: Default::default(),
            begun: world.now(),
            is_limited: false,
        };
        self.connections.insert(id, connection);
        match self.fails(world) {
            None => self.put(world, id, 0, Segment::Connect),
            Some(Failing::Now) => self.put(world, id, 1, Segment::Reset),
            Some(Failing::Stays) => self.limit(world, id, 0),
        }
    }

    /// Decides whether an attempt to connect or to accept fails.
    pub(super) fn fails(&self, world: &World) -> Option<Failing> {
        let fails = world.strikes(About::Network, Fault::SocketError, world.acting());
        let stays = fails && world.chance().below(About::Network, 2) == 1;
        fails.then_some(if stays { Failing::Stays } else { Failing::Now })
    }

    /// Returns the connection of a stream, unless its host has been killed.
    pub(super) fn connection(&mut self, id: u64, side: usize) -> io::Result<&mut Connection> {
        let connection = self.connections.get_mut(&id);
        let own = connection.filter(|own| own.ends[side].holder == Holder::Program);
        own.ok_or_else(gone)
    }

    /// Tells how something that was sent arrives, if that is by a fault.
    pub(super) fn tell_fault(&self, world: &World, between: [traffic::End; 2], arrival: Arrival) {
        let is_resent = arrival.after.is_some_and(|delay| delay >= RESEND);
        let is_late = is_resent && world.has_late_messages();
        if !is_late && arrival.fault.is_none() {
            return;
        }
        let name = |(host, port): traffic::End| (&self.machines.all[host].name, port);
        let [(from, port), (to, to_port)] = between.map(name);
        let how = match (arrival.after.map(Duration::from_nanos), arrival.fault) {
            (None, _) => "is lost".into(),
            (Some(delay), Some(Fault::Duplicate)) => format!("arrives again after {delay:?}"),
            (Some(delay), _) => format!("arrives only after {delay:?}"),
        };
        let text = format!("what `{from}:{port}` sends to `{to}:{to_port}` {how}");
        match is_late {
            true => world.tell(world.acting(), Fault::Loss, text),
            false => world.tell_apart(text),
        }
    }

    pub(super) fn put(&mut self, world: &World, id: u64, side: usize, segment: Segment) {
        let connection = known(&mut self.connections, id);
        let delay = self.links.stream_delay(world, connection.way(side));
        let between = connection.between(side);
        let arrival = Arrival {
            after: Some(delay),
            fault: None,
        };
        self.tell_fault(world, between, arrival);
        let connection = known(&mut self.connections, id);
        let pipe = &mut connection.pipes[side];
        pipe.last = pipe.last.max(world.now().saturating_add(delay));
        pipe.flying.push_back((pipe.last, segment));
        if !pipe.is_stalled {
            arrive_at(world, pipe.last, id, side);
        }
    }

    /// Sends bytes from an end that has room for them.
    pub(super) fn put_data(&mut self, world: &World, id: u64, side: usize, bytes: &[u8]) {
        let connection = known(&mut self.connections, id);
        connection.pipes[side].used += bytes.len();
        let between = connection.between(side);
        self.note_sent(world, between, bytes);
        // Readers must not rely on getting what was written as one piece.
        let is_split = bytes.len() > 1 && world.chance().happens(About::Network, SPLIT);
        let first = match is_split {
            true => bytes.len() - 1 - world.chance().below(About::Network, bytes.len() - 1),
            false => bytes.len(),
        };
        let (first, rest) = bytes.split_at(first);
        for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
            self.put(world, id, side, Segment::Data(part.into()));
        }
    }

    /// Ends the writing direction of an end.
    pub(super) fn end_writing(&mut self, world: &World, id: u64, side: usize) {
        let connection = known(&mut self.connections, id);
        let end = &mut connection.ends[side];
        if !mem::replace(&mut end.is_write_shut, true) {
            end.writers.wake(&mut self.machines.wakers);
            self.put(world, id, side, Segment::End);
        }
    }

    /// Tells the peer of an end that there is room again.
    pub(super) fn tell_room(&mut self, world: &World, id: u64, side: usize) {
        let way = known(&mut self.connections, id).way(side);
        let delay = self.links.stream_delay(world, way);
        world.network_at(world.now().saturating_add(delay), move |_, network| {
            // If the way is cut, `resume` does it.
            let is_open = network.is_open(way);
            if let Some(connection) = network.connections.get_mut(&id).filter(|_| is_open) {
                let end = &mut connection.ends[1 - side];
                end.writers.wake(&mut network.machines.wakers);
            }
        });
    }
}

/// The probability that a write arrives in two parts.
const SPLIT: f64 = 0.125;

/// Takes what arrives on a pipe at a time.
pub(super) fn arrive_at(world: &World, at: u64, id: u64, side: usize) {
    world.network_at(at, move |world, network| network.arrive(world, id, side));
}
