//! Programs that name nothing of the simulation run in one as they are.

use joint_executor::chance::{fault, random};
use joint_sim::{self as sim, Builder, Faults};

/// Writes a text, to a disk that may be full.
fn write(text: &str) -> Result<usize, &'static str> {
    match fault("the disk is full") {
        true => Err("full"),
        false => Ok(text.len()),
    }
}

#[test]
fn a_program_draws_and_fails_as_the_seed_says_and_never_fails_outside() {
    let draws = |seed| sim::run(seed, async { [random(), random()] });
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
    let written = |faults| Builder::new(1).faults(faults).run(async { write("abc") });
    assert_eq!(written(Faults::none()).unwrap().output, Ok(3));
    assert_eq!(
        written(Faults::none().sites(1.0)).unwrap().output,
        Err("full")
    );
    assert!((0..1000).all(|_| write("abc") == Ok(3)));
    assert_ne!(random(), random());
}
