//! Mistakes that can be planted.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A read returns what it has found, which may be on a minority only.
    NoWriteBack,
}

impl Bug {
    pub(crate) const ALL: [(&str, Self); 1] = [("no-write-back", Self::NoWriteBack)];
}
