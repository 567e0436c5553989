//! Mistakes that can be planted. Each is one condition in the protocol.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A server writes its vote nowhere, so it may vote twice in a term if it crashes in between.
    ForgetVote,
    /// A server votes for candidates whose log lacks entries that it has (against section 5.4.1).
    VoteForAnyone,
    /// A leader commits an entry of an earlier term as soon as a majority has it (figure 8).
    CommitEarlierTerm,
    /// A follower deletes the entries behind those of a message, which may be an old one.
    Truncate,
    /// A leader answers a read without asking whether it still is the leader (section 8).
    StaleRead,
    /// A request that a client has repeated is applied twice (section 8).
    ApplyTwice,
}

impl Bug {
    pub(crate) const ALL: [(&str, Self); 6] = [
        ("forget-vote", Self::ForgetVote),
        ("vote-for-anyone", Self::VoteForAnyone),
        ("commit-earlier-term", Self::CommitEarlierTerm),
        ("truncate", Self::Truncate),
        ("stale-read", Self::StaleRead),
        ("apply-twice", Self::ApplyTwice),
    ];
}
