//! How the ends of connections close, break and are lost.

use std::{collections::BTreeMap, io::ErrorKind, mem, time::Duration};

use super::{
    Network, Protocol,
    connection::{CONNECT_LIMIT, Connection, Holder, RESEND_LIMIT, Segment, known},
};
use crate::{machine::Power, traffic::Event, world::World};

impl Network {
    /// Lets a pipe wait until its way is open.
    pub(super) fn stall(&mut self, world: &World, id: u64, side: usize) {
        let connection = known(&mut self.connections, id);
        let pipe = &mut connection.pipes[side];
        if connection.ends[side].holder == Holder::Lost {
            pipe.flying.clear();
            return;
        }
        pipe.is_stalled = true;
        self.limit(world, id, side);
    }

    /// Sets when the sender gives up, and the end that connects.
    pub(super) fn limit(&mut self, world: &World, id: u64, side: usize) {
        let connection = known(&mut self.connections, id);
        if !connection.ends[0].is_established && !connection.is_limited {
            connection.is_limited = true;
            let at = connection.begun.saturating_add(CONNECT_LIMIT);
            world.network_at(at, move |world, network| {
                let own = network.connections.get(&id).map(|own| &own.ends[0]);
                if own.is_some_and(|end| !end.is_established && !end.is_broken) {
                    network.give_up(world, id, 0);
                }
            });
        }
        let pipe = &mut connection.pipes[side];
        if connection.ends[side].is_established && pipe.limit.is_none() {
            let at = world.now().saturating_add(RESEND_LIMIT);
            pipe.limit = Some(at);
            world.network_at(at, move |world, network| {
                let connection = network.connections.get(&id);
                if connection.is_some_and(|own| own.pipes[side].limit == Some(at)) {
                    network.give_up(world, id, side);
                }
            });
        }
    }

    fn give_up(&mut self, world: &World, id: u64, side: usize) {
        let connection = known(&mut self.connections, id);
        let between = connection.between(side);
        connection.pipes[side].flying.clear();
        connection.pipes[side].is_stalled = false;
        self.note(world, Event::TimedOut, between, &[]);
        self.break_end(id, side, ErrorKind::TimedOut);
        self.forget_unused(id);
    }

    pub(super) fn break_end(&mut self, id: u64, side: usize, kind: ErrorKind) {
        let connection = known(&mut self.connections, id);
        connection.ends[side].fail(kind, &mut self.machines.wakers);
        let own = &mut connection.pipes[side];
        own.flying.clear();
        own.limit = None;
    }

    /// Closes an end whose stream is dropped.
    pub(super) fn close(&mut self, world: &World, id: u64, side: usize) {
        let Ok(connection) = self.connection(id, side) else {
            return;
        };
        let end = &connection.ends[side];
        let is_last = end.has_all && end.is_write_shut;
        let aborts = !end.is_established
            || !end.inbox.is_empty()
            || end.options.linger == Some(Duration::ZERO) && !is_last;
        self.close_by(world, id, side, aborts);
    }

    /// Closes an end, with a reset or in order.
    pub(super) fn close_by(&mut self, world: &World, id: u64, side: usize, aborts: bool) {
        let connection = known(&mut self.connections, id);
        connection.let_go(side, Holder::Nobody, &mut self.machines.wakers);
        let end = &connection.ends[side];
        let pipe = &mut connection.pipes[side];
        if !end.is_established && pipe.is_stalled {
            pipe.flying.clear();
        }
        let (is_over, host, port) = (end.is_over(), end.host, end.address.port());
        self.free_port((host, Protocol::Tcp, port), id);
        match is_over {
            true => {}
            false if aborts => self.put(world, id, side, Segment::Reset),
            false => self.end_writing(world, id, side),
        }
        self.forget_unused(id);
    }

    /// Closes all connections and listeners of a host that stops.
    pub(super) fn close_streams(&mut self, world: &World, host: usize, power: Power) {
        let listeners: Vec<_> = own_keys(&self.listeners, |listener| listener.host == host);
        for id in listeners {
            self.close_listener(world, id, power);
        }
        for side in [0, 1] {
            let is_own = |connection: &Connection| {
                let end = &connection.ends[side];
                end.host == host && end.holder == Holder::Program
            };
            for id in own_keys(&self.connections, is_own) {
                match power {
                    Power::Off => self.lose(id, side),
                    Power::Idle | Power::Running => self.close(world, id, side),
                }
            }
        }
    }

    /// Closes a listener, and resets what it has not accepted.
    pub(super) fn close_listener(&mut self, world: &World, id: u64, power: Power) {
        let Some(mut listener) = self.listeners.remove(&id) else {
            return;
        };
        let port = listener.local.port();
        self.free_port((listener.host, Protocol::Tcp, port), id);
        listener.acceptors.wake(&mut self.machines.wakers);
        for id in listener.backlog {
            match power {
                Power::Off => self.lose(id, 1),
                Power::Idle | Power::Running => self.close_by(world, id, 1, true),
            }
        }
    }

    /// Forgets what an end knows, because its machine has lost its power.
    fn lose(&mut self, id: u64, side: usize) {
        let connection = known(&mut self.connections, id);
        connection.let_go(side, Holder::Lost, &mut self.machines.wakers);
        let pipe = &mut connection.pipes[side];
        pipe.limit = None;
        if mem::take(&mut pipe.is_stalled) {
            pipe.flying.clear();
        }
        self.forget_unused(id);
    }

    pub(super) fn forget_unused(&mut self, id: u64) {
        let is_unused = |connection: &Connection| {
            let [one, other] = &connection.ends;
            one.holder != Holder::Program
                && other.holder != Holder::Program
                && connection.pipes.iter().all(|pipe| pipe.flying.is_empty())
        };
        if self.connections.get(&id).is_some_and(is_unused) {
            self.connections.remove(&id);
        }
    }
}

fn own_keys<T>(all: &BTreeMap<u64, T>, is_own: impl Fn(&T) -> bool) -> Vec<u64> {
    let own = all.iter().filter(|(_, value)| is_own(value));
    own.map(|(&id, _)| id).collect()
}
