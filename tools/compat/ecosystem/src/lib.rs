//! The programs of the pages, run by `cargo test --doc -p ecosystem`: those of two READMEs, of the
//! lessons, of `docs/ecosystem.md`, and of the pages for users of other executors.

#[cfg(doctest)]
mod pages {
    macro_rules! pages {
        ($($name:ident: $file:literal),* $(,)?) => {
            $(
                #[doc = include_str!(concat!("../../../../", $file))]
                struct $name;
            )*
        };
    }

    pages! {
        Readme: "README.md",
        Hyper: "joint-hyper/README.md",
        Race: "verify/course/lessons/01-the-race.md",
        Mutex: "verify/course/lessons/02-the-mutex.md",
        Sentinels: "verify/course/lessons/03-two-sentinels.md",
        Exchange: "verify/course/lessons/04-the-exchange.md",
        Halves: "verify/course/lessons/05-the-halves.md",
        SeqCst: "verify/course/lessons/06-why-not-seq-cst.md",
        Branch: "verify/course/lessons/07-the-branch.md",
        Rust: "verify/course/lessons/08-what-rust-adds.md",
        Executor: "verify/course/lessons/09-your-own-executor.md",
        Handshake: "verify/course/lessons/10-store-load.md",
        Kernel: "verify/course/lessons/11-the-kernel.md",
        Ecosystem: "docs/ecosystem.md",
        Tokio: "docs/coming-from-tokio.md",
        Smol: "docs/coming-from-smol.md",
        Allocators: "docs/allocators.md",
        Context: "docs/context.md",
        AsyncTask: "docs/coming-from-async-task.md",
        AtomicWaker: "docs/coming-from-atomic-waker.md",
        Oneshot: "docs/coming-from-oneshot.md",
    }
}
