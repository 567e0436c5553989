//! [`Plan`]: how one run of a check is made, and the text by which it is replayed.

use alloc::{format, string::String, vec::Vec};
use core::{fmt, iter, num::ParseIntError, str::FromStr};
use std::{env, path::Path, sync::OnceLock};

use super::{
    super::{
        chance::{About, Chance, Decision},
        scheduler::Scheduler,
        settings::Builder,
    },
    swarm::Swarm,
    test_name,
};

/// An upper bound of the number of decisions of one kind in a run.
const MOST_PLACES: u32 = 1 << 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) seed: u64,
    how: How,
    /// What the run has of the faults of the check, if not all.
    swarm: Option<Swarm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Random,
    RoundRobin,
    Pct {
        depth: u32,
        expected: u64,
    },
    /// These decisions, and after them those of another seed, or else the tamest.
    List(Vec<Decision>, Option<u64>),
}

impl Plan {
    pub(super) fn nth(number: u64, seed: u64, expected: u64) -> Self {
        let how = match number % 4 {
            0 => How::Random,
            1 => How::Pct { depth: 2, expected },
            2 => How::Pct { depth: 3, expected },
            _ => How::RoundRobin,
        };
        let swarm = None;
        Self { seed, how, swarm }
    }

    /// The plan of the same run, with a part of the faults only.
    pub(super) fn swarming(self) -> Self {
        Self {
            swarm: Some(Swarm::draw(self.seed)),
            ..self
        }
    }

    /// Returns the plan of a run with these decisions. The seed decides what is drawn after them.
    pub(super) fn list(&self, decisions: &[Decision]) -> Self {
        Self {
            how: How::List(decisions.to_vec(), None),
            ..self.clone()
        }
    }

    /// Returns the plan of a run that is as this one, which has made these decisions, up to some
    /// point, or but for one decision.
    pub(super) fn mutant(&self, decisions: &[Decision], mut draw: impl FnMut() -> u32) -> Self {
        let at = draw() as usize % decisions.len().max(1);
        let mut decisions = decisions.to_vec();
        let how = match draw() % 2 {
            0 => {
                decisions.truncate(at);
                How::List(decisions, Some(draw().into()))
            }
            _ => {
                // All orders of magnitude are as likely.
                let made = draw() >> (draw() % u32::BITS);
                decisions
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|one| one.made = made.into());
                How::List(decisions, None)
            }
        };
        Self {
            how,
            ..self.clone()
        }
    }

    pub(super) fn of(&self, settings: &Builder) -> Builder {
        let faults = &settings.faults;
        let swarm = self.swarm.as_ref();
        let own = Builder {
            seed: self.seed,
            replay: Some(Self::command_of(&self.to_string())),
            faults: swarm.map_or_else(|| faults.clone(), |swarm| swarm.of(faults)),
            ..settings.clone()
        };
        match self.how {
            How::Random | How::List(..) => own.scheduler(Scheduler::Random),
            How::RoundRobin => own.scheduler(Scheduler::RoundRobin),
            How::Pct { depth, expected } => {
                let scheduler = Scheduler::Pct { depth };
                own.scheduler(scheduler).expected_steps(expected)
            }
        }
    }

    /// Returns the command for a replay with this text.
    pub(super) fn command_of(replay: &str) -> String {
        match test_name() {
            Some(test) => format!(
                "JOINT_SIM_REPLAY={replay} cargo test{} {test} -- --exact",
                target()
            ),
            None => format!("JOINT_SIM_REPLAY={replay}, in the environment of the same program"),
        }
    }

    /// Returns the number of decisions that are not the tamest, if the plan has decisions.
    pub(super) fn wild(&self) -> usize {
        match &self.how {
            How::List(decisions, _) => decisions.iter().filter(|one| one.is_wild()).count(),
            _ => 0,
        }
    }

    /// Returns the last of these draws that is set, and not just the seed's.
    fn last_set(&self, draws: &[u64]) -> Option<usize> {
        let mut chance = Chance::new(self.seed);
        let all = draws.iter().enumerate();
        let set = all.filter(|(_, draw)| **draw != chance.random().0);
        set.map(|(at, _)| at).last()
    }

    pub(super) fn chance(&self) -> Chance {
        let mut chance = Chance::new(self.seed);
        if let How::List(decisions, after) = &self.how {
            chance.replay(decisions);
            // What a run of the shrinking has made counts.
            chance.keep();
            if let Some(seed) = *after {
                chance.draw_after(seed);
            }
        }
        chance
    }
}

/// Returns the options of `cargo test` for the package and the target of this test, as far as they
/// are known. Without the package, no test runs in a workspace whose root has another one.
fn target() -> &'static str {
    static TARGET: OnceLock<String> = OnceLock::new();
    TARGET.get_or_init(|| {
        let Ok(package) = env::var("CARGO_PKG_NAME") else {
            return String::new();
        };
        match test_target() {
            Some(target) => format!(" -p {package} --test {target}"),
            None => format!(" -p {package}"),
        }
    })
}

/// Returns the name of this program if it is an integration test of its package.
fn test_target() -> Option<String> {
    let program = env::current_exe().ok()?;
    let (name, _hash) = program.file_stem()?.to_str()?.rsplit_once('-')?;
    let tests = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("tests");
    let is_test = |path: &str| tests.join(path).exists();
    let is_own = is_test(&format!("{name}.rs")) || is_test(&format!("{name}/main.rs"));
    is_own.then(|| name.into())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.seed;
        match &self.how {
            How::Random => write!(f, "random:{seed}")?,
            How::RoundRobin => write!(f, "round-robin:{seed}")?,
            How::Pct { depth, expected } => write!(f, "pct:{depth}:{expected}:{seed}")?,
            How::List(decisions, after) => {
                match after {
                    Some(after) => write!(f, "branch:{seed}:{after}:")?,
                    None => write!(f, "list:{seed}:")?,
                }
                let mut comma = "";
                // Each kind is counted on its own.
                for (about, letter) in About::ALL {
                    let own = decisions.iter().filter(|one| one.about == about);
                    let mut own: Vec<_> = own.map(|one| one.made).collect();
                    let mut last = None;
                    if about == About::Draw {
                        // It is told even if it is 0: the draws of the seed follow it.
                        last = self.last_set(&own);
                        own.truncate(last.map_or(0, |last| last + 1));
                    }
                    let own = own.iter().enumerate();
                    for (at, made) in own.filter(|&(at, made)| *made != 0 || last == Some(at)) {
                        write!(f, "{comma}{letter}{at}={made}")?;
                        comma = ",";
                    }
                }
            }
        }
        match &self.swarm {
            Some(swarm) => write!(f, "/{swarm}"),
            None => Ok(()),
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    let wrong = |error: ParseIntError| format!("\"{text}\": {error}");
    text.parse().map_err(wrong)
}

fn small(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|error| format!("{error}"))
}

fn decisions(list: &str) -> Result<Vec<Decision>, String> {
    let mut decisions = Vec::new();
    for one in list.split(',').filter(|one| !one.is_empty()) {
        let (place, made) = one.split_once('=').ok_or("a decision without `=`")?;
        let known = About::ALL
            .iter()
            .find(|(_, letter)| place.starts_with(*letter));
        let (about, _) = *known.ok_or("a place without its letter")?;
        let (at, made) = (small(&place[1..])?, number(made)?);
        if at >= MOST_PLACES {
            return Err(format!("there is no place {at}"));
        }
        let own = decisions
            .iter()
            .filter(|one: &&Decision| one.about == about);
        let missing = (at as usize).checked_sub(own.count());
        let missing = missing.ok_or("places that do not ascend")?;
        decisions.extend(iter::repeat_n(Decision { about, made: 0 }, missing));
        decisions.push(Decision { about, made });
    }
    Ok(decisions)
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (text, swarm) = match text.split_once('/') {
            Some((text, swarm)) => (text, Some(swarm.parse()?)),
            None => (text, None),
        };
        let parts: Vec<_> = text.split(':').collect();
        let (seed, how) = match parts[..] {
            ["random", seed] => (seed, How::Random),
            ["round-robin", seed] => (seed, How::RoundRobin),
            ["pct", depth, expected, seed] => {
                let (depth, expected) = (small(depth)?, number(expected)?);
                (seed, How::Pct { depth, expected })
            }
            ["list", seed, list] => (seed, How::List(decisions(list)?, None)),
            ["branch", seed, after, list] => {
                (seed, How::List(decisions(list)?, Some(number(after)?)))
            }
            _ => {
                return Err(
                    "it is none of random:SEED, round-robin:SEED, pct:DEPTH:STEPS:SEED, \
                    list:SEED:PLACE=DECISION,... and branch:SEED:SEED:PLACE=DECISION,..."
                        .into(),
                );
            }
        };
        let seed = number(seed)?;
        Ok(Self { seed, how, swarm })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        for text in [
            "random:0",
            "round-robin:18446744073709551615",
            "pct:3:240:17",
            "list:4:",
            "list:4:o0=1,o17=300",
            "list:4:o2=1,d0=7,p9=1,s1=1,n3=12",
            "pct:3:240:17/d20t0y3f6",
            "list:4:o0=1/d0",
            "branch:4:18:o2=1,d0=7",
            "list:4:o2=1,r3=17,r4=18446744073709551615,r19=0/d0",
        ] {
            assert_eq!(text.parse::<Plan>().unwrap().to_string(), text);
        }
        let zeros = [0, 2, 0, 0, 1, 0].map(|made| Decision {
            about: About::Order,
            made,
        });
        let mut chance = Chance::new(1);
        chance.keep();
        for _ in 0..9 {
            chance.random();
        }
        let zeros = [&zeros[..], &chance.made()].concat();
        let zeros = Plan::nth(0, 1, 9).list(&zeros);
        assert_eq!(zeros.to_string(), "list:1:o1=2,o4=1");
    }

    #[test]
    fn the_strategies_take_turns() {
        let plans: Vec<_> = (0..5).map(|n| Plan::nth(n, n, 9).to_string()).collect();
        let expected = [
            "random:0",
            "pct:2:9:1",
            "pct:3:9:2",
            "round-robin:3",
            "random:4",
        ];
        assert_eq!(plans, expected);
    }

    #[test]
    fn a_malformed_plan_is_rejected() {
        for text in [
            "",
            "17",
            "random",
            "pct:3:17",
            "random:x",
            "list:4:o7",
            "list:4:7=1",
            "list:4:x7=1",
            "list:4:o7=1,o7=2",
            "list:1:o0=-1",
        ] {
            assert!(text.parse::<Plan>().is_err(), "{text}");
        }
    }
}
