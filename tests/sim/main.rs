//! Simulation, through the public interface.
#![cfg(feature = "sim")]

mod world;
