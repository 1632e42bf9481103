//! Every procedure by its name.

use crate::course::{Procedure, ProcedureRun, Steps};
use crate::setup::{BuildError, Options, Setup, check};
use crate::{back_to_back, buffer_time, buffering, frame_loss, head_of_line, incast, latency};
use crate::{microburst, mlrsearch, reset, system_recovery, throughput};

/// A procedure, or why it cannot begin.
pub type Built = Result<Box<dyn Procedure>, BuildError>;

/// A procedure before it begins.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it is defined.
    pub rfc: &'static str,
    /// What it finds, in two lines.
    pub about: &'static str,
    /// The least number of streams.
    pub streams: usize,
    /// The streams and ports that it needs, in words.
    pub needs: &'static str,
    /// What it makes of a set-up before it begins, or why it cannot.
    prepare: fn(&mut Setup, &mut Options) -> Result<(), BuildError>,
    course: fn(Setup, Options) -> Box<dyn Procedure>,
}

/// There is no procedure of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no procedure `{0}`: there are {names}", names = names())]
pub struct UnknownProcedure(String);

fn names() -> String {
    let names: Vec<_> = procedures().iter().map(|known| known.name).collect();
    names.join(", ")
}

impl Description {
    /// The procedure of this name.
    ///
    /// # Errors
    /// Names those that there are.
    pub fn named(name: &str) -> Result<&'static Self, UnknownProcedure> {
        let found = procedures().iter().find(|known| known.name == name);
        found.ok_or_else(|| UnknownProcedure(name.to_owned()))
    }

    /// From a set-up to its first trial.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn begin(&self, mut setup: Setup, mut options: Options) -> Built {
        (self.prepare)(&mut setup, &mut options)?;
        check(&setup, &options)?;
        if setup.streams.len() < self.streams {
            return Err(BuildError::Streams {
                procedure: self.name,
                needs: self.needs,
                has: setup.streams.len(),
            });
        }
        Ok((self.course)(setup, options))
    }
}

const ONE: &str = "one stream or more";
const TWO: &str = "two streams or more, each from a port of its own, to one receiving port";

/// A procedure after the other: its name, where it is defined, the least number of streams, what it needs, what prepares it, its
/// steps, and what it finds.
macro_rules! listed {
    ($($name:literal $rfc:literal $streams:literal $needs:expr, $prepare:expr, $steps:expr, $about:literal;)*) => {
        &[$(Description {
            name: $name,
            rfc: $rfc,
            about: $about,
            streams: $streams,
            needs: $needs,
            prepare: $prepare,
            course: |setup, options| course($steps, setup, options),
        }),*]
    };
}

/// Every procedure, in the order of the RFCs.
#[rustfmt::skip]
pub fn procedures() -> &'static [Description] {
    listed! {
        "throughput" "RFC 2544 §26.1" 1 ONE, as_it_is, throughput::ThroughputSteps,
            "The fastest rate at which as many frames come out as went in,\n\
             for each frame size, and the theoretical maximum.";
        "latency" "RFC 2544 §26.2" 1 ONE, as_it_is, latency::LatencySteps,
            "How long tagged frames take at the throughput,\n\
             and the distribution over every frame.";
        "frame-loss" "RFC 2544 §26.3" 1 ONE, as_it_is, frame_loss::FrameLossSteps,
            "Loss from the highest rate down,\n\
             until two trials in a row have none.";
        "back-to-back" "RFC 2544 §26.4" 1 ONE, as_it_is, back_to_back::BackToBackSteps,
            "The longest burst with the minimum gap between frames\n\
             that passes without loss.";
        "system-recovery" "RFC 2544 §26.5" 1 ONE, as_it_is, system_recovery::SystemRecoverySteps,
            "How long loss continues after an overload of 110 %\n\
             once the load has fallen to half.";
        "reset" "RFC 2544 §26.6" 1 "one stream or more, and path.switch.reset", with_reset, reset::ResetSteps,
            "How long no frame passes when the device is reset,\n\
             with the smallest frames.";
        "buffer-time" "RFC 9004" 1 "streams that together send three times what the device forwards",
            as_it_is, buffer_time::BufferTimeSteps,
            "The longest burst, and from it the time and the bytes that the device buffers,\n\
             corrected for what it forwarded meanwhile.";
        "buffering" "RFC 8239 §3" 1 "streams that together overload a receiving port", as_it_is, buffering::BufferingSteps,
            "The buffer under an overload of 1 %:\n\
             the point beyond which the maximum latency no longer rises.";
        "microburst" "RFC 8239 §4" 2 TWO, |setup, _| many_to_one("microburst", setup), microburst::MicroburstSteps,
            "The largest burst from two or more ports to one\n\
             that passes without loss.";
        "head-of-line-blocking" "RFC 8239 §5" 3 "three streams on four ports: from A to C, from A to D, from B to D",
            |setup, _| head_of_line::check(setup), head_of_line::HeadOfLineSteps,
            "Does congestion of one receiving port\n\
             cost frames that go to another?";
        "incast" "RFC 8239 §6" 2 TWO, |setup, _| many_to_one("incast", setup), incast::IncastSteps,
            "Goodput of TCP at full rate and latency of microbursts\n\
             that meet at one receiving port.";
        "mlrsearch" "RFC 9971" 1 ONE, with_shorter_goals, mlrsearch::MlrsearchSteps,
            "For each goal the loads between which it stops being met,\n\
             and the conditional throughput there.";
    }
}

/// With the smallest frames, where the path has a reset.
fn with_reset(setup: &mut Setup, _: &mut Options) -> Result<(), BuildError> {
    let reset = setup.reset();
    // Frames begin when the device has settled.
    if reset.is_none_or(|reset| reset.at.0 <= setup.effort.settle) {
        return Err(BuildError::NoReset);
    }
    let smallest = setup.sizes.iter().copied().min();
    setup.sizes = smallest.into_iter().collect();
    Ok(())
}

/// With goals whose trials are no longer than those that are asked for.
fn with_shorter_goals(setup: &mut Setup, options: &mut Options) -> Result<(), BuildError> {
    let shorter = |goal: mlrsearch::Goal| match setup.effort.trial < goal.final_trial {
        true => goal.with_trials_of(setup.effort.trial),
        false => goal,
    };
    let goals = std::mem::take(&mut options.goals);
    options.goals = goals.into_iter().map(shorter).collect();
    Ok(())
}

/// Most begin with what they are given.
const fn as_it_is(_: &mut Setup, _: &mut Options) -> Result<(), BuildError> {
    Ok(())
}

/// Streams of several sending ports that meet at one receiving port.
fn many_to_one(procedure: &'static str, setup: &Setup) -> Result<(), BuildError> {
    match setup.meets_at_one_port() {
        true => Ok(()),
        false => Err(BuildError::Ports {
            procedure,
            needs: TWO,
        }),
    }
}

fn course<S: Steps + 'static>(steps: S, setup: Setup, options: Options) -> Box<dyn Procedure> {
    Box::new(ProcedureRun::new(steps, setup, options))
}
