//! Machines: what processors allow a program to do once a compiler has translated it instruction by
//! instruction.
//!
//! A compiler that optimises allows more: it may do what the language allows. So a machine that
//! shows no mistake does not make a program right.
//!
//! | module | does |
//! |---|---|
//! | `mapping` | which instructions and barriers each access becomes |
//! | `graph` | the machine's memory accesses, and the edges that all machines have |
//! | `x86`, `armv8`, `power`, `riscv`, `alpha` | the axioms of each |

mod alpha;
mod armv8;
mod graph;
mod mapping;
mod power;
mod riscv;
mod x86;

use crate::{Execution, Program, explore::coherent, guess};

/// A processor architecture and the usual translation of atomic accesses to it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Machine {
    /// x86 and x86-64: total store order (Owens, Sarkar, Sewell: *A Better x86 Memory Model:
    /// x86-TSO*, TPHOLs 2009).
    X86,
    /// Armv8 (Pulte, Flur, Deacon, French, Sarkar, Sewell: *Simplifying ARM Concurrency*, POPL
    /// 2018), with exchanges as loops of exclusive loads and stores.
    Armv8,
    /// POWER (Alglave, Maranget, Tautschnig: *Herding Cats*, TOPLAS 2014).
    Power,
    /// RISC-V with RVWMO (*The RISC-V Instruction Set Manual*, volume I), with exchanges as `amo`
    /// instructions.
    RiscV,
    /// Alpha (*Alpha Architecture Reference Manual*, section 5.6.1), which is made no more. Alone
    /// among these it can read an old value through a new address.
    Alpha,
}

impl Machine {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::X86,
        Self::Armv8,
        Self::Power,
        Self::RiscV,
        Self::Alpha,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86-TSO",
            Self::Armv8 => "Armv8",
            Self::Power => "POWER",
            Self::RiscV => "RISC-V",
            Self::Alpha => "Alpha",
        }
    }

    /// Whether an execution of a program can happen here. Its locations have to be coherent and its
    /// exchanges atomic, as they are in every execution that [`explore`](crate::explore()) finds.
    ///
    /// # Panics
    /// If the machine makes more than 64 accesses of it.
    pub fn allows(self, execution: &Execution) -> bool {
        let graph = graph::Graph::new(self, execution);
        match self {
            Self::X86 => x86::allows(&graph),
            Self::Armv8 => armv8::allows(&graph),
            Self::Power => power::allows(&graph),
            Self::RiscV => riscv::allows(&graph),
            Self::Alpha => alpha::allows(&graph),
        }
    }

    /// Every execution of `program` that can happen here, each once. Values that are their own
    /// cause are tried as [`explore`](crate::explore()) does.
    ///
    /// # Panics
    /// If an execution has more than [`MOST_EVENTS`](crate::MOST_EVENTS) events, or the machine
    /// makes more than 64 accesses of them.
    ///
    /// ```
    /// use axioms::{Machine, language::parse};
    ///
    /// let mut message = parse(
    ///     "atomic data, pointer
    ///     thread writer { data.store(1, Relaxed); pointer.store(1, Relaxed) }
    ///     thread reader { found = pointer.load(Relaxed); got = data.load(Relaxed) }
    ///     never found == 1 && got == 0",
    /// )
    /// .unwrap();
    /// // The reader's second load gets its address from the first.
    /// message.program.take_address(1, 1, message.register("found").unwrap());
    /// let stale = |machine: Machine| {
    ///     let ends = machine.explore(&message.program);
    ///     ends.iter().any(|end| message.never[0].is_broken_by(end))
    /// };
    /// assert!(!stale(Machine::X86), "stores stay in order");
    /// assert!(stale(Machine::Armv8), "the writer's stores do not");
    /// assert!(stale(Machine::Alpha), "and neither do the reader's loads");
    /// ```
    pub fn explore(self, program: &Program) -> Vec<Execution> {
        let graphs = guess::guessed(program);
        let coherent = graphs
            .iter()
            .flat_map(|graph| coherent(program, graph, true));
        coherent
            .filter(|execution| self.allows(execution))
            .collect()
    }
}
