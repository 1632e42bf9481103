//! What the kernel's queues need that not every kernel has.

use crate::step::TC;
use delaylab_kernel::namespace;
use delaylab_kernel::privilege::{self, Capability};
use delaylab_model::path::Discipline;
use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

/// What a kernel may have or not.
pub struct Feature {
    /// What the kernel calls it.
    pub name: &'static str,
    /// The module that has it.
    pub module: &'static str,
    /// Words for `tc` that use it.
    tried_by: &'static [&'static str],
}

const TBF: Feature = Feature {
    name: "tbf",
    module: "sch_tbf",
    tried_by: &["qdisc add dev lo root tbf rate 1mbit burst 2000 limit 2000"],
};
const HTB: Feature = Feature {
    name: "htb",
    module: "sch_htb",
    tried_by: &["qdisc add dev lo root handle 1: htb"],
};
const U32: Feature = Feature {
    name: "u32",
    module: "cls_u32",
    tried_by: &[
        HTB.tried_by[0],
        "filter add dev lo parent 1: protocol ip prio 1 u32 match u32 0 0 flowid 1:1",
    ],
};
const FQ_CODEL: Feature = Feature {
    name: "fq_codel",
    module: "sch_fq_codel",
    tried_by: &["qdisc add dev lo root fq_codel"],
};
const NETEM: Feature = Feature {
    name: "netem",
    module: "sch_netem",
    tried_by: &["qdisc add dev lo root netem"],
};

/// What a queue is made of.
pub const fn features_of(discipline: Discipline) -> &'static [Feature] {
    match discipline {
        Discipline::KernelNetem => &[NETEM],
        Discipline::KernelFqCodel => &[TBF, FQ_CODEL],
        Discipline::KernelHtb => &[HTB, U32],
        _ => &[TBF],
    }
}

impl Feature {
    /// Tried once, in a namespace that is gone afterwards. Where that cannot be made it is taken to be there, and tried again when
    /// it is asked for again: this process may become root of its own meanwhile.
    pub fn is_there(&self) -> bool {
        static KNOWN: Mutex<BTreeMap<&str, bool>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known_or_asked(&mut known, self.name, || try_words(self.tried_by))
    }
}

/// What is known, or is known from now on if there is an answer.
fn known_or_asked(
    known: &mut BTreeMap<&'static str, bool>,
    name: &'static str,
    ask: impl FnOnce() -> Option<bool>,
) -> bool {
    let answer = known.get(name).copied().or_else(ask);
    if let Some(answer) = answer {
        known.insert(name, answer);
    }
    answer.unwrap_or(true)
}

/// `None`: it cannot be tried.
fn try_words(words: &'static [&'static str]) -> Option<bool> {
    // Without it there is nothing to try, and no thread may be about: a process that becomes root of its own has one alone.
    if !privilege::holds(Capability::CAP_SYS_ADMIN) {
        return None;
    }
    let asked = std::thread::spawn(move || {
        namespace::enter_new()?;
        for words in words {
            let mut tc = TC.command().map_err(io::Error::other)?;
            tc.args(words.split_whitespace());
            let status = tc.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            if !status.success() {
                return Ok(false);
            }
        }
        Ok::<_, io::Error>(true)
    });
    asked.join().ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As before this process has become root of its own.
    #[test]
    fn what_could_not_be_asked_is_asked_again() {
        let mut known = BTreeMap::new();
        assert!(known_or_asked(&mut known, "netem", || None));
        assert!(!known_or_asked(&mut known, "netem", || Some(false)));
        assert!(!known_or_asked(&mut known, "netem", || Some(true)));
    }
}
