//! How a worker parks that has found nothing to run.
//!
//! | it has seen work that it could not take | the others | it is the only lookout | it parks |
//! |---|---|---|---|
//! | more than [`LOOKS`](crate::policy::LOOKS) times in a row | | | for a time, whatever is due: the thread that has the work may need this processor |
//! | just now | run, or the driver may wake one | yes | for a time: if that work stays where it is, nobody else would find it |
//! | no | make progress | yes | for a time: their next poll may be long |
//! | any other case | | | without a limit, until it is woken |
//!
//! Instead of parking without a limit, it parks for a time while it finds another worker on a
//! *visit* to the driver, and none asleep there: a visitor wakes nobody when it leaves, and its
//! next poll may be long. The only lookout does so while another one visits the driver frequently,
//! which would otherwise wake it each time (`attend.rs`).
//!
//! It does not park at all if there is something of its own to do, if the driver is left meanwhile,
//! or, without a limit, if it was the last lookout and there is any work (`sleep.rs`).

/// The work that a worker has seen, and could not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    Work,
    /// The same, and so often in a row that the worker should stand back.
    InVain,
}

/// Whether the other workers run, and get on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// None runs, and nothing is due by itself, because the driver is not used.
    Quiet,
    Run,
    /// They run, and a count of polls has changed.
    Progress,
}

/// The state of the executor to a worker that has found nothing, before it parks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) left: Left,
    pub(super) others: Others,
    pub(super) is_only_lookout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Without a limit.
    Sleep,
    /// For a time, as a lookout.
    Watch,
    /// The same, whatever is due.
    StandBack,
}

impl Sight {
    /// `is_visited` says whether the driver is only visited, or left to a visitor.
    pub(super) fn manner(self, is_visited: bool) -> Manner {
        match (self.left, self.others, self.is_only_lookout) {
            (Left::InVain, _, _) => Manner::StandBack,
            (Left::Work, Others::Run | Others::Progress, true) => Manner::Watch,
            (Left::Nothing, Others::Progress, true) => Manner::Watch,
            _ if is_visited => Manner::Watch,
            _ => Manner::Sleep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sight_has_its_manner() {
        use Manner::{Sleep, StandBack, Watch};

        // As the only lookout, and beside another.
        for (left, others, manners) in [
            (Left::Nothing, Others::Quiet, [Sleep, Sleep]),
            (Left::Nothing, Others::Run, [Sleep, Sleep]),
            (Left::Nothing, Others::Progress, [Watch, Sleep]),
            (Left::Work, Others::Quiet, [Sleep, Sleep]),
            (Left::Work, Others::Run, [Watch, Sleep]),
            (Left::Work, Others::Progress, [Watch, Sleep]),
            (Left::InVain, Others::Quiet, [StandBack, StandBack]),
            (Left::InVain, Others::Run, [StandBack, StandBack]),
            (Left::InVain, Others::Progress, [StandBack, StandBack]),
        ] {
            for (is_only_lookout, manner) in [true, false].into_iter().zip(manners) {
                let sight = Sight {
                    left,
                    others,
                    is_only_lookout,
                };
                let beside_visitor = if manner == Sleep { Watch } else { manner };
                let found = [false, true].map(|is_visited| sight.manner(is_visited));
                assert_eq!(found, [manner, beside_visitor], "{sight:?}");
            }
        }
    }
}
