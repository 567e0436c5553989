//! What tasks wait for that wait for a socket.

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
        let at = world.time.at(machine.changed);
        let of_host = match machine.power {
            Power::Off => format!(", whose host is down since {at:?}"),
            Power::Idle => format!(", whose program ended at {at:?}"),
            Power::Running if machine.changed > connection.begun => {
                format!(", whose host started again at {at:?}")
            }
            Power::Running => String::new(),
        };
        let ways = [way, (way.1, way.0)];
        let of_link = match ways.iter().find_map(|way| self.links.broken.get(way)) {
            Some(&since) => format!(", and the link is cut since {:?}", world.time.at(since)),
            None if ways.iter().any(|&way| self.links.is_cut(way)) => {
                ", and the link is cut".into()
            }
            None => String::new(),
        };
        of_host + &of_link
    }

    /// Says which hosts are down, and which links are cut.
    pub(crate) fn troubles(&self, world: &World) -> Vec<String> {
        let since = |time| format!(" since {:?}", world.time.at(time));
        let machines = self.machines.all.iter();
        let machines = machines.filter(|machine| machine.power == Power::Off);
        let down = machines.map(|machine| {
            let since = since(machine.changed);
            format!("the host `{}` is down{since}", machine.name)
        });
        let cut = self.links.cut.iter().map(|way| (way, String::new()));
        let broken = self.links.broken.iter().map(|(way, &at)| (way, since(at)));
        let links = cut.chain(broken).map(|(&(from, to), since)| {
            let [from, to] = [from, to].map(|host| &self.machines.all[host].name);
            format!("the link from `{from}` to `{to}` is cut{since}")
        });
        down.chain(links).collect()
    }
}
