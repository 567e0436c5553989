//! The programs of `docs/ecosystem.md` and of the pages for users of other executors, run by
//! `cargo test --doc -p ecosystem`.

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../../docs/ecosystem.md")]
    pub struct Ecosystem;

    #[doc = include_str!("../../../../docs/coming-from-tokio.md")]
    pub struct Tokio;

    #[doc = include_str!("../../../../docs/coming-from-smol.md")]
    pub struct Smol;
}
