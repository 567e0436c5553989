//! [`Link`]: how messages travel between two hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    chance::{About, Chance},
    clock::after,
    faults::Fault,
    reached::Reached,
    world::World,
};

/// How long messages take, drawn for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// All messages take the same time.
    Constant(Duration),
    /// All times from the first to the second are equally likely.
    Uniform(Duration, Duration),
    /// An exponential distribution: most messages take little more than `least`, and few take much
    /// more than `mean`, up to about eleven times.
    Exponential {
        /// The shortest time.
        least: Duration,
        /// The mean of all times.
        mean: Duration,
    },
}

/// The number of different times that a distribution gives.
const STEPS: usize = 1 << 16;

impl Latency {
    fn draw(self, chance: &mut Chance) -> u64 {
        let nanos = |time| after(0, time);
        match self {
            Self::Constant(time) => nanos(time),
            Self::Uniform(least, most) => {
                let span = u128::from(nanos(most).saturating_sub(nanos(least)));
                let part = chance.below(About::Network, STEPS) as u128;
                nanos(least) + (span * part / (STEPS - 1) as u128) as u64
            }
            Self::Exponential { least, mean } => {
                let above = nanos(mean).saturating_sub(nanos(least)) as f64;
                let left = (STEPS - chance.below(About::Network, STEPS)) as f64 / STEPS as f64;
                nanos(least) + (above * -ln(left)) as u64
            }
        }
    }
}

/// The natural logarithm of a number above 0 and at most 1. That of std differs between systems in
/// the last bits.
fn ln(mut x: f64) -> f64 {
    let mut halvings = 0.0;
    while x < 0.75 {
        x *= 2.0;
        halvings += 1.0;
    }
    let t = (x - 1.0) / (x + 1.0);
    let square = t * t;
    let (mut power, mut sum) = (t, 0.0);
    for odd in 0..12 {
        sum += power / f64::from(2 * odd + 1);
        power *= square;
    }
    2.0 * sum - halvings * std::f64::consts::LN_2
}

/// How messages travel from one host to another: their latency, and what happens to datagrams.
///
/// Without settings, a message takes 0.5 to 2 ms, and none is lost, doubled or held back. Datagrams
/// can overtake each other, because each has a latency of its own.
///
/// A stream loses nothing and keeps its order. If a part of it is lost it is sent again, 200 ms
/// later at first, and then after twice that time.
///
/// # Panics
/// The methods panic if a probability is not between 0 and 1.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Host, net::{self, Latency, Link, UdpSocket}};
/// use joint_executor::time::timeout;
/// use std::time::Duration;
///
/// let [least, mean] = [1, 20].map(Duration::from_millis);
/// let arrived = sim::run(1, async move {
///     let bad = Link::new().latency(Latency::Exponential { least, mean }).loss(0.3);
///     net::set_default_link(bad.duplication(0.1).reordering(0.1));
///     let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
///     Host::new("a").run(|| async {
///         let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
///         for message in 0..100 {
///             socket.send_to(&[message], "main:7").await.unwrap();
///         }
///     });
///     let mut arrived = Vec::new();
///     let mut message = [0];
///     while let Ok(Ok(_)) = timeout(100 * mean, socket.recv(&mut message)).await {
///         arrived.push(message[0]);
///     }
///     arrived
/// });
/// assert!(arrived.len() < 100);
/// assert!(!arrived.is_sorted());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a link has no effect until it is passed to `set_link` or `set_default_link`"]
pub struct Link {
    latency: Latency,
    loss: f64,
    duplication: f64,
    reordering: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl Link {
    /// Creates a link with a latency of 0.5 to 2 ms and without faults.
    pub const fn new() -> Self {
        Self {
            latency: Latency::Uniform(Duration::from_micros(500), Duration::from_millis(2)),
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
        }
    }

    /// Sets how long messages take.
    pub const fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// Sets the probability with which a message is lost.
    pub fn loss(mut self, probability: f64) -> Self {
        self.loss = checked(probability);
        self
    }

    /// Sets the probability with which a datagram arrives twice.
    pub fn duplication(mut self, probability: f64) -> Self {
        self.duplication = checked(probability);
        self
    }

    /// Sets the probability with which a datagram is held back for ten more latencies, so that
    /// later ones overtake it.
    pub fn reordering(mut self, probability: f64) -> Self {
        self.reordering = checked(probability);
        self
    }
}

fn checked(probability: f64) -> f64 {
    let is_probability = (0.0..=1.0).contains(&probability);
    assert!(is_probability, "{probability} is no probability");
    probability
}

/// The latency between two sockets of one host, in nanoseconds.
const LOOPBACK: u64 = 10_000;

/// The delay before a stream first resends a lost part, in nanoseconds.
pub(super) const RESEND: u64 = 200_000_000;

/// The largest number of times that a part of a stream is sent.
const MOST_SENDS: u32 = 10;

/// A direction: from one host to another.
pub(crate) type Way = (usize, usize);

/// How a datagram, or its double, arrives.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    /// The delay in nanoseconds. `None` if it is lost, or there is no double.
    pub(super) after: Option<u64>,
    /// The fault that has decided it.
    pub(super) fault: Option<Fault>,
}

#[derive(Default)]
pub(crate) struct Links {
    pub(crate) default: Link,
    pub(crate) own: BTreeMap<Way, Link>,
    /// The ways on which nothing arrives until they are healed.
    pub(crate) cut: BTreeSet<Way>,
    /// The ways that a fault has cut, with the times at which it did.
    pub(crate) broken: BTreeMap<Way, u64>,
    /// The times until which nothing arrives, by direction.
    clogged: BTreeMap<Way, u64>,
}

impl Links {
    fn link(&self, way: Way) -> &Link {
        self.own.get(&way).unwrap_or(&self.default)
    }

    pub(crate) fn cut(&mut self, way: Way) {
        if way.0 != way.1 {
            self.cut.insert(way);
        }
    }

    pub(super) fn is_cut(&self, way: Way) -> bool {
        self.cut.contains(&way) || self.broken.contains_key(&way)
    }

    pub(crate) fn clog(&mut self, way: Way, until: u64) {
        let clogged = self.clogged.entry(way).or_insert(until);
        *clogged = until.max(*clogged);
    }

    /// Until when nothing arrives, if that is later than now.
    pub(super) fn clogged_until(&self, world: &World, way: Way) -> Option<u64> {
        let until = *self.clogged.get(&way)?;
        (until > world.now()).then_some(until)
    }

    /// Draws how long a message takes that is not lost.
    pub(super) fn latency(&self, world: &World, way: Way) -> u64 {
        if way.0 == way.1 {
            return LOOPBACK;
        }
        self.link(way).latency.draw(&mut world.chance())
    }

    /// Draws how long a part of a stream takes, with all the times that it is sent.
    pub(super) fn stream_delay(&self, world: &World, way: Way) -> u64 {
        let loss = match way.0 == way.1 {
            true => 0.0,
            false => self.link(way).loss.max(world.rate(Fault::Loss)),
        };
        let mut delay = 0;
        for resent in 0..MOST_SENDS {
            if !world.chance().happens(About::Network, loss) {
                break;
            }
            delay += RESEND << resent;
        }
        delay + self.latency(world, way)
    }

    /// Draws how a datagram arrives, and its double.
    pub(super) fn datagram_arrivals(&self, world: &World, way: Way) -> [Arrival; 2] {
        let arrives = |after, fault| Arrival { after, fault };
        if way.0 == way.1 {
            return [arrives(Some(LOOPBACK), None), arrives(None, None)];
        }
        let link = self.link(way);
        let delay = || {
            let is_held_back = world.chance().happens(About::Network, link.reordering);
            let latencies = if is_held_back { 11 } else { 1 };
            (0..latencies).map(|_| self.latency(world, way)).sum()
        };
        let happens = |usual: f64, fault| {
            let rate = world.rate(fault);
            let happens = world.chance().happens(About::Network, usual.max(rate));
            (happens, (happens && rate > 0.0).then_some(fault))
        };
        let (is_lost, loss) = happens(link.loss, Fault::Loss);
        let is_late = loss.is_some() && world.chance().below(About::Network, 2) == 1;
        let first = match is_lost {
            false => Some(delay()),
            true if is_late => {
                world.reach(Reached::Late.text().into());
                Some(delay() + world.some_lateness())
            }
            true => None,
        };
        let (is_doubled, doubling) = happens(link.duplication, Fault::Duplicate);
        let second = is_doubled.then(|| {
            world.reach(Reached::Duplicate.text().into());
            delay() + doubling.map_or(0, |_| world.some_lateness())
        });
        [arrives(first, loss), arrives(second, doubling)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right() {
        for part in 1..=1000 {
            let x = f64::from(part) / 1000.0;
            assert!((ln(x) - x.ln()).abs() < 1e-12, "{x}");
        }
    }
}
