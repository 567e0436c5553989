//! The facts about an execution that no litmus test asks for.

use axioms::{Execution, Model, explore, language::parse_large};

use crate::notation::Litmus;

fn executions(text: &str) -> Vec<Execution> {
    let typed = parse_large(text).expect("it is a program");
    explore(&typed.program, Model::Rc11)
}

#[test]
#[should_panic(expected = "more than 64 events")]
fn more_events_than_a_row_of_bits_holds_are_refused() {
    executions(&format!(
        "atomic x thread {{ {} }}",
        "x.store(1, Relaxed)\n".repeat(70)
    ));
}

/// What a compare-exchange writes, and with which ordering it reads, depends on what it finds.
#[test]
fn a_compare_exchange_is_an_exchange_or_a_load() {
    let judged = |success: &str, failure: &str| {
        let all = executions(&format!(
            "plain data
            atomic x
            thread writer {{ data = 1; x.store(1, Release) }}
            thread first {{ a = x.compare_exchange(1, 2, {success}, Relaxed) if a == 1 {{ c = data }} }}
            thread second {{ b = x.compare_exchange(0, 3, Relaxed, {failure}) if b == 2 {{ d = data }} }}",
        ));
        let both = |end: &Execution| {
            let registers = end.registers();
            (registers[1][0], registers[2][0]) == (Some(1), Some(0))
        };
        assert!(all.iter().any(both), "both can succeed");
        [1, 2].map(|thread| {
            let mut reads = all
                .iter()
                .filter(|end| end.registers()[thread][1].is_some());
            assert!(reads.clone().count() > 0, "{success} {failure}");
            reads.any(|end| {
                let mut races = end.races().iter();
                races.any(|race| end.events()[race.other].thread == Some(thread))
            })
        })
    };
    assert_eq!(judged("Acquire", "Acquire"), [false, false]);
    assert_eq!(judged("Acquire", "Relaxed"), [false, true]);
    assert_eq!(judged("Relaxed", "Acquire"), [true, false]);
}

/// Two writers race, too, exactly once. An initial value never races.
#[test]
fn two_plain_writes_race_once() {
    let all = executions("plain a thread { a = 1 } thread { a = 2 }");
    assert_eq!(all.len(), 2, "one for each order");
    for end in all {
        let [race] = end.races() else {
            panic!("{:?}", end.races())
        };
        assert_eq!((race.write, race.other), (1, 2));
        assert_eq!(
            end.missing_edges(race),
            [],
            "neither has seen anything of the other"
        );
    }
}

/// Which halves of its edge a message over relaxed accesses lacks: release, acquire.
fn lacks(text: &str) -> Option<[bool; 2]> {
    let all = explore(Litmus::new(text, &[]).program(), Model::Rc11);
    let racy = all.iter().find(|end| !end.races().is_empty())?;
    let [missing] = racy.missing_edges(&racy.races()[0])[..] else {
        panic!("one edge")
    };
    Some([missing.lacks_release, missing.lacks_acquire])
}

#[test]
fn a_fence_counts_as_a_half_between_the_two_accesses_only() {
    for (text, halves) in [
        ("D=1; x=1 | a=x; if a=1: b=D", Some([true, true])),
        ("D=1; F.rel; x=1 | a=x; if a=1: b=D", Some([false, true])),
        ("D=1; x=1 | a=x; F.acq; if a=1: b=D", Some([true, false])),
        (
            "D=1; F.acq; x=1 | a=x; F.rel; if a=1: b=D",
            Some([true, true]),
        ),
        ("D=1; F.rel; x=1 | a=x; F.acq; if a=1: b=D", None),
        // It orders what is before it, and not the write of the race.
        (
            "F.rel; D=1; x=1 | a=x.acq; if a=1: b=D",
            Some([true, false]),
        ),
    ] {
        assert_eq!(lacks(text), halves, "{text}");
    }
}
