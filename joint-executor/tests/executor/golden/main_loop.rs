//! `main_loop`: what is on the screen in the end, which depends neither on the number of frames nor
//! on the worker that was first.

use crate::golden::program::{printed, run};

#[test]
fn textures_decoded_elsewhere_are_drawn_by_the_main_thread() {
    assert_eq!(
        printed(&run("main_loop", &[])),
        include_str!("main_loop.txt")
    );
}
