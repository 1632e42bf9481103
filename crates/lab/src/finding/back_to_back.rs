//! How many back-to-back frames a device forwards (RFC 2544 §26.4): the number of frames, on all ports together, sent
//! before the first frame that was lost.
//!
//! A burst passes without loss exactly if it ends before that frame. So one burst that is long enough gives the result
//! of a search over many bursts. Warm-up frames count, because the burst begins with them.

use super::values::{MeasureUnavailable, Values};
use delaylab_model::Nanos;
use delaylab_model::record::Record;

/// Why a trial without frames has no number of them. One in which none was lost would have, were it longer.
pub(super) const NO_FRAMES: &str = "no frames were sent";

/// Collects the frames of a trial, in any order.
#[derive(Debug, Default)]
pub struct BackToBack {
    sent: Vec<Nanos>,
    first_lost: Option<Nanos>,
}

impl BackToBack {
    /// Adds a record; ignores it if it is not of a frame, or the frame was not sent.
    pub fn push(&mut self, record: &Record) {
        let Some(t_send) = record.t_send.filter(|_| record.method.is_one_way()) else {
            return;
        };
        self.sent.push(t_send);
        if !record.answered() && self.first_lost.is_none_or(|first| t_send < first) {
            self.first_lost = Some(t_send);
        }
    }

    /// The number of frames, as a value of the whole trial.
    ///
    /// # Errors
    /// No frame was sent, or none was lost.
    pub fn finish(&self) -> Result<Values, MeasureUnavailable> {
        if self.sent.is_empty() {
            return Err(MeasureUnavailable(NO_FRAMES.to_owned()));
        }
        let Some(first_lost) = self.first_lost else {
            let frames = self.sent.len();
            let why = format!(
                "none of {frames} frames was lost: longer trials, or faster ones, would be"
            );
            return Err(MeasureUnavailable(why));
        };
        let before = self.sent.iter().filter(|sent| **sent < first_lost);
        Ok(Values::Trial(before.count() as f64))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::method::Method;
    use delaylab_model::record::Outcome;

    /// A frame of this port that was sent then, and arrived or not.
    fn frame(probe: u16, t_send: Nanos, arrived: bool) -> Record {
        let mut record = Record::due(0, probe, t_send.unsigned_abs(), Method::Frame, t_send);
        record.t_send = Some(t_send);
        if arrived {
            record.t_recv = Some(t_send + 50);
            record.outcome = Outcome::Ok;
        }
        record
    }

    fn found(records: &[Record]) -> Result<Values, MeasureUnavailable> {
        let mut seen = BackToBack::default();
        records.iter().for_each(|record| seen.push(record));
        seen.finish()
    }

    #[test]
    fn frames_of_both_ports_count_up_to_the_first_that_is_lost() {
        let a = (0..10).map(|k| frame(0, 10 * k, true));
        let b = (0..10).map(|k| frame(1, 10 * k + 3, ![4, 7].contains(&k)));
        let mut records: Vec<Record> = b.chain(a).collect();
        records[9].t_send = None;
        let mut packet = frame(2, 1, false);
        packet.method = Method::Udp;
        records.push(packet);
        // a's first five, and b's first four.
        assert_eq!(found(&records), Ok(Values::Trial(9.0)));
    }

    #[test]
    fn a_burst_that_fits_has_no_number() {
        let records: Vec<Record> = (0..7).map(|k| frame(0, k, true)).collect();
        let MeasureUnavailable(why) = found(&records).unwrap_err();
        assert!(why.contains("none of 7 frames was lost"), "{why}");
        assert!(found(&[]).is_err());
    }
}
