//! Trials that are not what their experiment meant: a connection ended, a reflector was restarted, a load was not what was asked for.

use delaylab_model::words::plural;
use delaylab_store::run::Run;
use delaylab_store::trial_row::TrialRow;
use std::collections::BTreeSet;
use std::fmt;

/// Such trials of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flawed {
    /// How many.
    pub trials: usize,
    /// Of how many.
    pub of: usize,
    /// Why, each reason once.
    pub why: Vec<String>,
}

impl Flawed {
    /// Those of a run; `None` without any.
    pub fn of_run(run: &Run) -> Option<Self> {
        Self::of_rows(run.trials())
    }

    /// Those among these.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a TrialRow>) -> Option<Self> {
        let (mut all, mut flawed) = (BTreeSet::new(), BTreeSet::new());
        let (mut known, mut why) = (BTreeSet::new(), Vec::new());
        for row in rows {
            all.insert(row.trial);
            if !row.valid {
                flawed.insert(row.trial);
                let new = row.facts.flaws.iter().filter(|flaw| known.insert(*flaw));
                why.extend(new.cloned());
            }
        }
        (!flawed.is_empty()).then_some(Self {
            trials: flawed.len(),
            of: all.len(),
            why,
        })
    }

    /// Without the reasons that are said elsewhere.
    pub fn without(&self, is_said: impl Fn(&str) -> bool) -> Self {
        let why = self.why.iter().filter(|why| !is_said(why));
        Self {
            why: why.cloned().collect(),
            ..*self
        }
    }

    /// `1 of 3 trials is invalid`.
    pub fn count(&self) -> String {
        let is = if self.trials == 1 { "is" } else { "are" };
        let of = plural(self.of as u64, "trial");
        format!("{} of {of} {is} invalid", self.trials)
    }
}

/// `1 of 3 trials is invalid: the connection to 192.0.2.1:8862 ended while it was probed`.
impl fmt::Display for Flawed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.count())?;
        if let Some(first) = self.why.first() {
            write!(f, ": {first}")?;
        }
        match self.why.len() {
            0 | 1 => Ok(()),
            several => write!(f, " (and {})", plural(several as u64 - 1, "other reason")),
        }
    }
}
