//! How hosts start and stop.

use alloc::{boxed::Box, rc::Rc, string::String, vec::Vec};
use core::{
    future::{Future, poll_fn},
    mem,
    task::Poll,
};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    super::{
        failure::{Kind, Payload, message},
        host::{HostEnd, Place, Power, Program},
        net::Network,
        record::Actor,
    },
    Due, Work, World,
    agenda::Agenda,
    entered::run_apart,
    threads::is_call_thread,
};
use joint::task::{JoinHandle, Runnable};
use joint_executor::{Executor, TaskBuilder};

impl World {
    /// Returns the place that the running code belongs to.
    pub(crate) fn place(&self) -> Place {
        self.place.get()
    }

    /// Calls `f` with the network, and wakes the wakers that it leaves there.
    pub(crate) fn network<R>(&self, f: impl FnOnce(&mut Network) -> R) -> R {
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
    pub(crate) fn start(&self, number: usize) {
        assert!(
            !is_call_thread(),
            "a host is started by a task, not by a function of spawn_blocking"
        );
        let (place, main) = self.network(|network| network.start(self, number));
        let before = self.place.replace(place);
        let executor = Executor::builder().workers(1).build();
        self.place.set(before);
        let executor = match executor {
            Ok(executor) => Rc::new(executor),
            Err(error) => return self.fail(Kind::NoExecutor(alloc::format!("{error}"))),
        };
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
        let main = self.spawn_main(place, task);
        self.network(|network| {
            let program = Program {
                executor,
                _main: main,
            };
            network.machines[number].program = Some(program);
        });
    }

    /// Spawns the main future of a host that has been started.
    fn spawn_main(
        &self,
        place: Place,
        task: impl Future<Output = ()> + 'static,
    ) -> Option<JoinHandle<()>> {
        let (name, given) = self.network(|network| {
            let machine = &network.machines[place.host];
            (String::from(&*machine.name), machine.given)
        });
        let pools = self.pools.borrow();
        let (executor, pool) = (0..).zip(&*pools).find(|(_, pool)| pool.place == place)?;
        let pool = pool.clone();
        drop(pools);
        let mut main = None;
        let spawn = || main = Some(TaskBuilder::new().name(name).spawn_local(task));
        run_apart(|| pool.first().worker.enter(spawn));
        let number = Actor(self.spawned.get());
        let mut agenda = self.agenda.borrow_mut();
        let Agenda { tasks, record, .. } = &mut *agenda;
        if let Some(live) = tasks.by_actor(number) {
            live.named.spawned = given;
            // Whoever cancels it kills the host.
            live.is_expendable = false;
            record.name(number, &live.named);
            self.watched.rename(number, &live.named);
        }
        drop(agenda);
        self.collect(executor, &pool.first().worker);
        main
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
            Err(payload) => return self.fail(Kind::HostPanic(name, Payload::new(payload))),
        };
        self.stop(place.host, Power::Idle, end);
    }

    /// Ends the program of a host.
    pub(crate) fn stop(&self, number: usize, power: Power, end: HostEnd) {
        assert!(
            number != Place::MAIN.host,
            "the main future's host cannot be stopped"
        );
        let (place, program) = self.network(|network| network.stop(self, number, power, end));
        let pools = self.pools.borrow();
        let own = pools
            .iter()
            .filter(|pool| pool.place == place && !pool.has_ended.get());
        let own: Vec<_> = own.map(|pool| pool.id).collect();
        drop(pools);
        let is_call = |due: &Due| matches!(&due.work, Work::Call(call) if call.0 == place);
        let calls = self.agenda.borrow_mut().remove(is_call);
        let held = self.take_held(is_call);
        self.end_calls_of(place);
        run_apart(|| {
            for id in own {
                self.shut_down(id);
            }
            drop((calls, held));
            drop(program);
        });
    }

    /// Returns whether what runs at a place was killed, or has ended.
    pub(super) fn is_gone(&self, place: Place) -> bool {
        self.network(|network| {
            let machine = network.machines.get(place.host);
            machine.is_none_or(|machine| machine.start != place.start)
        })
    }

    /// Runs a call that may block, as code of the place that it was made at.
    pub(super) fn run_call(&self, call: Runnable) {
        let executor = self.network(|network| {
            let program = network.machines[self.place.get().host].program.as_ref();
            program.map(|program| program.executor.clone())
        });
        match executor {
            Some(executor) => drop(executor.enter(|| call.run())),
            None => drop(call.run()),
        }
    }

    /// Drops what the hosts and the sockets own.
    pub(super) fn end_places(&self) {
        let rest = self.network(Network::end);
        drop(rest);
    }
}
