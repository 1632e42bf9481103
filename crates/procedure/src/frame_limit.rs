//! How many frames a stream of a trial may have, and what makes a trial shorter.

use crate::offer::Offer;
use crate::setup::Setup;
use delaylab_model::frames::MOST_FRAMES;
use delaylab_model::units::write_duration;
use delaylab_model::{MILLISECOND, Nanos, SECOND};

/// Why a trial cannot be carried out: a stream has more frames than a tester keeps account of.
pub(crate) fn refuse(setup: &Setup, size: u32, offer: &Offer) -> Option<String> {
    let stream = offer.streams.iter().find(|s| s.count > MOST_FRAMES)?;
    let most = match offer.set_by(stream) {
        option @ "microburst" => format!("design.procedure.{option} {MOST_FRAMES}"),
        option => {
            let longest = setup.time_of(stream.of, stream.load, size, MOST_FRAMES);
            let longest = write_duration(rounded_down(longest));
            match option {
                "reset" => format!(
                    "twice the time from design.procedure.settle to the end of path.switch.reset {longest}"
                ),
                option => format!("design.procedure.{option} {longest}"),
            }
        }
    };
    let (name, count) = (setup.name(stream.of), stream.count);
    Some(format!(
        "{name} would send {count} frames of {size} B in a trial, more than the {MOST_FRAMES} that are kept account of: \
         make {most} at most"
    ))
}

/// To whole seconds or milliseconds.
const fn rounded_down(time: Nanos) -> Nanos {
    match time {
        SECOND.. => time - time % SECOND,
        MILLISECOND.. => time - time % MILLISECOND,
        _ => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_is_asked_for_is_round_and_not_longer() {
        let cases = [
            (13_442_600_000, 13 * SECOND),
            (134_400_001, 134 * MILLISECOND),
            (999, 999),
        ];
        for (time, expected) in cases {
            assert_eq!(rounded_down(time), expected);
        }
    }
}
