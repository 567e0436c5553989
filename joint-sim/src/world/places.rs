//! How hosts start and stop.

use std::{
    any::Any,
    cell::RefCell,
    future::poll_fn,
    io, mem,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    rc::Rc,
    sync::Arc,
    task::Poll,
};

use super::{
    super::{
        failure::Kind,
        machine::{HostEnd, Machine, Machines, Main, Place, Power, Program},
        panicked::message,
        record::{Actor, Named},
        tasks::{Due, Work},
    },
    World,
    entered::run_apart,
    network::Network,
    threads::is_call_thread,
};
use joint::task::Runnable;
use joint_executor::{Executor, TaskBuilder};

impl World {
    pub(crate) fn place(&self) -> Place {
        self.stage.place.get()
    }

    /// Calls `f` with the host that the running code belongs to, unless it is the main future's.
    fn with_host<R>(&self, f: impl FnOnce(&Machine, Place) -> Option<R>) -> Option<R> {
        let place = self.place();
        if place.host == Place::MAIN.host {
            return None;
        }
        let network = self.network.try_borrow().ok()?;
        f(network.machines.all.get(place.host)?, place)
    }

    /// Returns what is known about a task or call that the running code starts.
    pub(super) fn named(&self, name: Option<&str>, spawned: &'static Location<'static>) -> Named {
        Named {
            name: name.map(Arc::from),
            spawned,
            host: self.with_host(|machine, _| Some(machine.name.clone())),
        }
    }

    /// Returns where the main future of a host was given that is being started here.
    pub(super) fn starts(&self) -> Option<&'static Location<'static>> {
        self.with_host(|machine, Place { start, .. }| {
            let is_new = machine.program.is_none() && machine.start == start;
            is_new.then_some(machine.given)
        })
    }

    /// Calls `f` with the network, and wakes the wakers that it leaves there.
    pub(crate) fn network<R>(&self, f: impl FnOnce(&mut Network) -> R) -> R {
        let mut network = self.network.borrow_mut();
        let result = f(&mut network);
        let wakers = mem::take(&mut network.machines.wakers);
        drop(network);
        for waker in wakers {
            waker.wake();
        }
        result
    }

    /// Calls `f` with the network when the virtual time comes to `at`.
    pub(super) fn network_at(&self, at: u64, f: impl FnOnce(&Self, &mut Network) + 'static) {
        self.at(at, move |world| {
            let before = world.stage.actor.replace(Actor::NETWORK);
            world.network(|network| f(world, network));
            world.collect_pushed();
            world.wake_main();
            world.stage.actor.set(before);
        });
    }

    pub(crate) fn machines<R>(&self, f: impl FnOnce(&mut Machines) -> R) -> R {
        self.network(|network| f(&mut network.machines))
    }

    pub(crate) fn start(&self, number: usize) {
        assert!(
            !is_call_thread(),
            "a host is started by a task, not by a function of spawn_blocking"
        );
        let (place, main) = self.network(|network| network.start(self, number));
        if place.start == 1 {
            self.may_set_clock(number);
        }
        let before = self.stage.place.replace(place);
        let program = self.begin(place, main);
        self.stage.place.set(before);
        match program {
            Ok(program) => self.machines(|machines| machines.all[number].program = Some(program)),
            Err(error) => self.fail(Kind::NotStarted("executor", error.to_string())),
        }
    }

    fn begin(&self, place: Place, main: Rc<RefCell<Main>>) -> io::Result<Program> {
        let executor = Executor::builder().workers(1).build()?;
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
        let host = self.machines(|machines| machines.all[place.host].name.clone());
        let number = self.pools.number_of(executor.id());
        let pool = self.pools.all.borrow()[usize::from(number)].clone();
        let worker = &pool.first().worker;
        let mut main = None;
        let task = || {
            main = Some(
                TaskBuilder::new()
                    .name(String::from(&*host))
                    .spawn_local(task),
            )
        };
        run_apart(|| worker.enter(task));
        self.collect(number, worker);
        Ok(Program {
            executor: Rc::new(executor),
            _main: main,
        })
    }

    fn main_has_ended(&self, place: Place, ended: Result<(), Box<dyn Any + Send>>) {
        let is_current = |machines: &mut Machines| {
            let machine = &machines.all[place.host];
            let is_watched = Arc::strong_count(&machine.watched) > 1;
            (machine.start == place.start).then(|| (is_watched, machine.name.clone()))
        };
        let Some((is_watched, name)) = self.machines(is_current) else {
            return;
        };
        let end = match ended {
            Ok(()) => HostEnd::Returned,
            Err(payload) if is_watched => HostEnd::Panicked(String::from(message(&*payload))),
            Err(payload) => return self.fail(Kind::HostPanic(name, self.payload(payload))),
        };
        self.stop(place.host, Power::Idle, end);
    }

    pub(crate) fn stop(&self, number: usize, power: Power, end: HostEnd) {
        assert!(
            number != Place::MAIN.host,
            "the main future's host cannot be stopped"
        );
        // What was kept for it ends with it.
        self.resume(number, None);
        let (place, program) = self.network(|network| network.stop(self, number, power, end));
        let pools = self.pools.all.borrow();
        let own = pools
            .iter()
            .filter(|pool| pool.place == place && !pool.has_ended.get());
        let own: Vec<_> = own.map(|pool| pool.id).collect();
        drop(pools);
        let is_call = |due: &Due| matches!(&due.work, Work::Call(call) if call.0 == place);
        let calls = self.withdraw(is_call);
        self.end_calls_of(place);
        run_apart(|| {
            for id in own {
                self.shut_down(id);
            }
            drop(calls);
            drop(program);
        });
    }

    /// Returns whether what runs at a place was killed, or has ended.
    pub(super) fn is_gone(&self, place: Place) -> bool {
        self.machines(|machines| {
            let machine = machines.all.get(place.host);
            machine.is_none_or(|machine| machine.start != place.start)
        })
    }

    /// Runs a call that may block, as code of the place that it was made at.
    pub(super) fn run_call(&self, call: Runnable) {
        let executor = self.machines(|machines| {
            let program = machines.all[self.stage.place.get().host].program.as_ref();
            program.map(|program| program.executor.clone())
        });
        match executor {
            Some(executor) => drop(executor.enter(|| call.run())),
            None => drop(call.run()),
        }
    }
}
