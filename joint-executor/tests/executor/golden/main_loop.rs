//! `main_loop`: what is on the screen in the end, which depends neither on the number of frames nor
//! on the worker that was first.

use crate::golden::program::{printed, run};

#[test]
fn all_textures_are_decoded_elsewhere_and_drawn_by_the_main_thread() {
    assert_eq!(
        printed(&run("main_loop", &[])),
        include_str!("main_loop.txt")
    );
}
