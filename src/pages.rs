//! The examples of the pages outside the source, as documentation tests. Compiled only for these
//! tests.

macro_rules! pages {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(
            #[doc = include_str!(concat!("../", $file))]
            struct $name;
        )*
    };
}

pages! {
    Readme: "README.md",
    Race: "docs/lessons/01-the-race.md",
    Mutex: "docs/lessons/02-the-mutex.md",
    Sentinels: "docs/lessons/03-two-sentinels.md",
    Exchange: "docs/lessons/04-the-exchange.md",
    Halves: "docs/lessons/05-the-halves.md",
    SeqCst: "docs/lessons/06-why-not-seq-cst.md",
    Branch: "docs/lessons/07-the-branch.md",
    Rust: "docs/lessons/08-what-rust-adds.md",
    Executor: "docs/lessons/09-your-own-executor.md",
    Handshake: "docs/lessons/10-store-load.md",
    Kernel: "docs/lessons/11-the-kernel.md",
}
