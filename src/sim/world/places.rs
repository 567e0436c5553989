//! How hosts start and stop.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::{future::poll_fn, mem, task::Poll};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    super::{
        failure::{Kind, message},
        host::{HostEnd, Place, Power},
        net::Network,
    },
    Work, World,
};
use crate::executor::{Executor, TaskBuilder, simulated};

impl World {
    /// The place that the running code belongs to.
    pub(in crate::sim) fn place(&self) -> Place {
        self.place.get()
    }

    /// Calls `f` with the network, and wakes the wakers that it leaves there.
    pub(in crate::sim) fn network<R>(&self, f: impl FnOnce(&mut Network) -> R) -> R {
        let mut network = self.network.borrow_mut();
        let result = f(&mut network);
        let wakers = mem::take(&mut network.wakers);
        drop(network);
        for waker in wakers {
            waker.wake();
        }
        result
    }

    /// Starts a host, which is not running.
    pub(in crate::sim) fn start(&self, number: usize) {
        let (place, name, main) = self.network(|network| {
            let (place, main) = network.start(self, number);
            (place, network.machines[number].name.clone(), main)
        });
        let before = self.place.replace(place);
        let executor = Executor::builder().workers(1).build();
        self.place.set(before);
        let executor = match executor {
            Ok(executor) => executor,
            Err(error) => return self.fail(Kind::NoExecutor(alloc::format!("{error}"))),
        };
        self.network(|network| network.machines[number].executor = Some(executor));
        let mut future = None;
        let poll_main = poll_fn(move |cx| {
            let mut poll = || {
                let future = future.get_or_insert_with(|| (main.borrow_mut())());
                future.as_mut().poll(cx)
            };
            match catch_unwind(AssertUnwindSafe(&mut poll)) {
                Ok(polled) => polled.map(Ok),
                Err(payload) => Poll::Ready(Err(payload)),
            }
        });
        let task = async move {
            let ended = poll_main.await;
            super::with(|world| {
                let world = world.expect("a task of a world is polled only there");
                world.main_has_ended(place, ended);
            });
        };
        let hosts = self.hosts.borrow();
        let executor = hosts.iter().position(|host| host.place == place);
        let executor = executor.expect("it was started above");
        let host = hosts[executor].clone();
        drop(hosts);
        let spawn = || {
            TaskBuilder::new()
                .name(String::from(&*name))
                .spawn_local(task)
                .detach()
        };
        simulated::run_apart(|| host.simulated.as_worker(0, spawn));
        self.collect(executor, &host, 0, None);
    }

    fn main_has_ended(&self, place: Place, ended: Result<(), Box<dyn Any + Send>>) {
        let is_current = |network: &mut Network| {
            let machine = &network.machines[place.host];
            (machine.start == place.start).then(|| (machine.watchers, machine.name.clone()))
        };
        let Some((watchers, name)) = self.network(is_current) else {
            return;
        };
        let end = match ended {
            Ok(()) => HostEnd::Returned,
            Err(payload) if watchers > 0 => HostEnd::Panicked(String::from(message(&*payload))),
            Err(payload) => return self.fail(Kind::HostPanic(name, payload)),
        };
        self.stop(place.host, Power::Idle, end);
    }

    /// Ends the program of a host.
    pub(in crate::sim) fn stop(&self, number: usize, power: Power, end: HostEnd) {
        assert!(
            number != Place::MAIN.host,
            "the main future's host cannot be stopped"
        );
        let (place, executor) = self.network(|network| network.stop(self, number, power, end));
        let hosts = self.hosts.borrow();
        let own = hosts
            .iter()
            .filter(|host| host.place == place && !host.has_ended.get());
        let own: Vec<_> = own.map(|host| host.id).collect();
        drop(hosts);
        let is_call = |work: &Work| matches!(work, Work::Call(from, _) if *from == place);
        let (calls, others) = self
            .due
            .take()
            .into_iter()
            .partition(|due| is_call(&due.work));
        let calls: alloc::collections::VecDeque<_> = calls;
        self.due.replace(others);
        simulated::run_apart(|| {
            for id in own {
                simulated::World::shut_down(self, id);
            }
            drop(calls);
            drop(executor);
        });
    }

    /// Drops what the hosts own.
    pub(super) fn end_places(&self) {
        let machines = self.network(|network| mem::take(&mut network.machines));
        drop(machines);
    }
}
