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

#[cfg(test)]
mod tests {
    use super::choices;

    #[test]
    fn every_choice_is_yielded_once_and_in_order() {
        let all: Vec<_> = choices(vec![2, 3]).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(
            choices(vec![]).count(),
            1,
            "nothing to choose is one choice"
        );
        assert_eq!(
            choices(vec![2, 0]).count(),
            0,
            "and nothing to choose from is none"
        );
    }
}
