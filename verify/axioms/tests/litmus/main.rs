//! The classical litmus tests, each with the verdict that the literature gives it.
//!
//! The names are those of Sarkar, Sewell, Alglave, Maranget, Williams: *Understanding POWER
//! Multiprocessors* (PLDI 2011) and of Alglave, Maranget, Tautschnig: *Herding Cats* (TOPLAS 2014);
//! where a test is from another paper, it says so. "RC11" is Lahav, Vafeiadis, Kang, Hur, Dreyer:
//! *Repairing Sequential Consistency in C/C++11* (PLDI 2017).

mod coherence;
mod exchanges;
mod fences;
mod sequential;
mod shapes;
mod thin_air;

use axioms::{Execution, Model, Program, Register, Value, explore};

/// Whether some execution of RC11 ends as `end` says.
fn allows(program: &Program, end: impl Fn(&Execution) -> bool) -> bool {
    explore(program, Model::Rc11).iter().any(end)
}

/// Whether some execution of RC11 ends with these values in these registers.
fn allows_values(program: &Program, values: &[(Register, Value)]) -> bool {
    allows(program, |end| holds(end, values))
}

fn holds(end: &Execution, values: &[(Register, Value)]) -> bool {
    values
        .iter()
        .all(|&(register, value)| end.value(register) == Some(value))
}

/// Whether some execution of RC11 has a data race.
fn races(program: &Program) -> bool {
    allows(program, |end| !end.races().is_empty())
}
