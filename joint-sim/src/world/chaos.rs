//! What goes wrong with whole hosts and their links: crashes, cuts, and clocks that are wrong.

use alloc::{format, string::String, sync::Arc};
use core::{cell::Cell, time::Duration};

use super::{
    super::{
        chance::{About, Chance},
        clock::NEVER,
        faults::Fault,
        machine::{HostEnd, Machine, Place, Power},
        reached::Reached,
        record::{Actor, What},
    },
    World,
    faults::{Injected, LONGEST, some_delay},
    network::Network,
};

/// How often a run has each of them at most, so that a program makes progress after all.
pub(super) struct Left {
    kills: Cell<u32>,
    cuts: Cell<u32>,
    clocks: Cell<u32>,
}

impl Default for Left {
    fn default() -> Self {
        Self {
            kills: Cell::new(8),
            cuts: Cell::new(16),
            clocks: Cell::new(3),
        }
    }
}

/// Clocks are set again in one of this many polls in which the fault would happen.
const SET_AGAIN: f64 = 64.0;
/// Upper bounds, in nanoseconds, of the time that a host is down and of the time that a link is
/// cut.
const LONGEST_DOWN: u64 = 10_000_000_000;
const LONGEST_CUT: u64 = 30_000_000_000;
/// Upper bounds of what a clock is off, as powers of two: in milliseconds, and in millionths.
const OFFSET: u32 = 16;
const DRIFT: u32 = 10;

fn take(left: &Cell<u32>) {
    left.set(left.get() - 1);
}

/// Draws a time up to this one, of which all orders of magnitude are equally likely.
fn some_time(chance: &mut Chance, longest: u64) -> u64 {
    let decide = |draw: &mut dyn FnMut() -> u32| some_delay(draw, LONGEST);
    let part = chance.decide(About::Host, 1 << LONGEST, decide);
    (((part as u128) * u128::from(longest)) >> LONGEST) as u64
}

/// Draws a number with this many bits at most, of which all orders of magnitude are equally likely,
/// and its sign.
fn signed(chance: &mut Chance, bits: u32) -> i64 {
    let decide = |draw: &mut dyn FnMut() -> u32| some_delay(draw, LONGEST) >> (LONGEST - bits);
    let size = chance.decide(About::Host, 1 << bits, decide) as i64;
    match chance.below(About::Host, 2) {
        0 => size,
        _ => -size,
    }
}

impl World {
    pub(super) fn tell(&self, actor: Actor, fault: Fault, text: String) {
        self.count_fault(fault);
        self.note(actor, What::Told(Arc::new((Some(fault), text))));
    }

    /// Tells of a fault that the digest has in the events that it leads to.
    pub(super) fn tell_apart(&self, text: String) {
        self.note_last(What::Told(Arc::new((None, text))));
    }

    pub(super) fn host_name(&self, host: usize) -> Arc<str> {
        self.machines(|machines| machines.all[host].name.clone())
    }

    /// Decides what happens to the host of a task that is about to run, after its poll.
    pub(super) fn may_trouble(&self, injected: &Injected, actor: Actor) {
        let place = self.place();
        if place.host == Place::MAIN.host {
            return;
        }
        let left = &injected.left;
        let clocks = injected.rate(Fault::Clock) / SET_AGAIN;
        if left.clocks.get() > 0 && self.chance().happens(About::Host, clocks) {
            take(&left.clocks);
            self.set_some_clock(place.host);
        }
        let kills = injected.rate(Fault::Kill);
        let may_crash = |machine: &Machine| machine.may_crash;
        if kills > 0.0
            && left.kills.get() > 0
            && self.machines(|machines| may_crash(&machines.all[place.host]))
            && self.chance().happens(About::Host, kills)
        {
            take(&left.kills);
            self.tell_crash(actor, place.host);
            self.at(self.now(), move |world| world.crash(place));
        }
    }

    fn tell_crash(&self, actor: Actor, host: usize) {
        let name = self.host_name(host);
        self.tell(actor, Fault::Kill, format!("the host `{name}` crashes"));
    }

    fn crash(&self, place: Place) {
        if self.is_gone(place) {
            return;
        }
        let power = match self.chance().below(About::Host, 2) {
            0 => Power::Idle,
            _ => Power::Off,
        };
        self.stop(place.host, power, HostEnd::Killed);
        self.restart_later(place.host);
    }

    /// Starts a host again that is down, after some time, as whoever supervises it does.
    pub(crate) fn restart_later(&self, host: usize) {
        self.machines(|machines| machines.all[host].is_down = true);
        let delay = some_time(&mut self.chance(), LONGEST_DOWN);
        let at = self.now().saturating_add(delay).min(NEVER - 1);
        self.at(at, move |world| world.start_down(host));
    }

    fn start_down(&self, host: usize) {
        let starts = |machine: &Machine| machine.is_down && machine.power != Power::Running;
        if self.machines(|machines| starts(&machines.all[host])) {
            self.start(host);
        }
    }

    /// Decides whether the clocks of a host are wrong that starts for the first time.
    pub(super) fn may_set_clock(&self, host: usize) {
        let rate = self.rate(Fault::Clock);
        if self.chance().happens(About::Host, rate) {
            self.set_some_clock(host);
        }
    }

    fn set_some_clock(&self, host: usize) {
        let offset = signed(&mut self.chance(), OFFSET);
        let drift = signed(&mut self.chance(), DRIFT) as i32;
        let name = self.host_name(host);
        let wall = match offset {
            0 => String::from("to the true time"),
            1.. => format!("{offset} ms ahead of the true time"),
            _ => format!("{} ms behind the true time", -offset),
        };
        let rate = match drift {
            0 => String::from("have the true rate"),
            1.. => format!("gain {drift} µs each second"),
            _ => format!("lose {} µs each second", -drift),
        };
        let text = format!("the wall clock of `{name}` is set {wall}, and its clocks {rate}");
        self.tell(self.acting(), Fault::Clock, text);
        self.set_clock(host, offset, drift);
    }

    /// Decides whether links of two hosts are cut, when one has sent something to the other.
    pub(super) fn may_cut(&self, network: &mut Network, [from, to]: [usize; 2]) {
        let Some(injected) = self.injected.as_ref().filter(|_| from != to) else {
            return;
        };
        let rate = injected.rate(Fault::Cut);
        if injected.left.cuts.get() == 0 || !self.chance().happens(About::Host, rate) {
            return;
        }
        take(&injected.left.cuts);
        let all = 0..network.machines.all.len();
        let name = |host: usize| network.machines.all[host].name.clone();
        let (mut ways, what): (Vec<_>, _) = match self.chance().below(About::Host, 3) {
            0 => (
                [(from, to), (to, from)].into(),
                format!("between `{}` and `{}`", name(from), name(to)),
            ),
            1 => (
                [(from, to)].into(),
                format!("from `{}` to `{}`", name(from), name(to)),
            ),
            _ => {
                let others = all.filter(|&other| other != from);
                let ways = others.flat_map(|other| [(from, other), (other, from)]);
                (
                    ways.collect(),
                    format!("between `{}` and all others", name(from)),
                )
            }
        };
        let delay = some_time(&mut self.chance(), LONGEST_CUT);
        let lasts = Duration::from_nanos(delay);
        self.tell(
            self.acting(),
            Fault::Cut,
            format!("the link {what} is cut for {lasts:?}"),
        );
        let now = self.now();
        ways.retain(|&way| network.links.broken.insert(way, now).is_none());
        self.network_at(now.saturating_add(delay), move |world, network| {
            ways.retain(|way| network.links.broken.remove(way).is_some());
            network.resume(world, |way| ways.contains(&way));
        });
    }

    /// Crashes hosts that may crash, each or not.
    pub(crate) fn crash_some(&self) {
        if self.rate(Fault::Kill) <= 0.0 {
            return;
        }
        let places = |(host, machine): (usize, &Machine)| {
            let crashes = machine.may_crash && machine.power == Power::Running;
            crashes.then_some(Place {
                host,
                start: machine.start,
            })
        };
        let all = self.machines(|machines| {
            let all = machines.all.iter().enumerate();
            all.filter_map(places).collect::<Vec<_>>()
        });
        for place in all {
            if self.chance().happens(About::Host, 0.5) {
                self.tell_crash(self.acting(), place.host);
                self.crash(place);
            }
        }
    }

    /// Ends all faults for the rest of the run: links heal, and hosts go on that are down.
    pub(crate) fn heal(&self) {
        let Some(injected) = &self.injected else {
            return;
        };
        injected.is_calm.set(true);
        self.network(|network| {
            network.links.broken.clear();
            network.resume(self, |_| true);
            let all = network.machines.all.iter_mut();
            all.for_each(|machine| machine.disk.full_until = 0);
        });
        let paused = self.pauses_of_faults();
        paused.into_iter().for_each(|host| self.resume(host, None));
        let all = self.machines(|machines| machines.all.len());
        (0..all).for_each(|host| self.start_down(host));
        self.note_text("the faults end: links heal, and hosts start again that are down".into());
    }

    /// Returns how long something is late at most, in this run.
    pub(crate) fn longest_delay(&self) -> Duration {
        let injected = self.injected.as_ref();
        injected.map_or(Duration::ZERO, |injected| injected.longest_delay())
    }

    /// Counts that the run has come to something.
    pub(crate) fn reach(&self, what: alloc::borrow::Cow<'static, str>) {
        *self.ending.reached.borrow_mut().entry(what).or_default() += 1;
    }

    pub(super) fn count_fault(&self, fault: Fault) {
        if let Some(reached) = Reached::of(fault) {
            self.reach(reached.text().into());
        }
    }
}
