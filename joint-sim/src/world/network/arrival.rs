//! The effects of arriving segments on a connection.

use std::{io::ErrorKind, mem};

use super::{
    Network, Protocol, accepts,
    connection::{BACKLOG, Holder, SECOND, Segment, arrive_at, known},
    link::{RESEND, Way},
};
use crate::{chance::About, traffic::Event, world::World};

impl Network {
    pub(super) fn arrive(&mut self, world: &World, id: u64, side: usize) {
        while let Some(segment) = self.take(world, id, side) {
            self.deliver(world, id, side, segment);
        }
        self.forget_unused(id);
    }

    fn take(&mut self, world: &World, id: u64, side: usize) -> Option<Segment> {
        let way = self.connections.get(&id)?.way(side);
        let is_open = self.is_open(way);
        let connection = self.connections.get_mut(&id)?;
        let pipe = &mut connection.pipes[side];
        let (arrives, _) = pipe.flying.front()?;
        if pipe.is_stalled || *arrives > world.now() {
            return None;
        }
        if let Some(until) = self.links.clogged_until(world, way) {
            let at = until.saturating_add(self.links.latency(world, way));
            pipe.hold_until(at);
            arrive_at(world, at, id, side);
            return None;
        }
        if !is_open {
            self.stall(world, id, side);
            return None;
        }
        let (_, segment) = pipe.flying.pop_front()?;
        pipe.limit = None;
        Some(segment)
    }

    fn deliver(&mut self, world: &World, id: u64, side: usize, segment: Segment) {
        let connection = known(&mut self.connections, id);
        let [from, to] = connection.between(side);
        let end = &mut connection.ends[1 - side];
        match segment {
            Segment::Connect => self.listen(world, id),
            Segment::Accept => {
                end.is_established = true;
                end.writers.wake(&mut self.machines.wakers);
                self.note(world, Event::Connected, [to, from], &[]);
            }
            Segment::Data(bytes) if end.lives() && !(end.is_read_shut && end.is_write_shut) => {
                end.inbox.extend(&bytes);
                end.readers.wake(&mut self.machines.wakers);
                self.note(world, Event::Delivered, [from, to], &bytes);
            }
            Segment::Data(bytes) => {
                // Nobody will read it: there is no such connection, or it is aborted.
                end.fail(ErrorKind::ConnectionReset, &mut self.machines.wakers);
                if connection.free(1 - side, bytes.len()) {
                    self.tell_room(world, id, 1 - side);
                }
                self.put(world, id, 1 - side, Segment::Reset);
            }
            Segment::End if end.lives() => {
                end.has_all = true;
                end.wake(&mut self.machines.wakers);
                connection.ends[side].end_has_arrived = true;
            }
            Segment::End if end.holder == Holder::Lost => {
                self.put(world, id, 1 - side, Segment::Reset);
            }
            Segment::End => connection.ends[side].end_has_arrived = true,
            Segment::Reset => {
                let (kind, event) = match end.is_established {
                    true if end.has_all && !end.is_write_shut => {
                        (ErrorKind::BrokenPipe, Event::Reset)
                    }
                    true => (ErrorKind::ConnectionReset, Event::Reset),
                    false => (ErrorKind::ConnectionRefused, Event::Refused),
                };
                let between = match end.is_established {
                    true => [from, to],
                    false => [to, from],
                };
                self.note(world, event, between, &[]);
                self.break_end(id, 1 - side, kind);
            }
        }
    }

    /// Lets a listener take a connection, or refuses it.
    fn listen(&mut self, world: &World, id: u64) {
        let connection = known(&mut self.connections, id);
        let [_, end] = &mut connection.ends;
        let port = (end.host, Protocol::Tcp, end.address.port());
        let listener = self.ports.get(&port);
        let listener = listener.and_then(|listener| self.listeners.get_mut(listener));
        match listener.filter(|listener| accepts(listener.local, end.address.ip())) {
            None => self.put(world, id, 1, Segment::Reset),
            Some(listener) if listener.backlog.len() < BACKLOG => {
                end.holder = Holder::Program;
                end.is_established = true;
                listener.backlog.push_back(id);
                listener.acceptors.wake(&mut self.machines.wakers);
                self.put(world, id, 1, Segment::Accept);
            }
            Some(_) => {
                let at = world.now() + SECOND;
                let pipe = &mut connection.pipes[0];
                pipe.flying.push_front((at, Segment::Connect));
                pipe.hold_until(at);
                arrive_at(world, at, id, 0);
                self.limit(world, id, 0);
            }
        }
    }

    /// Lets pipes go on whose way is open again.
    pub(crate) fn resume(&mut self, world: &World, is_open: impl Fn(Way) -> bool) {
        for (&id, connection) in &mut self.connections {
            for side in [0, 1] {
                let way = connection.way(side);
                if !is_open(way) {
                    continue;
                }
                connection.ends[1 - side]
                    .writers
                    .wake(&mut self.machines.wakers);
                let pipe = &mut connection.pipes[side];
                if mem::take(&mut pipe.is_stalled) {
                    let resent = world.chance().below(About::Network, RESEND as usize) as u64;
                    let delay = resent + self.links.stream_delay(world, way);
                    let at = world.now().saturating_add(delay);
                    pipe.hold_until(at);
                    // What was sent meanwhile has no event of its own.
                    for (arrives, _) in &pipe.flying {
                        arrive_at(world, *arrives, id, side);
                    }
                }
            }
        }
    }
}
