//! Fences: as ends of synchronizes-with edges, and as what restores sequential consistency.

use axioms::{
    Location,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    Program, Register,
};

use crate::{allows, allows_values, races};

/// Two accesses with a fence between them, if there is one.
type Fence = Option<Ordering>;

fn fence(code: &mut axioms::Code<'_>, ordering: Fence) {
    ordering
        .into_iter()
        .for_each(|ordering| code.fence(ordering));
}

/// Message passing on relaxed accesses, with fences.
fn message_passing(publish: Fence, observe: Fence) -> bool {
    let mut program = Program::new("MP+fences");
    let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        fence(code, publish);
        code.store(flag, 1, Relaxed);
    });
    program.thread("reader", |code| {
        let seen = code.load(flag, Relaxed);
        code.when(seen, 1, |code| {
            fence(code, observe);
            code.read(data)
        });
    });
    races(&program)
}

#[test]
fn a_release_fence_and_an_acquire_fence_pass_a_message() {
    let releases = [Release, AcqRel, SeqCst];
    let acquires = [Acquire, AcqRel, SeqCst];
    let all = || {
        Ordering::ALL
            .into_iter()
            .filter(|&ordering| ordering != Relaxed)
    };
    for publish in [None].into_iter().chain(all().map(Some)) {
        for observe in [None].into_iter().chain(all().map(Some)) {
            let released = publish.is_some_and(|ordering| releases.contains(&ordering));
            let acquired = observe.is_some_and(|ordering| acquires.contains(&ordering));
            let races = message_passing(publish, observe);
            assert_eq!(races, !(released && acquired), "{publish:?}, {observe:?}");
        }
    }
}

#[test]
fn a_fence_and_an_access_synchronize_too() {
    let weak = |store: Ordering, released: Fence, load: Ordering, acquired: Fence| {
        let mut program = Program::new("MP+fence+access");
        let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
        program.thread("writer", |code| {
            code.write(data, 1);
            fence(code, released);
            code.store(flag, 1, store);
        });
        program.thread("reader", |code| {
            let seen = code.load(flag, load);
            fence(code, acquired);
            code.when(seen, 1, |code| code.read(data));
        });
        races(&program)
    };
    assert!(!weak(Relaxed, Some(Release), Acquire, None));
    assert!(!weak(Release, None, Relaxed, Some(Acquire)));
    assert!(weak(Relaxed, Some(Acquire), Acquire, None));
}

#[test]
fn a_fence_on_the_wrong_side_of_the_access_orders_nothing() {
    let mut program = Program::new("MP+late fence");
    let (data, flag) = (program.plain("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.store(flag, 1, Relaxed);
        code.fence(SeqCst);
    });
    program.thread("reader", |code| {
        let seen = code.load(flag, Acquire);
        code.when(seen, 1, |code| code.read(data));
    });
    assert!(races(&program));
}

#[test]
fn a_release_fence_heads_a_release_sequence() {
    let mut program = Program::new("fence, store, exchange");
    let (data, x) = (program.plain("data", 0), program.atomic("x", 0));
    program.thread("writer", |code| {
        code.write(data, 1);
        code.fence(Release);
        code.store(x, 1, Relaxed);
    });
    program.thread("other", |code| code.fetch_add(x, 1, Relaxed));
    program.thread("reader", |code| {
        let seen = code.load(x, Relaxed);
        code.when(seen, 2, |code| {
            code.fence(Acquire);
            code.read(data)
        });
    });
    assert!(!races(&program));
}

/// The handshake of sleeping workers: one announces work and looks for sleepers, the other
/// announces its sleep and looks for work. If both miss each other, the work is never found.
/// It is store buffering with fences.
fn both_miss(poster: Fence, sleeper: Fence) -> bool {
    let mut program = Program::new("sleeping workers");
    let (work, asleep) = (program.atomic("work", 0), program.atomic("asleep", 0));
    let mut side = |name: &str, own: Location, other: Location, ordering: Fence| -> Register {
        program.thread(name, |code| {
            code.store(own, 1, Relaxed);
            fence(code, ordering);
            code.load(other, Relaxed)
        })
    };
    let sleepers = side("poster", work, asleep, poster);
    let found = side("sleeper", asleep, work, sleeper);
    allows_values(&program, &[(sleepers, 0), (found, 0)])
}

#[test]
fn sleeping_workers_need_a_seq_cst_fence_on_both_sides() {
    assert!(!both_miss(Some(SeqCst), Some(SeqCst)));
    for weak in [None, Some(Acquire), Some(Release), Some(AcqRel)] {
        assert!(both_miss(Some(SeqCst), weak), "{weak:?}");
        assert!(both_miss(weak, Some(SeqCst)), "{weak:?}");
    }
}

/// Store buffering with `SeqCst` accesses on one side and a fence on the other (RC11: `psc` treats
/// both alike).
#[test]
fn a_seq_cst_fence_faces_seq_cst_accesses() {
    let weak = |store: Ordering, load: Ordering| {
        let mut program = Program::new("SB+access+fence");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        let a = program.thread("accesses", |code| {
            code.store(x, 1, store);
            code.load(y, load)
        });
        let b = program.thread("fence", |code| {
            code.store(y, 1, Relaxed);
            code.fence(SeqCst);
            code.load(x, Relaxed)
        });
        allows_values(&program, &[(a, 0), (b, 0)])
    };
    assert!(!weak(SeqCst, SeqCst));
    assert!(weak(SeqCst, Acquire) && weak(Release, SeqCst));
}

/// RWC and IRIW with fences: C11 as it was allowed both, for its fences did not restore
/// interleaving (RC11).
#[test]
fn read_to_write_causality_with_two_seq_cst_fences() {
    let weak = |second: Fence, third: Fence| {
        let mut program = Program::new("RWC+fences");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        program.thread("first", |code| code.store(x, 1, Relaxed));
        let (a, b) = program.thread("second", |code| {
            let a = code.load(x, Relaxed);
            fence(code, second);
            (a, code.load(y, Relaxed))
        });
        let c = program.thread("third", |code| {
            code.store(y, 1, Relaxed);
            fence(code, third);
            code.load(x, Relaxed)
        });
        allows_values(&program, &[(a, 1), (b, 0), (c, 0)])
    };
    assert!(!weak(Some(SeqCst), Some(SeqCst)));
    assert!(weak(Some(SeqCst), Some(AcqRel)) && weak(Some(AcqRel), Some(SeqCst)));
}

/// W+RWC: the same, where the first thread passes its write on through a flag: `hb; eco; hb`
/// between the fences.
#[test]
fn a_seq_cst_fence_sees_what_was_released_to_its_thread() {
    let weak = |publish: Ordering| {
        let mut program = Program::new("W+RWC");
        let (x, y, z) = (
            program.atomic("x", 0),
            program.atomic("y", 0),
            program.atomic("z", 0),
        );
        program.thread("first", |code| {
            code.store(x, 1, Relaxed);
            code.store(z, 1, publish);
        });
        let (a, b) = program.thread("second", |code| {
            let a = code.load(z, Acquire);
            code.fence(SeqCst);
            (a, code.load(y, Relaxed))
        });
        let c = program.thread("third", |code| {
            code.store(y, 1, Relaxed);
            code.fence(SeqCst);
            code.load(x, Relaxed)
        });
        allows_values(&program, &[(a, 1), (b, 0), (c, 0)])
    };
    assert!(!weak(Release));
    assert!(weak(Relaxed));
}

#[test]
fn independent_reads_agree_with_seq_cst_fences_between_them() {
    let weak = |ordering: Ordering| {
        let mut program = Program::new("IRIW+fences");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        for location in [x, y] {
            program.thread("writer", |code| code.store(location, 1, Relaxed));
        }
        let mut reader = |first, second| {
            program.thread("reader", |code| {
                let seen = code.load(first, Relaxed);
                code.fence(ordering);
                (seen, code.load(second, Relaxed))
            })
        };
        let ((a, b), (c, d)) = (reader(x, y), reader(y, x));
        allows_values(&program, &[(a, 1), (b, 0), (c, 1), (d, 0)])
    };
    assert!(!weak(SeqCst));
    assert!(weak(AcqRel));
}

#[test]
fn two_writes_each_are_ordered_by_seq_cst_fences() {
    let weak = |ordering: Ordering| {
        let mut program = Program::new("2+2W+fences");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        for (first, second) in [(x, y), (y, x)] {
            program.thread("writer", |code| {
                code.store(first, 1, Relaxed);
                code.fence(ordering);
                code.store(second, 2, Relaxed);
            });
        }
        allows(&program, |end| end.last(x) == 1 && end.last(y) == 1)
    };
    assert!(!weak(SeqCst));
    assert!(weak(AcqRel));
}
