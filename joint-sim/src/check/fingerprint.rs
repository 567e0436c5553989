//! [`Fingerprint`]: what a replay must do to be the run that failed.

use std::{fmt, str::FromStr};

use super::super::{disk_event::mixed, trace::Trace};

/// The number of steps of a run that failed, and digests of what it had done after some of them.
/// The last step does not count: what is different there may be the failure itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    steps: u64,
    digest: u32,
    /// The last byte of the digest after each of these [`places`].
    checks: Vec<u8>,
}

/// The largest number of places.
const MOST: u64 = 32;

/// The steps after which a run of so many steps is compared.
fn places(steps: u64) -> impl Iterator<Item = u64> {
    let (all, count) = (steps.saturating_sub(1), MOST.min(steps.saturating_sub(1)));
    (1..=count).map(move |number| all * number / count)
}

impl Fingerprint {
    /// Returns the fingerprint of a run after this many steps, or at its end.
    pub(super) fn of(trace: &Trace, steps: u64) -> Self {
        let mut events = trace.events.iter().peekable();
        let mut digest = 0;
        let after = |place| {
            while let Some(event) = events.next_if(|event| event.step <= place) {
                if let Some(word) = event.what.word() {
                    digest = mixed(digest, event.at ^ u64::from(event.actor.0) << 40);
                    digest = mixed(digest, word);
                }
            }
            digest as u8
        };
        Self {
            steps,
            checks: places(steps).map(after).collect(),
            digest: (digest >> 32) as u32,
        }
    }

    /// Says from which step on a run is another one, if it is.
    pub(super) fn difference(&self, trace: &Trace) -> Option<String> {
        let own = Self::of(trace, self.steps);
        if own == *self {
            return None;
        }
        let pairs = own.checks.iter().zip(&self.checks);
        let same = pairs.take_while(|(own, check)| own == check).count();
        let place = |number| places(self.steps).nth(number);
        let before = same.checked_sub(1).and_then(place).unwrap_or(0);
        // A byte may be the same by chance, but the digest of all is not.
        let by = place(same).unwrap_or(self.steps);
        let text = match by - before {
            1 => format!("not the run that failed: it differs from step {by} on"),
            _ => format!(
                "not the run that failed: it differs from a step between {} and {by} on",
                before + 1
            ),
        };
        let why = match trace.real().is_empty() {
            true => "so the program is another one, or the seed does not decide everything",
            false => "which may be due to what it did for real, as listed below",
        };
        Some(format!("{text}, {why}\n"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}-", self.steps, self.digest)?;
        self.checks
            .iter()
            .try_for_each(|check| write!(f, "{check:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (steps, rest) = text.split_once('-')?;
            let (digest, checks) = rest.split_once('-')?;
            let checks = checks.as_bytes().chunks(2).map(|two| {
                let two = std::str::from_utf8(two).ok()?;
                u8::from_str_radix(two, 16).ok()
            });
            let own = Self {
                steps: steps.parse().ok()?,
                digest: u32::from_str_radix(digest, 16).ok()?,
                checks: checks.collect::<Option<_>>()?,
            };
            (own.checks.len() == places(own.steps).count()).then_some(own)
        };
        read().ok_or_else(|| format!("{text:?} is not the end of a replay that a report has"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use joint_executor::yield_now;

    fn trace(seed: u64, steps: u64) -> Trace {
        let run = Builder::new(seed).trace(true).run(async move {
            for step in 0..steps {
                if step == 40 && seed == 2 {
                    joint_executor::spawn(async {}).detach();
                }
                yield_now().await;
            }
        });
        run.unwrap().trace.unwrap()
    }

    #[test]
    fn a_fingerprint_is_read_as_it_was_written_and_knows_its_run() {
        for steps in [0, 1, 2, 30, 500] {
            let (trace, steps) = (trace(1, steps), steps + 1);
            let own = Fingerprint::of(&trace, steps);
            assert_eq!(own.to_string().parse(), Ok(own.clone()));
            assert_eq!(own.difference(&trace), None);
        }
        for text in ["", "1", "1-2-3", "9-00000000-00", "2-0-zz", "2-0-€"] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_difference_has_the_step_from_which_on_it_is_there() {
        let own = Fingerprint::of(&trace(1, 500), 501);
        let text = own.difference(&trace(2, 500)).unwrap();
        assert!(
            text.contains("differs from a step between 32 and 46 on"),
            "{text}"
        );
        let own = Fingerprint::of(&trace(1, 20), 21);
        let text = own.difference(&trace(1, 8)).unwrap();
        assert!(text.contains("differs from step 9 on"), "{text}");
    }
}
