//! The five memory orderings: their names, and what each promises.

use core::{fmt, str::FromStr};

/// A memory ordering, as in [`core::sync::atomic::Ordering`], in an enum that can be matched whole.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Ordering {
    /// Coherence and atomicity of one location, and nothing else.
    Relaxed,
    /// The effects that a read acquires from a release that it sees.
    Acquire,
    /// The effects that a write releases to those who acquire it.
    Release,
    /// Both.
    AcqRel,
    /// Both, and a part in the order of all `SeqCst` operations.
    SeqCst,
}

impl Ordering {
    /// All five, from the weakest on.
    pub const ALL: [Self; 5] = [
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// Whether a read or a fence with this ordering is the later end of synchronizes-with edges.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a write or a fence with this ordering is the earlier end of synchronizes-with edges.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a load can have it.
    pub fn fits_load(self) -> bool {
        !matches!(self, Self::Release | Self::AcqRel)
    }

    /// Whether a store can have it.
    pub fn fits_store(self) -> bool {
        !matches!(self, Self::Acquire | Self::AcqRel)
    }

    /// The name in lower case: `acq_rel`. With `memory_order_` before it, C's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        }
    }
}

impl fmt::Display for Ordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Ordering {
    type Err = UnknownOrdering;

    /// Takes every usual spelling: `acq_rel`, `ACQ_REL`, `AcqRel`, `acq-rel`,
    /// `memory_order_acq_rel`.
    fn from_str(text: &str) -> Result<Self, UnknownOrdering> {
        let letters = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_alphabetic)
                .collect::<String>()
                .to_ascii_lowercase()
        };
        let asked = letters(text);
        let asked = asked.strip_prefix("memoryorder").unwrap_or(&asked);
        let named = |ordering: &Self| letters(ordering.name()) == asked;
        Self::ALL
            .into_iter()
            .find(named)
            .ok_or_else(|| UnknownOrdering(text.to_owned()))
    }
}

/// A text that names none of the five orderings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownOrdering(String);

impl fmt::Display for UnknownOrdering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no ordering: take one of", self.0)?;
        Ordering::ALL
            .iter()
            .try_for_each(|ordering| write!(f, " {ordering}"))
    }
}

impl core::error::Error for UnknownOrdering {}

#[cfg(test)]
mod tests {
    use super::Ordering;

    #[test]
    fn every_usual_spelling_is_understood() {
        for text in [
            "acq_rel",
            "ACQ_REL",
            "AcqRel",
            "acq-rel",
            "memory_order_acq_rel",
        ] {
            assert_eq!(text.parse(), Ok(Ordering::AcqRel), "{text}");
        }
        for ordering in Ordering::ALL {
            assert_eq!(ordering.name().parse(), Ok(ordering));
            assert_eq!(format!("{ordering:?}").parse(), Ok(ordering));
        }
    }

    #[test]
    fn a_word_that_is_no_ordering_is_answered_with_those_that_are() {
        let error = "consume"
            .parse::<Ordering>()
            .expect_err("not among the five");
        assert_eq!(
            error.to_string(),
            "\"consume\" is no ordering: take one of relaxed acquire release acq_rel seq_cst"
        );
    }
}
