//! Simulation, through the public interface.
#![cfg(feature = "sim")]

mod bugs;
mod found;
mod world;
