//! The executors of the folder `examples`, run as tests.

#[path = "../../../examples/executor/main.rs"]
mod executor;
#[path = "../../../examples/microcontroller/main.rs"]
mod microcontroller;
#[path = "../../../examples/shutdown/main.rs"]
mod shutdown;

#[test]
fn a_small_executor() {
    executor::main();
}

#[test]
fn an_executor_without_an_allocator() {
    microcontroller::main();
}

#[test]
fn an_executor_that_can_be_shut_down() {
    shutdown::main();
}
