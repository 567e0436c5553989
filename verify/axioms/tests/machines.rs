//! Litmus tests on machines, each with the verdict of the architecture's model: x86-TSO, Armv8,
//! POWER, RISC-V, in this order. Names as in *Understanding POWER Multiprocessors* (PLDI 2011) and
//! *Herding Cats* (TOPLAS 2014).

use axioms::{
    Code, Execution, Location, Machine,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    Program, Register, Value,
};

const NOWHERE: [bool; 4] = [false; 4];
/// Where a thread's own accesses are reordered.
const WEAK: [bool; 4] = [false, true, true, true];
/// Where a write can reach one thread before another.
const POWER_ALONE: [bool; 4] = [false, false, true, false];

fn verdicts(program: &Program, end: impl Fn(&Execution) -> bool) -> [bool; 4] {
    Machine::ALL.map(|machine| machine.explore(program).iter().any(&end))
}

fn values(program: &Program, wanted: &[(Register, Value)]) -> [bool; 4] {
    let holds = |end: &Execution| {
        let mut wanted = wanted.iter();
        wanted.all(|&(register, value)| end.value(register) == Some(value))
    };
    verdicts(program, holds)
}

/// The dependency that keeps a load's successor after it.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    Nothing,
    Address,
    Control,
    Fence(Ordering),
}

impl Link {
    fn load(self, code: &mut Code<'_>, found: Register, from: Location) -> Register {
        match self {
            Self::Nothing => code.load(from, Relaxed),
            Self::Address => code.through(found).load(from, Relaxed),
            Self::Control => code.when(found, 1, |code| code.load(from, Relaxed)),
            Self::Fence(ordering) => {
                code.fence(ordering);
                code.load(from, Relaxed)
            }
        }
    }

    fn store(self, code: &mut Code<'_>, found: Register, to: Location) {
        match self {
            Self::Nothing => code.store(to, 1, Relaxed),
            Self::Address => code.through(found).store(to, 1, Relaxed),
            Self::Control => code.when(found, 1, |code| code.store(to, 1, Relaxed)),
            Self::Fence(ordering) => {
                code.fence(ordering);
                code.store(to, 1, Relaxed);
            }
        }
    }
}

/// SB: each thread writes one location and reads the other. May both find the initial values?
fn store_buffering(between: Option<Ordering>, ordering: (Ordering, Ordering)) -> [bool; 4] {
    let mut program = Program::new("SB");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |own, other| {
        program.thread("side", |code| {
            code.store(own, 1, ordering.0);
            between.into_iter().for_each(|fence| code.fence(fence));
            code.load(other, ordering.1)
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    values(&program, &[(r1, 0), (r2, 0)])
}

#[test]
fn every_machine_buffers_stores_until_a_full_fence() {
    assert_eq!(store_buffering(None, (Relaxed, Relaxed)), [true; 4]);
    // RCpc everywhere but on Armv8, whose `stlr` and `ldar` stay in order.
    let release_acquire = store_buffering(None, (Release, Acquire));
    assert_eq!(release_acquire, [true, false, true, true]);
    assert_eq!(
        store_buffering(Some(AcqRel), (Relaxed, Relaxed)),
        [true, false, true, true],
        "on Armv8 the fence is a full one"
    );
    assert_eq!(store_buffering(Some(SeqCst), (Relaxed, Relaxed)), NOWHERE);
    assert_eq!(store_buffering(None, (SeqCst, SeqCst)), NOWHERE);
}

/// SB with exchanges for the writes: an exchange of two halves lets a later read come between them.
#[test]
fn an_exchange_is_a_full_barrier_only_where_it_is_one_access() {
    let with = |ordering| {
        let mut program = Program::new("SB with exchanges");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        let mut side = |own, other| {
            program.thread("side", |code| {
                code.swap(own, 1, ordering);
                code.load(other, Relaxed)
            })
        };
        let (r1, r2) = (side(x, y), side(y, x));
        values(&program, &[(r1, 0), (r2, 0)])
    };
    assert_eq!(with(Relaxed), WEAK);
    assert_eq!(with(AcqRel), [false, true, true, false]);
    assert_eq!(with(SeqCst), [false, true, true, false]);
}

/// MP: a writer, and a reader that sees the flag. May the reader miss the data?
fn message_passing(publish: Ordering, observe: Ordering, link: Link) -> [bool; 4] {
    let mut program = Program::new("MP");
    let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, publish);
    });
    let (seen, read) = program.thread("reader", |code| {
        let seen = code.load(flag, observe);
        (seen, link.load(code, seen, data))
    });
    values(&program, &[(seen, 1), (read, 0)])
}

#[test]
fn a_message_needs_a_release_and_an_acquire_or_an_address() {
    assert_eq!(message_passing(Relaxed, Relaxed, Link::Nothing), WEAK);
    assert_eq!(message_passing(Release, Relaxed, Link::Nothing), WEAK);
    assert_eq!(message_passing(Relaxed, Acquire, Link::Nothing), WEAK);
    assert_eq!(message_passing(Relaxed, Relaxed, Link::Address), WEAK);
    assert_eq!(message_passing(Release, Acquire, Link::Nothing), NOWHERE);
    assert_eq!(message_passing(Release, Relaxed, Link::Address), NOWHERE);
    let fence = Link::Fence(Acquire);
    assert_eq!(message_passing(Release, Relaxed, fence), NOWHERE);
}

#[test]
fn a_branch_keeps_no_read_after_it() {
    assert_eq!(message_passing(Release, Relaxed, Link::Control), WEAK);
}

/// LB: each thread reads one location and writes the other. May both find what the other wrote?
fn load_buffering(link: Link) -> [bool; 4] {
    let mut program = Program::new("LB");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |from, to| {
        program.thread("side", |code| {
            let found = code.load(from, Relaxed);
            link.store(code, found, to);
            found
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    values(&program, &[(r1, 1), (r2, 1)])
}

#[test]
fn loads_are_buffered_unless_something_depends_on_them() {
    assert_eq!(load_buffering(Link::Nothing), WEAK);
    assert_eq!(load_buffering(Link::Address), NOWHERE);
    assert_eq!(load_buffering(Link::Control), NOWHERE);
    assert_eq!(load_buffering(Link::Fence(Acquire)), NOWHERE);
}

#[test]
fn no_value_is_its_own_cause() {
    let mut program = Program::new("LB+datas");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |from, to| {
        program.thread("side", |code| {
            let found = code.load(from, Relaxed);
            code.store(to, found, Relaxed);
            found
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    // A third thread, so that the text has the value.
    program.thread("never", |code| {
        let zero = code.load(x, Relaxed);
        code.when(zero, 7, |code| code.store(x, 1, Relaxed));
    });
    assert_eq!(values(&program, &[(r1, 1), (r2, 1)]), NOWHERE);
}

/// IRIW: two writers, two readers. May these see the writes in different orders?
fn independent_reads(observe: Ordering, link: Link) -> [bool; 4] {
    let mut program = Program::new("IRIW");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    for place in [x, y] {
        program.thread("writer", |code| code.store(place, 1, Relaxed));
    }
    let mut reader = |first, second| {
        program.thread("reader", |code| {
            let seen = code.load(first, observe);
            (seen, link.load(code, seen, second))
        })
    };
    let ((a, b), (c, d)) = (reader(x, y), reader(y, x));
    values(&program, &[(a, 1), (b, 0), (c, 1), (d, 0)])
}

#[test]
fn writes_reach_all_threads_at_once_except_on_power() {
    assert_eq!(independent_reads(Relaxed, Link::Nothing), WEAK);
    assert_eq!(independent_reads(Relaxed, Link::Address), POWER_ALONE);
    assert_eq!(independent_reads(Acquire, Link::Nothing), POWER_ALONE);
    let light = Link::Fence(AcqRel);
    assert_eq!(independent_reads(Relaxed, light), POWER_ALONE);
    let full = Link::Fence(SeqCst);
    assert_eq!(independent_reads(Relaxed, full), NOWHERE);
}

/// WRC: a second thread passes on what it saw of the first. May a third miss it?
fn write_to_read(pass: Link) -> [bool; 4] {
    let mut program = Program::new("WRC");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    program.thread("first", |code| code.store(x, 1, Relaxed));
    let saw = program.thread("second", |code| {
        let saw = code.load(x, Relaxed);
        pass.store(code, saw, y);
        saw
    });
    let (told, read) = program.thread("third", |code| {
        let told = code.load(y, Relaxed);
        (told, code.through(told).load(x, Relaxed))
    });
    values(&program, &[(saw, 1), (told, 1), (read, 0)])
}

#[test]
fn a_barrier_passes_on_what_its_thread_saw_and_a_dependency_does_not() {
    assert_eq!(write_to_read(Link::Nothing), WEAK);
    assert_eq!(write_to_read(Link::Address), POWER_ALONE);
    assert_eq!(write_to_read(Link::Fence(AcqRel)), NOWHERE);
}

/// Two threads that each write two locations or one, and what stays: 2+2W, S, R.
#[test]
fn writes_stay_in_order_on_x86_and_between_releases() {
    let writes = |second: Ordering| {
        let mut program = Program::new("2+2W");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        for (first, then) in [(x, y), (y, x)] {
            program.thread("side", |code| {
                code.store(first, 2, Relaxed);
                code.store(then, 1, second);
            });
        }
        verdicts(&program, |end| end.last(x) == 2 && end.last(y) == 2)
    };
    assert_eq!(writes(Relaxed), WEAK);
    assert_eq!(writes(Release), NOWHERE);
}

#[test]
fn a_dependent_write_is_ordered_after_the_published_write() {
    let s = |publish: Ordering, link: Link| {
        let mut program = Program::new("S");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        program.thread("first", |code| {
            code.store(x, 2, Relaxed);
            code.store(y, 1, publish);
        });
        let seen = program.thread("second", |code| {
            let seen = code.load(y, Relaxed);
            link.store(code, seen, x);
            seen
        });
        let end = |end: &Execution| end.value(seen) == Some(1) && end.last(x) == 2;
        verdicts(&program, end)
    };
    assert_eq!(s(Release, Link::Nothing), WEAK);
    assert_eq!(s(Relaxed, Link::Control), WEAK);
    assert_eq!(s(Release, Link::Control), NOWHERE);
}

/// R: two writes in order against a write and a read, which only a full fence keeps in order on all
/// machines.
#[test]
fn a_light_barrier_is_not_enough_for_a_write_before_a_read() {
    let r = |first: Ordering, second: Ordering| {
        let mut program = Program::new("R");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        program.thread("writer", |code| {
            code.store(x, 1, Relaxed);
            code.fence(first);
            code.store(y, 1, Relaxed);
        });
        let read = program.thread("reader", |code| {
            code.store(y, 2, Relaxed);
            code.fence(second);
            code.load(x, Relaxed)
        });
        verdicts(&program, |end| {
            end.last(y) == 2 && end.value(read) == Some(0)
        })
    };
    // As in the model of POWER: `lwsync` in the writer is not enough, even with `sync` in the
    // reader.
    assert_eq!(r(AcqRel, SeqCst), POWER_ALONE);
    assert_eq!(r(SeqCst, AcqRel), [true, false, true, true]);
    assert_eq!(r(SeqCst, SeqCst), NOWHERE);
}

/// PPOCA: a thread can already read its own write while the write waits for a branch.
#[test]
fn a_write_is_forwarded_before_its_branch_is_decided_where_branches_are_foreseen() {
    let mut program = Program::new("PPOCA");
    let (data, flag, own) = (
        program.atomic("data", 0),
        program.atomic("flag", 0),
        program.atomic("own", 0),
    );
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, Release);
    });
    let (seen, read) = program.thread("reader", |code| {
        let seen = code.load(flag, Relaxed);
        let read = code.when(seen, 1, |code| {
            code.store(own, 1, Relaxed);
            let back = code.load(own, Relaxed);
            code.through(back).load(data, Relaxed)
        });
        (seen, read)
    });
    assert_eq!(values(&program, &[(seen, 1), (read, 0)]), WEAK);
}

#[test]
fn one_location_is_coherent_everywhere() {
    let mut program = Program::new("CoRR");
    let x = program.atomic("x", 0);
    program.thread("writer", |code| code.store(x, 1, Relaxed));
    let (first, second) = program.thread("reader", |code| {
        (code.load(x, Relaxed), code.load(x, Relaxed))
    });
    assert_eq!(values(&program, &[(first, 1), (second, 0)]), NOWHERE);
}

#[test]
fn exchanges_lose_nothing_anywhere() {
    let mut program = Program::new("two additions");
    let x = program.atomic("x", 0);
    for _ in 0..2 {
        program.thread("adds", |code| code.fetch_add(x, 1, Relaxed));
    }
    assert_eq!(verdicts(&program, |end| end.last(x) != 2), NOWHERE);
}

/// LB with a read of a place that the first read names, before the write: the address could still
/// turn out to be the same.
#[test]
fn a_write_waits_for_the_addresses_before_it() {
    let mut program = Program::new("LB+addr-pos");
    let (x, y, z) = (
        program.atomic("x", 0),
        program.atomic("y", 0),
        program.atomic("z", 0),
    );
    let mut side = |from, to| {
        program.thread("side", |code| {
            let found = code.load(from, Relaxed);
            code.through(found).load(z, Relaxed);
            code.store(to, 1, Relaxed);
            found
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    assert_eq!(values(&program, &[(r1, 1), (r2, 1)]), NOWHERE);
}

/// MP whose reader does something between the flag and the data, which it reads through an address.
/// Other threads write 2 to the reader's place.
fn message_by_way_of(
    way: impl FnOnce(&mut Code<'_>, Register, Location) -> (Vec<Register>, Register),
    found: &[Value],
) -> [bool; 4] {
    let mut program = Program::new("MP by a way");
    let (data, flag, own) = (
        program.atomic("data", 0),
        program.atomic("flag", 0),
        program.atomic("own", 0),
    );
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, Release);
    });
    let (seen, on_the_way, read) = program.thread("reader", |code| {
        let seen = code.load(flag, Relaxed);
        let (on_the_way, pointer) = way(code, seen, own);
        (seen, on_the_way, code.through(pointer).load(data, Relaxed))
    });
    program.thread("other", |code| code.store(own, 2, Relaxed));
    let on_the_way = on_the_way.into_iter().zip(found.iter().copied());
    let wanted: Vec<_> = [(seen, 1), (read, 0)]
        .into_iter()
        .chain(on_the_way)
        .collect();
    values(&program, &wanted)
}

#[test]
fn a_read_back_of_a_dependent_write_carries_the_dependency() {
    let way = |code: &mut Code<'_>, seen: Register, own: Location| {
        code.store(own, seen, Relaxed);
        let back = code.load(own, Relaxed);
        (vec![back], back)
    };
    assert_eq!(message_by_way_of(way, &[1]), NOWHERE);
    // DETOUR: it reads back another thread's write, which came after its own.
    assert_eq!(message_by_way_of(way, &[2]), NOWHERE);
}

/// RDW and RSW: two reads of one place stay in order if they find different writes.
#[test]
fn two_reads_of_one_place_stay_in_order_if_they_differ() {
    let way = |code: &mut Code<'_>, seen: Register, own: Location| {
        let first = code.through(seen).load(own, Relaxed);
        let second = code.load(own, Relaxed);
        (vec![first, second], second)
    };
    assert_eq!(message_by_way_of(way, &[0, 2]), NOWHERE);
    assert_eq!(message_by_way_of(way, &[0, 0]), WEAK);
}

#[test]
fn a_relaxed_exchange_continues_a_release_sequence() {
    let mut program = Program::new("MP+exchange");
    let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, Release);
    });
    let between = program.thread("between", |code| code.swap(flag, 2, Relaxed));
    let (seen, read) = program.thread("reader", |code| {
        (code.load(flag, Acquire), code.load(data, Relaxed))
    });
    assert_eq!(
        values(&program, &[(between, 1), (seen, 2), (read, 0)]),
        NOWHERE
    );
}

/// SB with exchanges whose results their own threads then read back. On RISC-V a thread cannot read
/// the write of its exchange before other threads can see it. On Armv8 an acquire that reads it
/// comes after the read of the exchange, but not after its write: `rmw; rfi; [A]`.
#[test]
fn power_and_armv8_forward_the_write_of_an_exchange_early() {
    let back = |ordering: Ordering| {
        let mut program = Program::new("SB+exchanges-rfi-addrs");
        let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
        let mut side = |own, other| {
            program.thread("side", |code| {
                code.swap(own, 1, Relaxed);
                let back = code.load(own, ordering);
                (back, code.through(back).load(other, Relaxed))
            })
        };
        let ((a, b), (c, d)) = (side(x, y), side(y, x));
        values(&program, &[(a, 1), (b, 0), (c, 1), (d, 0)])
    };
    assert_eq!(back(Acquire), [false, true, true, false]);
    assert_eq!(back(Relaxed), [false, true, true, false]);
}

#[test]
fn a_releasing_exchange_stays_before_an_acquiring_one() {
    let mut program = Program::new("SB with two exchanges each");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let mut side = |own, other| {
        program.thread("side", |code| {
            code.swap(own, 1, Release);
            code.fetch_add(other, 0, Acquire)
        })
    };
    let (r1, r2) = (side(x, y), side(y, x));
    assert_eq!(values(&program, &[(r1, 0), (r2, 0)]), NOWHERE);
}

/// LB with an exchange that reads its own thread's write on the way.
#[test]
fn an_exchange_is_ordered_after_the_dependency_of_the_write_it_reads() {
    let mut program = Program::new("LB+data-rfi-exchange+addr");
    let (x, own) = (program.atomic("x", 0), program.atomic("own", 0));
    let (found, exchanged) = program.thread("first", |code| {
        let found = code.load(x, Relaxed);
        code.store(own, found, Relaxed);
        (found, code.swap(own, 2, Relaxed))
    });
    let seen = program.thread("second", |code| {
        let seen = code.load(own, Relaxed);
        code.through(seen).store(x, 1, Relaxed);
        seen
    });
    let end = values(&program, &[(found, 1), (exchanged, 1), (seen, 2)]);
    assert_eq!(end, NOWHERE);
}

/// MP whose reader exchanges the flag and reads its own write back by an acquire.
#[test]
fn an_acquire_of_its_own_exchange_is_ordered_after_the_exchanges_read() {
    let with = |back: Ordering| {
        let mut program = Program::new("MP+exchange-rfi");
        let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
        program.thread("writer", |code| {
            code.store(data, 1, Relaxed);
            code.store(flag, 1, Release);
        });
        let (seen, own, read) = program.thread("reader", |code| {
            let seen = code.swap(flag, 2, Relaxed);
            let own = code.load(flag, back);
            (seen, own, code.load(data, Relaxed))
        });
        values(&program, &[(seen, 1), (own, 2), (read, 0)])
    };
    assert_eq!(with(Acquire), NOWHERE);
    // An exchange of RISC-V that has no `.aq` lets a later read pass.
    assert_eq!(with(Relaxed), [false, true, true, true]);
}

/// MP whose writer publishes by a release, and then writes the flag once more. In C++20 that write
/// is no part of the release, but each machine keeps it after everything that the release waits
/// for.
#[test]
fn a_write_to_the_same_location_stays_after_an_earlier_releases_accesses() {
    let mut program = Program::new("MP+release-coi");
    let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, Release);
        code.store(flag, 2, Relaxed);
    });
    let (seen, read) = program.thread("reader", |code| {
        let seen = code.load(flag, Acquire);
        (seen, code.load(data, Relaxed))
    });
    assert_eq!(values(&program, &[(seen, 2), (read, 0)]), NOWHERE);
}

/// LB with a write that depends on a read value, and then another write of the same place.
#[test]
fn a_write_to_the_same_location_stays_after_an_earlier_writes_dependency() {
    let mut program = Program::new("LB+data-coi+data");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    let found = program.thread("first", |code| {
        let found = code.load(x, Relaxed);
        code.store(y, found, Relaxed);
        code.store(y, 2, Relaxed);
        found
    });
    let seen = program.thread("second", |code| {
        let seen = code.load(y, Relaxed);
        code.store(x, seen, Relaxed);
        seen
    });
    assert_eq!(values(&program, &[(found, 2), (seen, 2)]), NOWHERE);
}

/// 2+2W with exchanges.
#[test]
fn the_writes_of_exchanges_stay_in_order_on_power() {
    let mut program = Program::new("2+2W with exchanges");
    let (x, y) = (program.atomic("x", 0), program.atomic("y", 0));
    for (first, then) in [(x, y), (y, x)] {
        program.thread("side", |code| {
            code.swap(first, 2, Relaxed);
            code.swap(then, 1, Relaxed);
        });
    }
    let both = verdicts(&program, |end| end.last(x) == 2 && end.last(y) == 2);
    assert_eq!(both, [false, true, false, true]);
}

/// MP whose reader exchanges the flag and acquires: `lwarx, stwcx., bne, isync` on POWER, without a
/// compare of what was loaded.
#[test]
fn an_acquiring_exchange_is_an_import_barrier() {
    let mut program = Program::new("MP+acquiring exchange");
    let (data, flag) = (program.atomic("data", 0), program.atomic("flag", 0));
    program.thread("writer", |code| {
        code.store(data, 1, Relaxed);
        code.store(flag, 1, Release);
    });
    let (seen, read) = program.thread("reader", |code| {
        let seen = code.swap(flag, 2, Acquire);
        (seen, code.load(data, Relaxed))
    });
    assert_eq!(values(&program, &[(seen, 1), (read, 0)]), NOWHERE);
}
