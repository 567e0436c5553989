//! What tasks wait for that wait for a socket.

use std::time::Duration;

use super::{Network, connection::Connection};
use crate::{
    machine::{Power, Waiting},
    world::World,
};

impl Network {
    /// Returns what is waited for, with the address of who waits.
    pub(crate) fn waits(&self, world: &World) -> Vec<(usize, String)> {
        let mut all = Vec::new();
        let mut add = |waiting: &Waiting, what: String| {
            all.extend(waiting.addresses().map(|address| (address, what.clone())));
        };
        for socket in self.datagrams.values() {
            let name = self.shown(socket.host, socket.port());
            add(&socket.waiting, format!("a datagram for {name}"));
        }
        for listener in self.listeners.values() {
            let name = self.shown(listener.host, listener.local.port());
            add(&listener.acceptors, format!("a connection to {name}"));
        }
        for connection in self.connections.values() {
            for side in [0, 1] {
                let end = &connection.ends[side];
                let (host, port) = connection.between(side)[1];
                let peer = self.shown(host, port) + &self.state(world, connection, side);
                add(&end.readers, format!("data from {peer}"));
                let what = match end.is_established {
                    true => format!("room to write to {peer}"),
                    false => format!("the connection to {peer}"),
                };
                add(&end.writers, what);
            }
        }
        all
    }

    fn shown(&self, host: usize, port: u16) -> String {
        format!("`{}:{port}`", self.machines.all[host].name)
    }

    /// Says what keeps the other end of a connection from answering, as the rest of a clause.
    fn state(&self, world: &World, connection: &Connection, side: usize) -> String {
        let (way, peer) = (connection.way(side), &connection.ends[1 - side]);
        let machine = &self.machines.all[peer.host];
        let at = Duration::from_nanos(world.time.since_start(machine.changed));
        let of_host = match machine.power {
            Power::Off => format!(", whose host is down since {at:?}"),
            Power::Idle => format!(", whose program ended at {at:?}"),
            Power::Running if machine.changed > connection.begun => {
                format!(", whose host started again at {at:?}")
            }
            Power::Running => String::new(),
        };
        let broken = self
            .links
            .broken
            .get(&way)
            .or_else(|| self.links.broken.get(&(way.1, way.0)));
        let of_link = match broken {
            Some(&since) => {
                let since = Duration::from_nanos(world.time.since_start(since));
                format!(", and the link is cut since {since:?}")
            }
            None if self.links.is_cut(way) || self.links.is_cut((way.1, way.0)) => {
                ", and the link is cut".into()
            }
            None => String::new(),
        };
        of_host + &of_link
    }

    /// Says which hosts are down, and which links are cut.
    pub(crate) fn troubles(&self, world: &World) -> Vec<String> {
        let since = |time| Duration::from_nanos(world.time.since_start(time));
        let machines = self
            .machines
            .all
            .iter()
            .filter(|machine| machine.power == Power::Off);
        let down = machines.map(|machine| {
            format!(
                "the host `{}` is down since {:?}",
                machine.name,
                since(machine.changed)
            )
        });
        let name = |host: usize| &self.machines.all[host].name;
        let cut = self.links.cut.iter().map(|way| (way, None));
        let broken = self.links.broken.iter().map(|(way, &at)| (way, Some(at)));
        let links = cut.chain(broken).map(|(&(from, to), at)| {
            let at = at.map(|at| format!(" since {:?}", since(at)));
            format!(
                "the link from `{}` to `{}` is cut{}",
                name(from),
                name(to),
                at.unwrap_or_default()
            )
        });
        down.chain(links).collect()
    }
}
