//! Wakers against a run: the last poll sees what happened before every wake-up, and there is no
//! superfluous poll.

use super::{
    race::{
        Act::{Run, Tell},
        TOLD, TOLD_AFTER_A_YIELD, race,
    },
    world::By,
};

races! {
    wake_by_reference_against_run: race(TOLD, &[Tell(1, By::Reference)], Run).runs(1..=2);
    wake_by_value_against_run: race(TOLD, &[Tell(1, By::Value)], Run).runs(1..=2);
    two_wakes_by_reference_against_run:
        race(TOLD, &[Tell(1, By::Reference); 2], Run).within(3).runs(1..=3);
    two_wakes_by_value_against_run:
        race(TOLD, &[Tell(1, By::Value); 2], Run).within(3).runs(1..=3);
    clones_against_run: race(TOLD, &[Tell(2, By::Value)], Run).within(4).runs(1..=3);
    self_wake_against_wake:
        race(TOLD_AFTER_A_YIELD, &[Tell(1, By::Value)], Run).within(4).runs(2..=3);
}
