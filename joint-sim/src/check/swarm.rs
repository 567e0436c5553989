//! [`Swarm`]: which faults a run of a check has, and how often they happen.
//!
//! With all faults in all runs, a long program is never run without one, and one fault hides what
//! another would show. So each run has a part of the faults, with rates of its own (Groce et al.,
//! *Swarm Testing*, 2012).

use alloc::string::String;
use core::{fmt, str::FromStr};

use super::super::faults::{Fault, Faults, KINDS};

/// What one run has of the faults of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Swarm {
    /// How often the rate of a fault is halved, plus 1, so that it is doubled with 0. `None`: the
    /// fault does not happen.
    rates: [Option<u32>; KINDS.len()],
    /// How often the longest delay is halved.
    delay: u32,
}

/// The faults before this one a program only has to bear, so that they may happen more often than
/// the settings say.
const BORNE: usize = Fault::Cancelled as usize;
/// Upper bounds on the halvings of a rate and of the longest delay.
const MOST_HALVINGS: (u32, u32) = (6, 21);

impl Swarm {
    /// Draws the faults of the run with this seed. One run in five has none.
    pub(super) fn draw(seed: u64) -> Self {
        let mut state = seed;
        let mut below = |bound: u32| {
            // SplitMix64, so that the decisions of the run stay as they are.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) % u64::from(bound)) as u32
        };
        let has_any = below(5) > 0;
        let delay = below(MOST_HALVINGS.1);
        let mut rates = [None; KINDS.len()];
        for (kind, rate) in rates.iter_mut().enumerate() {
            let halved = match kind == Fault::Site as usize {
                // Rare or frequent: most programs reach a site only a few times.
                true => 4 * below(2),
                false => below(MOST_HALVINGS.0) + u32::from(kind >= BORNE),
            };
            *rate = (below(4) > 0 && has_any).then_some(halved);
        }
        Self { rates, delay }
    }

    pub(super) fn of(&self, faults: &Faults) -> Faults {
        let mut faults = faults.clone();
        faults.longest_delay /= 1 << self.delay;
        for (rate, halved) in faults.rates.iter_mut().zip(self.rates) {
            *rate = halved.map_or(0.0, |halved| 2.0 * *rate / f64::from(1 << halved));
            *rate = rate.min(1.0);
        }
        faults
    }
}

impl fmt::Display for Swarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "d{}", self.delay)?;
        for (kind, rate) in KINDS.iter().zip(self.rates) {
            if let Some(halved) = rate {
                write!(f, "{}{halved}", kind.letter)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Swarm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || String::from("the faults are not a letter and a small number each");
        let mut swarm = Self {
            rates: [None; KINDS.len()],
            delay: 0,
        };
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let end = rest.find(|c: char| !c.is_ascii_digit());
            let (halved, others) = rest.split_at(end.unwrap_or(rest.len()));
            let halved = halved.parse().ok().filter(|&halved| halved < u32::BITS - 1);
            let halved = halved.ok_or_else(wrong)?;
            match KINDS.iter().position(|own| own.letter == letter) {
                Some(kind) => swarm.rates[kind] = Some(halved),
                None if letter == 'd' => swarm.delay = halved,
                None => return Err(wrong()),
            }
            rest = others;
        }
        Ok(swarm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_in_five_has_no_fault_and_each_fault_all_rates() {
        let all: Vec<_> = (0..10_000).map(Swarm::draw).collect();
        let none = all.iter().filter(|one| one.of(&Faults::all()).is_none());
        assert!((1_800..2_200).contains(&none.count()));
        for kind in 0..KINDS.len() {
            let mut halved: Vec<_> = all.iter().filter_map(|one| one.rates[kind]).collect();
            assert!((5_700..6_300).contains(&halved.len()));
            halved.sort_unstable();
            halved.dedup();
            let rates = if kind == Fault::Site as usize { 2 } else { 6 };
            assert_eq!(halved.len(), rates);
        }
    }

    #[test]
    fn a_swarm_is_read_as_it_was_written() {
        for seed in 0..1_000 {
            let swarm = Swarm::draw(seed);
            assert_eq!(swarm.to_string().parse(), Ok(swarm));
        }
        for text in ["g1", "t", "t99", "1", "t1t"] {
            assert!(text.parse::<Swarm>().is_err(), "{text}");
        }
    }
}
