//! What an ideal device would do with a trial: to say how long a procedure will take.

use crate::offer::{Offer, OfferedStream};
use crate::setup::Setup;
use delaylab_stats::frames::{FrameFigures, FrameTrial};

/// What an ideal device holds at each receiving port, in bytes.
const BUFFER: f64 = 65_536.0;

/// Every receiving port forwards at its rate, has a small buffer, and shares loss out evenly.
pub(crate) fn ideal(setup: &Setup, size: u32, offer: &Offer) -> FrameTrial {
    let streams = offer.streams.iter().map(|stream| {
        let last = setup.time_of(stream.of, stream.load, size, stream.count.saturating_sub(1));
        let lost = lost(setup, size, offer, stream).min(stream.count);
        FrameFigures {
            asked: stream.count,
            sent: stream.count,
            received: stream.count - lost,
            first_send: Some(stream.start),
            last_send: Some(stream.start.saturating_add(last)),
            ..FrameFigures::default()
        }
    });
    FrameTrial::new(streams.collect())
}

/// How many frames of a stream are lost where it arrives with others.
fn lost(setup: &Setup, size: u32, offer: &Offer, stream: &OfferedStream) -> u64 {
    let to = |of: usize| setup.streams.get(of).and_then(|probe| probe.to.as_ref());
    let together = offer.streams.iter();
    let together = together.filter(|s| to(s.of) == to(stream.of) && s.start == stream.start);
    let (mut load, mut frames) = (0.0, 0.0);
    for other in together {
        load += other.load.as_f64() * setup.line_rate as f64;
        frames += other.count as f64;
    }
    let excess = (1.0 - setup.egress_rate as f64 / load.max(1.0)).max(0.0);
    let lost = (frames * excess - BUFFER / f64::from(size)).max(0.0) / frames.max(1.0);
    (lost * stream.count as f64).ceil() as u64
}
