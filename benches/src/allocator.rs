//! The allocator of the program, which all contestants share: the system's, or with the feature
//! `mimalloc` that one.
//!
//! Each bench declares it as its `#[global_allocator]`, because two of them count what it does.

#[cfg(feature = "mimalloc")]
pub use mimalloc::MiMalloc as Allocator;
#[cfg(not(feature = "mimalloc"))]
pub use std::alloc::System as Allocator;

/// Returns the title of a table, which names the allocator unless it is the system's.
pub fn titled(title: &str) -> String {
    match cfg!(feature = "mimalloc") {
        true => format!("{title}, mimalloc"),
        false => title.to_owned(),
    }
}
