//! The checker in the page: `report` behind plain exports over linear memory, for
//! wasm32-unknown-unknown. `cargo run -p course -- page` builds it.
//!
//! The page asks for room for its text with `input`, writes the text there, calls `explore`, and
//! reads as many bytes as that returns from where `output` says.

use std::sync::Mutex;

static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Returns the address of room for `length` bytes of text.
// SAFETY: no other export of this module has the name.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut input = INPUT.lock().expect("there is one thread");
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Explores the program in the text, and returns the length of the report.
// SAFETY: no other export of this module has the name.
#[unsafe(no_mangle)]
pub extern "C" fn explore() -> usize {
    let input = INPUT.lock().expect("there is one thread");
    let report = axioms::report::report(&String::from_utf8_lossy(&input));
    let mut output = OUTPUT.lock().expect("there is one thread");
    *output = report.to_string().into_bytes();
    output.len()
}

/// Returns the address of the report.
// SAFETY: no other export of this module has the name.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.lock().expect("there is one thread").as_ptr()
}
