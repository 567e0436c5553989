//! The document's `randomStrings`: a generator that does one allocation in its lifetime.

use std::{convert::Infallible, ops::ControlFlow, pin::pin};

use crate::counting::COUNT;
use joint_flow::generator::{Lender, Slot};

const LENGTHS: [usize; 2] = [3, 17];

async fn random_strings(mut lender: Lender<'_, String>) -> Infallible {
    let [min, max] = LENGTHS;
    let mut buffer = String::with_capacity(max);
    let mut random = 1_usize;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(0x5851_F42D).wrapping_add(1);
        (random >> 16) % limit
    };
    loop {
        buffer.clear();
        let length = min + below(max - min + 1);
        buffer.extend((0..length).map(|_| char::from(b'a' + below(26) as u8)));
        buffer = lender.lend(buffer).await;
    }
}

#[test]
fn random_strings_take_one_allocation() {
    let mut slot = Slot::new();
    let mut strings = pin!(slot.generate(random_strings));
    let mut lengths = [0; LENGTHS[1] + 1];
    joint::block_on(async {
        let before = COUNT.get();
        for _ in 0..1_000 {
            let ControlFlow::Continue(text) = strings.as_mut().next().await;
            lengths[text.len()] += 1;
        }
        assert_eq!(COUNT.get().allocated - before.allocated, 1);
    });
    assert!(lengths[..LENGTHS[0]].iter().all(|&count| count == 0));
    assert!(lengths[LENGTHS[0]..].iter().all(|&count| count > 0));
}
