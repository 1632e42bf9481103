//! What came out of a pair.

/// Do the two differ?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Yes.
    Differs,
    /// Not by more than the sentence says.
    NoDifference,
    /// The data do not say.
    #[default]
    Undecided,
}

impl Kind {
    /// The word for programs.
    pub const fn key(self) -> &'static str {
        match self {
            Kind::Differs => "differs",
            Kind::NoDifference => "no_difference",
            Kind::Undecided => "undecided",
        }
    }

    /// The words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Kind::Differs => "differs",
            Kind::NoDifference => "no difference",
            Kind::Undecided => "undecided",
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Do they differ?
    pub kind: Kind,
    /// In sentences.
    pub text: String,
}
