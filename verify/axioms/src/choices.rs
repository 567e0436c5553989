//! Enumerates all ways to choose.

/// Every way to choose one of `sizes[0]`, one of `sizes[1]`, and so on, the last changing fastest.
pub(crate) fn choices(sizes: Vec<usize>) -> impl Iterator<Item = Vec<usize>> {
    let first = sizes
        .iter()
        .all(|&size| size > 0)
        .then(|| vec![0; sizes.len()]);
    core::iter::successors(first, move |choice| {
        let mut next = choice.clone();
        let turned = (0..sizes.len())
            .rev()
            .find(|&place| next[place] + 1 < sizes[place])?;
        next[turned] += 1;
        next[turned + 1..].fill(0);
        Some(next)
    })
}
