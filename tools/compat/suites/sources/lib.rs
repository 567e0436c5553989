//! Empty: `cargo vendor` reads the manifest.
