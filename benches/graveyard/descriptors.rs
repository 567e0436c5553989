//! The grave of one driver for many workers. Only Unix has pipes.

use std::time::Instant;

use joint_benches::{
    driven::{Driven, Reads, Writes},
    options::Options,
};

use super::{
    contestants::OfDrivers,
    grave::{About, nanoseconds},
};

/// All workers register their descriptors with one driver, whose lock in the kernel they then wait
/// for (tokio #8450).
///
/// Four tasks for each worker make a pipe, wait for a byte, and close the pipe, again and again.
#[derive(Clone, Copy)]
pub(crate) struct Descriptors(pub(crate) usize);

impl Descriptors {
    fn pipes() -> usize {
        Options::read().of(25, 2)
    }

    fn tasks(self) -> usize {
        4 * self.0
    }
}

impl OfDrivers for Descriptors {
    fn about(self) -> About {
        About::times(
            "descriptors come and go on all workers (tokio #8450)",
            &["one pipe"],
            "pipe",
            self.tasks() * Self::pipes(),
        )
    }

    fn run<R: Driven>(self, runtime: &'static R) -> Vec<f64> {
        let one = move || async move {
            for _ in 0..Self::pipes() {
                let (mut reader, mut writer) = R::pipe().expect("two descriptors");
                let written = runtime.spawn(async move {
                    writer.write(&[7]).await.expect("the reader is open");
                });
                let mut room = [0];
                reader.read(&mut room).await.expect("a byte");
                R::join(written).await;
            }
        };
        runtime.run(async move {
            let start = Instant::now();
            R::join_all((0..self.tasks()).map(|_| runtime.spawn(one())).collect()).await;
            let pipes = self.tasks() * Self::pipes();
            vec![nanoseconds(start.elapsed()) / pipes as f64]
        })
    }
}
