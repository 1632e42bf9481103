//! Pauses of a switch: when what arrives goes on.

use crate::Picos;
use crate::quantity::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// Pauses of a switch at regular intervals, as of a radio that sleeps or a port that has to wait: what
/// arrives meanwhile continues when the pause ends. Each interval ends with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// From the end of one to the end of the next, counted from the start of the trial.
    pub every: Duration,
    /// How long each lasts.
    pub lasts: Duration,
}

impl Pause {
    /// When something goes on that arrives then, both since the start of the trial.
    pub fn goes_on(&self, at: Picos) -> Picos {
        let [every, lasts] = [self.every, self.lasts].map(Duration::picos);
        if every == 0 {
            return at;
        }
        let left = every - at % every;
        if left <= lasts { at + left } else { at }
    }

    /// Why no switch can do this.
    pub fn problem(&self) -> Option<&'static str> {
        let fits = self.lasts.0 > 0 && self.lasts.0 < self.every.0;
        (!fits).then_some(
            "a pause is longer than nothing and shorter than the time from one to the next",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PICOS_PER_NANO;

    #[test]
    fn what_arrives_in_a_pause_goes_on_when_it_ends() {
        let pause = |every, lasts| Pause {
            every: Duration(every),
            lasts: Duration(lasts),
        };
        let each = pause(100, 3);
        assert_eq!(each.problem(), None);
        for (at, goes_on) in [
            (0, 0),
            (96, 96),
            (97, 100),
            (99, 100),
            (100, 100),
            (298, 300),
        ] {
            assert_eq!(each.goes_on(at * PICOS_PER_NANO), goes_on * PICOS_PER_NANO);
        }
        for wrong in [pause(0, 0), pause(5, 5), pause(-1, 3), pause(3, 0)] {
            assert!(wrong.problem().is_some());
            let _ = wrong.goes_on(12_345);
        }
    }
}
