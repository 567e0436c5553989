//! Which ports of a host are in use, and for how long.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
};

use super::{Bound, Network, Port, Protocol, error};
use crate::{
    chance::About,
    faults::Fault,
    machine::{FIRST_PORT, ip},
    world::World,
};

/// For how many milliseconds a port stays in use at most.
const BUSY_FOR: usize = 60_000;

impl Network {
    /// Takes a port for a socket, and returns it. Port 0 is replaced by one that is free.
    pub(super) fn take_port(
        &mut self,
        world: &World,
        (host, protocol, port): Port,
        id: u64,
    ) -> io::Result<u16> {
        let is_used = |port| self.ports.contains_key(&(host, protocol, port));
        let in_use = |message| error(ErrorKind::AddrInUse, message);
        let is_free_again = |again: &u16| {
            world.injected.is_some()
                && self.is_forgotten(host, protocol, *again)
                && world.strikes(About::Network, Fault::ReusedPort, world.acting())
        };
        let given_up = self.given_up.get(&(host, protocol)).copied();
        let port = if port != 0 {
            let busy = self.busy.get(&(host, protocol, port));
            if is_used(port) || busy.is_some_and(|until| *until > world.now()) {
                return Err(in_use("the port is in use on this host"));
            }
            port
        } else if let Some(again) = given_up.filter(is_free_again) {
            again
        } else {
            let first = self.machines.all[host].next_port;
            let mut all = (first..=u16::MAX).chain(FIRST_PORT..first);
            let free = all.find(|&port| !is_used(port));
            let free = free.ok_or_else(|| in_use("all ports are in use"))?;
            self.machines.all[host].next_port = free.checked_add(1).unwrap_or(FIRST_PORT);
            free
        };
        self.ports.insert((host, protocol, port), id);
        Ok(port)
    }

    pub(super) fn free_port(&mut self, port: Port, id: u64) {
        if self.ports.get(&port) == Some(&id) {
            self.ports.remove(&port);
            let (host, protocol, port) = port;
            if port >= FIRST_PORT {
                self.given_up.insert((host, protocol), port);
            }
        }
    }

    /// Whether no socket of a host has a port, and no peer of one that had it.
    fn is_forgotten(&self, host: usize, protocol: Protocol, port: u16) -> bool {
        let is_free = !self.ports.contains_key(&(host, protocol, port));
        let mut connections = self.connections.values();
        is_free && !connections.any(|connection| connection.knows(host, port))
    }

    /// Keeps the port of a listener that was dropped in use, if the faults want it.
    pub(super) fn keep_port(&mut self, world: &World, own: &Bound) {
        if let Ok(host) = self.running(world) {
            if world.strikes(About::Network, Fault::BusyPort, world.acting()) {
                let time = 1 + world.chance().below(About::Network, BUSY_FOR) as u64;
                let until = world.now().saturating_add(time * 1_000_000);
                let port = (host, Protocol::Tcp, own.local.port());
                self.busy.insert(port, until);
            }
        }
    }

    /// Makes a socket that is bound to an address. Returns it after its host.
    pub(super) fn bind(
        &mut self,
        world: &World,
        protocol: Protocol,
        address: SocketAddr,
    ) -> io::Result<(usize, Bound)> {
        let id = self.new_id();
        let host = self.running(world)?;
        let own = address.ip();
        if !(own.is_unspecified() || own.is_loopback() || own == ip(host)) {
            let message = "the address is not this host's";
            return Err(error(ErrorKind::AddrNotAvailable, message));
        }
        let port = self.take_port(world, (host, protocol, address.port()), id)?;
        let (local, run) = (SocketAddr::new(own, port), world.number());
        Ok((host, Bound { id, local, run }))
    }
}
