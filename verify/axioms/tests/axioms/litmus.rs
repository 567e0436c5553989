//! The classical litmus tests, each with the verdict that the literature gives it.
//!
//! The names are those of Sarkar, Sewell, Alglave, Maranget, Williams: *Understanding POWER
//! Multiprocessors* (PLDI 2011) and of Alglave, Maranget, Tautschnig: *Herding Cats* (TOPLAS 2014);
//! where a test is from another paper, it says so. "RC11" is Lahav, Vafeiadis, Kang, Hur, Dreyer:
//! *Repairing Sequential Consistency in C/C++11* (PLDI 2017).
//!
//! A line of a table has the name of a test and its program in the words of [`notation`]. Each line
//! after it asks for an end, and has cases: the orderings for the program's `$1`, `$2` and so on,
//! and then who allows the end. `#` starts a comment.
//!
//! [`notation`]: crate::notation

use axioms::{Execution, Machine, Model, Program, explore};

use crate::notation::{Litmus, is_ordering};

/// Who decides whether an end is allowed, by name.
type Judges<'j> = [(&'j str, &'j dyn Fn(&Program) -> Vec<Execution>)];

/// Checks all tests of a table. `short` has words for several judges.
fn check(table: &str, judges: &Judges<'_>, short: &[(&str, &[&str])]) {
    let mut test = ("", "");
    for line in table.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(asked) = line.strip_prefix("? ") else {
            test = line.split_once(": ").expect("a test has a name");
            continue;
        };
        let (end, cases) = asked.split_once(": ").expect("an end has cases");
        for case in cases.split(';') {
            let words: Vec<&str> = case.split_whitespace().collect();
            let (orderings, verdict): (Vec<&str>, Vec<&str>) =
                words.iter().partition(|word| is_ordering(word));
            let litmus = Litmus::new(test.1, &orderings);
            let allows = |executions: Vec<Execution>| {
                let mut all = executions.iter();
                all.any(|execution| litmus.ends(execution, end))
            };
            let found = judges
                .iter()
                .filter(|(_, all)| allows(all(litmus.program())));
            let found: Vec<&str> = found.map(|(name, _)| *name).collect();
            let expected = match verdict[..] {
                ["no"] => &[][..],
                [word] => short
                    .iter()
                    .find(|(name, _)| *name == word)
                    .map_or(&verdict[..], |(_, judges)| judges),
                _ => &verdict,
            };
            assert_eq!(found, expected, "{}: {} ? {end}:{case}", test.0, test.1);
        }
    }
}

/// What RC11 allows.
const LANGUAGE: &str = "
# One location alone behaves like one memory, however weak the accesses.
CoRR: x=1 | a=x; b=x
    ? a=0 b=1: yes
    ? a=1 b=0: no
CoRR2: x=1 | x=2 | a=x; b=x | c=x; d=x
    ? a=1 b=2 c=1 d=2: yes
    ? a=1 b=2 c=2 d=1: no
CoWW: x=1; x=2
    ? x=2: yes
    ? x=1: no
CoRW1: a=x; x=1
    ? a=1: no
CoRW2: x=1 | a=x; x=2
    ? a=1 x=2: yes
    ? a=1 x=1: no
CoWR: x=1 | x=2; a=x
    ? a=0: no
    ? a=1 x=1: yes
    ? a=1 x=2: no

# Exchanges are atomic.
two additions: a=x+1 | b=x+1
    ? a=0 b=1: yes
    ? a=1 b=0: yes
    ? a=0 b=0: no
    ? a=1 b=1: no
    ? x!=2: no
two lost updates: a=x; if a=0: x=1; if a=1: x=2 | b=x; if b=0: x=1; if b=1: x=2
    ? x=1: yes
    ? x=2: yes
swap against store: a=x<-1 | x=2
    ? a=0 x=2: yes
    ? a=2 x=1: yes
    ? a=0 x=1: no
three swaps hand each value on once: a=x<-1 | b=x<-2 | c=x<-3
    ? a=0 b=1 c=2 x=3: yes
    ? a=0 b=0: no
    ? a=0 c=0: no
    ? b=0 c=0: no
    ? a=3 b=3: no

# An exchange of any thread and any ordering continues a release sequence. A store of another thread
# breaks it, and an exchange after that does not mend it.
release sequence: D=1; x=1.rel | b=x+4 | a=x.acq; if a=5: c=D
    ? race: no
release sequence of two: D=1; x=1.rel | b=x+2 | c=x+2 | a=x.acq; if a=5: d=D
    ? race: no
broken release sequence: D=1; x=1.rel | b=x; if b=1: x=5 | a=x.acq; if a=5: c=D
    ? race: yes
broken and exchanged: D=1; x=1.rel | b=x; if b=1: x=2 | c=x+3 | a=x.acq; if a=5: d=D
    ? race: yes
# Up to C++17 a relaxed store of the same thread continued one. C++20 follows *P0982R1: Weaken
# Release Sequences*.
own store: D=1; x=1.rel; x=5.$1 | a=x.acq; if a=5: c=D
    ? race: rlx yes; rel no

# A release fence and an acquire fence pass a message.
MP+fences: D=1; F.$1; x=1 | a=x; if a=1: F.$2; if a=1: b=D
    ? race: rel acq no; rel acqrel no; rel sc no; acqrel acq no; acqrel acqrel no; acqrel sc no
    ? race: sc acq no; sc acqrel no; sc sc no
    ? race: none none yes; none acq yes; none rel yes; none acqrel yes; none sc yes
    ? race: acq none yes; acq acq yes; acq rel yes; acq acqrel yes; acq sc yes
    ? race: rel none yes; rel rel yes; acqrel none yes; acqrel rel yes; sc none yes; sc rel yes
MP+fence+access: D=1; F.$1; x=1.$2 | a=x.$3; F.$4; if a=1: b=D
    ? race: rel rlx acq none no; none rel rlx acq no; acq rlx acq none yes
MP+late fence: D=1; x=1; F.sc | a=x.acq; if a=1: b=D
    ? race: yes
fence, store, exchange: D=1; F.rel; x=1 | c=x+1 | a=x; if a=2: F.acq; if a=2: b=D
    ? race: no

# Store buffering with fences is the handshake of sleeping workers: one announces work and looks for
# sleepers, the other announces its sleep and looks for work. If both miss each other, the work is
# never found.
SB+fences: x=1; F.$1; a=y | y=1; F.$2; b=x
    ? a=0 b=0: sc sc no; sc none yes; sc acq yes; sc rel yes; sc acqrel yes
    ? a=0 b=0: none sc yes; acq sc yes; rel sc yes; acqrel sc yes
# RC11: `psc` treats accesses and fences alike.
SB+access+fence: x=1.$1; a=y.$2 | y=1; F.sc; b=x
    ? a=0 b=0: sc sc no; sc acq yes; rel sc yes
# RWC and IRIW with fences: C11 as it was allowed both, for its fences did not restore interleaving
# (RC11).
RWC+fences: x=1 | a=x; F.$1; b=y | y=1; F.$2; c=x
    ? a=1 b=0 c=0: sc sc no; sc acqrel yes; acqrel sc yes
IRIW+fences: x=1 | y=1 | a=x; F.$1; b=y | c=y; F.$1; d=x
    ? a=1 b=0 c=1 d=0: sc no; acqrel yes
# The first thread passes its write on through a flag: `hb; eco; hb` between the fences.
W+RWC: x=1; z=1.$1 | a=z.acq; F.sc; b=y | y=1; F.sc; c=x
    ? a=1 b=0 c=0: rel no; rlx yes
2+2W+fences: x=1; F.$1; y=2 | y=1; F.$1; x=2
    ? x=1 y=1: sc no; acqrel yes

# What only `SeqCst` rules out.
SB: x=1.$1; a=y.$2 | y=1.$1; b=x.$2
    ? a=0 b=0: rlx rlx yes; rel acq yes; sc acq yes; sc rlx yes; rel sc yes; sc sc no
# Exchanges instead of the stores order nothing between two locations, though x86 runs them as full
# fences.
SB+swaps: c=x<-1.$1; a=y.$2 | d=y<-1.$1; b=x.$2
    ? a=0 b=0: acqrel acq yes; sc sc no
IRIW: x=1.$1 | y=1.$1 | a=x.$2; b=y.$2 | c=y.$2; d=x.$2
    ? a=1 b=0 c=1 d=0: rlx rlx yes; rel acq yes; sc acq yes; sc sc no
2+2W: x=1.$1; y=2.$1 | y=1.$1; x=2.$1
    ? x=1 y=1: rlx yes; rel yes; sc no
R: x=1.$1; y=1.$1 | y=2.$1; a=x.$2
    ? y=2 a=0: rlx rlx yes; rel acq yes; sc sc no
RWC: x=1.$1 | a=x.$2; b=y.$2 | y=1.$1; c=x.$2
    ? a=1 b=0 c=0: rlx rlx yes; rel acq yes; sc sc no
# The path from one `SeqCst` event to the other begins and ends with program order. C++20 keeps it
# at one location as well, where RC11 does not.
SB+ra hop: x=1.sc; z=1.rel | a=z.acq; b=y.sc | y=1.sc; c=x.sc
    ? a=1 b=0 c=0: no
SB+ra hop at the locations: x=1.sc; x=2.rel | a=x.acq; b=y.sc | y=1.sc; c=x.sc
    ? a=2 b=0 c=0: no
# A `SeqCst` fence comes before what its thread's later stores are acquired by. By the letter, C++20
# orders the fence only before accesses of the location.
fence, then an acquired store: y=1; F.$1; x=1 | a=x.acq; z=1.sc | z=2.sc; b=y.sc
    ? a=1 z=2 b=0: sc no; rel yes
# Only the loads are `SeqCst`. C++20 orders them through the stores that they read (*coherence-ordered
# before*), where RC11 does not.
IRIW of SeqCst loads: x=1.$1 | y=1.$1 | a=x.sc; b=y.sc | c=y.sc; d=x.sc
    ? a=1 b=0 c=1 d=0: rlx no; rel no; sc no
IRIW of SeqCst loads, swaps: e=x<-1.$1 | f=y<-1.$1 | a=x.sc; b=y.sc | c=y.sc; d=x.sc
    ? a=1 b=0 c=1 d=0: rlx no; acqrel no; sc no
RWC of SeqCst loads: x=1.$1 | a=x.sc; b=y.sc | y=1.sc; c=x.sc
    ? a=1 b=0 c=0: rlx no; rel no; sc no
IRIW with one weak load: x=1.rel | y=1.rel | a=x.sc; b=y.$1 | c=y.sc; d=x.sc
    ? a=1 b=0 c=1 d=0: sc no; acq yes

# What a release and an acquire rule out.
MP: x=1; y=1.$1 | a=y.$2; b=x
    ? a=1 b=0: rlx rlx yes; rel rlx yes; rlx acq yes; rel acq no
MP+plain: D=1; x=1.$1 | a=x.$2; if a=1: b=D
    ? race: rlx rlx yes; rel rlx yes; rlx acq yes; rel acq no
MP+plain without the branch: D=1; x=1.rel | a=x.acq; b=D
    ? race: yes
# Happens-before counts in both directions: here the read comes first.
read, then write: a=D; x=1.rel | b=x.acq; if b=1: D=1
    ? race: no
S: x=2; y=1.$1 | a=y.$2; x=1
    ? a=1 x=2: rlx rlx yes; rel rlx yes; rlx acq yes; rel acq no
WRC+plain: D=1; x=1.$1 | a=x.$2; if a=1: y=1.$3 | b=y.$4; if b=1: c=D
    ? race: rel acq rel acq no; rlx acq rel acq yes; rel rlx rel acq yes
    ? race: rel acq rlx acq yes; rel acq rel rlx yes
# The first link may be relaxed, because coherence holds along happens-before.
WRC: x=1 | a=x; y=1.$1 | b=y.$2; c=x
    ? a=1 b=1 c=0: rlx rlx yes; rel rlx yes; rel acq no
ISA2: x=1; y=1.$1 | a=y.$2; z=1.$3 | b=z.$4; c=x
    ? a=1 b=1 c=0: rel acq rel acq no; rlx acq rel acq yes; rel rlx rel acq yes
    ? a=1 b=1 c=0: rel acq rlx acq yes; rel acq rel rlx yes
";

/// What the axiom that `po ∪ rf` has no cycle is for, and what it costs.
const THIN_AIR: &str = "
LB: a=x.$1; y=1.$2 | b=y.$1; x=1.$2
    ? a=1 b=1: rlx rlx buffering; acq rlx buffering; rlx rel buffering; acq rel no
LB+fences: a=x; F.$1; y=1 | b=y; F.$1; x=1
    ? a=1 b=1: acq buffering; rel buffering; acqrel no
# A thread copies a slot and then frees it. Another one uses it again once it sees that it is free,
# by a load or by an exchange of its own.
LB+exchange: a=x; b=y+1.$1 | c=y.$2; if c=1: x=7
    ? a=7: rel rlx buffering; rlx acq buffering; rlx rlx buffering; rel acq no
LB+exchanges: a=x; b=y+1.$1 | c=y+16.$2; if c=1: x=7
    ? a=7: rel rlx buffering; rlx acq buffering; rlx rlx buffering; rel acq no
# Both branches are taken because both are taken: out of thin air. The axiom forbids this and load
# buffering alike, because their graphs are the same.
LB+ctrls: a=x; if a=1: y=1 | b=y; if b=1: x=1
    ? a=1 b=1: buffering
# A value that some thread really writes can come from the copies alone.
LB+datas: a=x; y=a | b=y; x=b | c=z; if c=1: x=42
    ? a=42 b=42 c=0: buffering
two copies: x=7 | a=x; y=a | b=y; z=b | c=z
    ? c=7: turns rc11 buffering
# Z6.U (RC11): forbidden by C11 as it was, observable on POWER, so allowed by RC11. The exchange is
# `SeqCst` as well, but what was released to it is not, and happens-before alone orders no `SeqCst`
# events of two locations.
Z6.U: x=1.sc; y=1.rel | b=y+1.sc; c=y | y=3.sc; a=x.sc
    ? b=1 c=3 a=0: rc11 buffering
";

/// What the models of x86-TSO, Armv8, POWER, RISC-V and Alpha show.
const MACHINES: &str = "
# Every machine buffers stores until a full fence. RCpc everywhere but on Armv8, whose `stlr` and
# `ldar` stay in order, and whose fence is a full one, as each of Alpha's is.
SB: x=1.$1; F.$3; a=y.$2 | y=1.$1; F.$3; b=x.$2
    ? a=0 b=0: rlx rlx none all; rel acq none x86 power riscv alpha; rlx rlx acqrel x86 power riscv
    ? a=0 b=0: rlx rlx sc no; sc sc none no
# An exchange of two halves lets a later read come between them.
SB+exchanges: c=x<-1.$1; a=y | d=y<-1.$1; b=x
    ? a=0 b=0: rlx weak; acqrel armv8 power; sc armv8 power
SB with two exchanges each: c=x<-1.rel; a=y+0.acq | d=y<-1.rel; b=x+0.acq
    ? a=0 b=0: alpha
# On RISC-V a thread cannot read the write of its exchange before other threads can see it. On Armv8
# an acquire that reads it comes after the read of the exchange, but not after its write:
# `rmw; rfi; [A]`.
SB+exchanges-rfi-addrs: e=x<-1; a=x.$1; @a:b=y | f=y<-1; c=y.$1; @c:d=x
    ? a=1 b=0 c=1 d=0: acq armv8 power; rlx armv8 power alpha

# A message needs a release and an acquire or, but on Alpha, an address. A branch keeps no read
# after it.
MP: x=1; y=1.$1 | a=y.$2; b=x
    ? a=1 b=0: rlx rlx weak; rel rlx weak; rlx acq weak; rel acq no
MP+addr: x=1; y=1.$1 | a=y; @a:b=x
    ? a=1 b=0: rlx weak; rel alpha
MP+ctrl: x=1; y=1.rel | a=y; if a=1: b=x
    ? a=1 b=0: weak
MP+fence: x=1; y=1.rel | a=y; F.acq; b=x
    ? a=1 b=0: no
# A read back of a dependent write carries the dependency, also where it reads back another thread's
# write, which came after its own (DETOUR).
MP+rfi: x=1; y=1.rel | a=y; z=a; b=z; @b:c=x | z=2
    ? a=1 c=0 b=1: alpha
    ? a=1 c=0 b=2: alpha
# RDW and RSW: two reads of one place stay in order if they find different writes.
RDW: x=1; y=1.rel | a=y; @a:b=z; d=z; @d:c=x | z=2
    ? a=1 c=0 b=0 d=2: alpha
    ? a=1 c=0 b=0 d=0: weak
# A thread can already read its own write while the write waits for a branch.
PPOCA: x=1; y=1.rel | a=y; if a=1: z=1; if a=1: b=z; if a=1: @b:c=x
    ? a=1 c=0: weak
# A relaxed exchange continues a release sequence.
MP+exchange: x=1; y=1.rel | b=y<-2 | a=y.acq; c=x
    ? b=1 a=2 c=0: no
# The reader reads its own write back. An exchange of RISC-V that has no `.aq` lets a later read pass.
MP+exchange-rfi: x=1; y=1.rel | a=y<-2; b=y.$1; c=x
    ? a=1 b=2 c=0: acq no; rlx weak
# `lwarx, stwcx., bne, isync` on POWER, without a compare of what was loaded.
MP+acquiring exchange: x=1; y=1.rel | a=y<-2.acq; b=x
    ? a=1 b=0: no
# In C++20 the last write is no part of the release, but each machine keeps it after everything that
# the release waits for.
MP+release-coi: x=1; y=1.rel; y=2 | a=y.acq; b=x
    ? a=2 b=0: no

# Loads are buffered unless something depends on them. No value is its own cause.
LB: a=x; y=1 | b=y; x=1
    ? a=1 b=1: weak
LB+addrs: a=x; @a:y=1 | b=y; @b:x=1
    ? a=1 b=1: no
LB+ctrls: a=x; if a=1: y=1 | b=y; if b=1: x=1
    ? a=1 b=1: no
LB+fences: a=x; F.acq; y=1 | b=y; F.acq; x=1
    ? a=1 b=1: no
# The third thread is there so that the text has the value.
LB+datas: a=x; y=a | b=y; x=b | c=x; if c=7: x=1
    ? a=1 b=1: no
# The address of the read could still turn out to be the same.
LB+addr-pos: a=x; @a:c=z; y=1 | b=y; @b:d=z; x=1
    ? a=1 b=1: no
# An exchange reads its own thread's write on the way.
LB+data-rfi-exchange+addr: a=x; z=a; b=z<-2 | c=z; @c:x=1
    ? a=1 b=1 c=2: no
# A write that depends on a read value, and then another write of the same place.
LB+data-coi+data: a=x; y=a; y=2 | b=y; x=b
    ? a=2 b=2: no

# Writes reach all threads at once except on POWER. On Alpha it is the reads that are early.
IRIW: x=1 | y=1 | a=x.$1; F.$2; b=y | c=y.$1; F.$2; d=x
    ? a=1 b=0 c=1 d=0: rlx none weak; acq none power; rlx acqrel power; rlx sc no
IRIW+addrs: x=1 | y=1 | a=x; @a:b=y | c=y; @c:d=x
    ? a=1 b=0 c=1 d=0: power alpha
# A barrier passes on what its thread saw, and a dependency does not.
WRC+addr: x=1 | a=x; F.$1; y=1 | b=y; @b:c=x
    ? a=1 b=1 c=0: none weak; acqrel alpha
WRC+addrs: x=1 | a=x; @a:y=1 | b=y; @b:c=x
    ? a=1 b=1 c=0: power alpha

# Writes stay in order on x86, between releases, and after what they depend on.
2+2W: x=2; y=1.$1 | y=2; x=1.$1
    ? x=2 y=2: rlx weak; rel no
2+2W with exchanges: a=x<-2; b=y<-1 | c=y<-2; d=x<-1
    ? x=2 y=2: armv8 riscv alpha
S: x=2; y=1.rel | a=y; x=1
    ? a=1 x=2: weak
# Alpha's manual says that a dependency orders nothing by itself. It only excludes values that are
# their own cause.
S+ctrl: x=2; y=1.$1 | a=y; if a=1: x=1
    ? a=1 x=2: rlx weak; rel alpha
# As in the model of POWER: `lwsync` in the writer is not enough, even with `sync` in the reader.
R: x=1; F.$1; y=1 | y=2; F.$2; a=x
    ? y=2 a=0: acqrel sc power; sc acqrel x86 power riscv; sc sc no

# What the language forbids beyond RC11's paper, and beyond C++20's letter.
SB+ra hop at the locations: x=1.sc; x=2.rel | a=x.acq; b=y.sc | y=1.sc; c=x.sc
    ? a=2 b=0 c=0: no
IRIW of SeqCst loads: x=1 | y=1 | a=x.sc; b=y.sc | c=y.sc; d=x.sc
    ? a=1 b=0 c=1 d=0: no
fence, then an acquired store: y=1; F.sc; x=1 | a=x.acq; z=1.sc | z=2.sc; b=y.sc
    ? a=1 z=2 b=0: no

# One location is coherent, and exchanges lose nothing.
CoRR: x=1 | a=x; b=x
    ? a=1 b=0: no
two additions: a=x+1 | b=x+1
    ? x!=2: no
";

#[test]
fn rc11_decides_the_litmus_tests_as_the_literature_does() {
    check(LANGUAGE, &[("yes", &|it| explore(it, Model::Rc11))], &[]);
}

#[test]
fn the_axiom_against_thin_air_decides_load_buffering() {
    let judges: &Judges<'_> = &[
        ("turns", &|it| explore(it, Model::Interleaving)),
        ("rc11", &|it| explore(it, Model::Rc11)),
        ("buffering", &|it| explore(it, Model::Buffering)),
    ];
    check(THIN_AIR, judges, &[]);
}

#[test]
fn machines_decide_the_litmus_tests_as_their_models_do() {
    let judges: &Judges<'_> = &[
        ("x86", &|it| Machine::X86.explore(it)),
        ("armv8", &|it| Machine::Armv8.explore(it)),
        ("power", &|it| Machine::Power.explore(it)),
        ("riscv", &|it| Machine::RiscV.explore(it)),
        ("alpha", &|it| Machine::Alpha.explore(it)),
    ];
    let all = &["x86", "armv8", "power", "riscv", "alpha"];
    // Where a thread's own accesses are reordered.
    let short: &[(&str, &[&str])] = &[("all", all), ("weak", &all[1..])];
    check(MACHINES, judges, short);
}
