//! What every face of `delaylab ping` is made from.

use delaylab_lab::finding::single::Answer;
use delaylab_model::Nanos;
use delaylab_model::trial::{ProbeFacts, ProbeRun};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_model::words::{plural, were};
use delaylab_stats::summary::Summary;
use delaylab_stats::{unanswered, verdict};

/// One handshake in this number that is not answered is worth a sentence.
const MANY_LOST: u64 = 10;
/// A handshake that takes this many times as long as a request is slow: a round trip alone may be as long.
const SLOW: Nanos = 2;

/// A finished trial of one probe, ready to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Ping<'a> {
    /// The target as the user named it.
    pub target: &'a str,
    /// What was asked for.
    pub run: &'a ProbeRun,
    /// What came of it, beside its records.
    pub facts: &'a ProbeFacts,
    /// Its statistics.
    pub summary: &'a Summary,
    /// Handshakes that were made beside its requests, which keep their connections.
    pub handshakes: Option<Handshakes<'a>>,
    /// What came of each condition that it was held against.
    pub conditions: &'a [Answer],
}

/// Handshakes that were made beside requests, for what they tell of these.
#[derive(Debug, Clone, Copy)]
pub struct Handshakes<'a> {
    /// What came of them, beside their records.
    pub facts: &'a ProbeFacts,
    /// Their statistics.
    pub summary: &'a Summary,
}

impl Ping<'_> {
    /// One sentence or two that say what dominates; `None` where nothing was answered.
    pub fn verdict(&self) -> Option<String> {
        let made = self.handshakes.map(|handshakes| handshakes.summary);
        let verdict = verdict::dominant(self.summary, made)?.to_string();
        Some(match self.new_connections() {
            Some(said) => format!("{verdict} {said}"),
            None => verdict,
        })
    }

    /// That a connection takes long to get, which requests on those that are kept do not show.
    fn new_connections(&self) -> Option<String> {
        let made = self.handshakes?.summary;
        let (lost, all) = (made.counts.lost, made.counts.ended());
        if lost > 0 && MANY_LOST * lost >= all {
            return Some(format!(
                "{lost} of the {} during these requests {} not answered: new connections take longer than these figures say.",
                plural(all, "handshake"),
                were(lost)
            ));
        }
        let request = self.summary.response.as_ref()?.p50;
        let handshake = made.network.as_ref()?;
        (handshake.p50 >= SLOW.saturating_mul(request)).then(|| {
            format!(
                "A new connection takes {} more, by the {} during these requests.",
                format_duration(handshake.p50),
                plural(handshake.count, "handshake")
            )
        })
    }

    /// Why nothing was answered, as far as the packets themselves tell, without a full stop; `None`: they do not.
    pub fn silence(&self) -> Option<String> {
        self.answered_later()
            .or_else(|| self.acknowledged())
            .or_else(|| self.too_large())
    }

    /// Nothing on the path loses what is answered after its time-out.
    fn answered_later(&self) -> Option<String> {
        let later = self.facts.loss.map_or(0, |loss| loss.answered_later);
        (later > 0).then(|| {
            format!(
                "{later} of {} {} answered long after the time-out of {}, and so delayed and not lost on the way; -W waits \
                 for longer",
                plural(self.summary.counts.sent, "packet"),
                were(later),
                format_duration(self.run.probe.timeout)
            )
        })
    }

    /// Whatever is wrong is behind the far kernel, which acknowledged the requests.
    fn acknowledged(&self) -> Option<String> {
        let counts = &self.summary.counts;
        let acknowledged = self.summary.acknowledged_only;
        let probe = &self.run.probe;
        let (who, shorter) = match probe.method.asks_server() {
            false => ("reflector", "with a smaller --reply-size they come"),
            true if probe.method.has_field("verb") => {
                ("server", "a short one, as --head asks for, comes")
            }
            true => ("server", "short ones come"),
        };
        (2 * acknowledged > counts.ended()).then(|| {
            format!(
                "{acknowledged} of {} {} acknowledged, and so arrived; the {who} does not answer, or its replies are lost on the \
                 way back (if only large ones are, because a link there carries no packets so large, {shorter})",
                plural(counts.ended(), "request"),
                were(acknowledged)
            )
        })
    }

    fn too_large(&self) -> Option<String> {
        let probe = &self.run.probe;
        let lost = self.summary.counts.lost;
        let other_reason = self.summary.counts.refused > 0 || !self.facts.flaws.is_empty();
        let ip_size = (probe.method).ip_size(self.run.target.is_ipv6(), probe.payload);
        let size = ip_size.unwrap_or(probe.payload);
        let loss = self.facts.loss.as_ref().map(|loss| (loss, lost));
        let said = unanswered::too_large(probe.method, size, loss);
        said.filter(|_| lost > 0 && !other_reason)
    }
}

impl Handshakes<'_> {
    /// `20 during the requests, 20 answered, p50 34.0 µs, max 61.2 µs`.
    pub fn in_a_line(&self) -> String {
        let counts = &self.summary.counts;
        let mut parts = vec![
            format!("{} during the requests", counts.sent),
            format!("{} answered", counts.answered()),
        ];
        if let Some(network) = &self.summary.network {
            parts.push(format!("p50 {}", format_duration_f64(network.p50 as f64)));
            parts.push(format!("max {}", format_duration(network.max)));
        }
        let again = self.summary.retransmitted;
        let again = again.filter(|again| again.segments > 0);
        parts.extend(again.map(|again| format!("{} sent again", plural(again.segments, "SYN"))));
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::{Sample, all_lost, full};
    use delaylab_model::MICROSECOND;
    use delaylab_model::method::Method;
    use delaylab_model::record::{Outcome, Record};
    use delaylab_model::trial::{LossDirection, RecordFacts};
    use delaylab_stats::summary::SummaryBuilder;

    /// Of five packets, none of which was answered.
    fn silence(change: impl Fn(&mut Sample)) -> Option<String> {
        let mut sample = all_lost();
        change(&mut sample);
        assert_eq!(sample.ping().verdict(), None);
        sample.ping().silence()
    }

    #[test]
    fn replies_that_come_after_the_time_out_are_not_lost() {
        let later = |count: u64| {
            silence(|sample| {
                sample.facts.loss = Some(LossDirection {
                    unknown: 5 - count,
                    answered_later: count,
                    ..LossDirection::default()
                });
            })
        };
        assert_eq!(later(0), None);
        let said = later(3).unwrap();
        assert!(
            said.starts_with("3 of 5 packets were answered long after the time-out of 1.00 s, and so delayed and not lost"),
            "{said}"
        );
    }

    #[test]
    fn requests_that_were_acknowledged_arrived() {
        let of = |method, count| {
            silence(|sample| {
                sample.run.probe.method = method;
                sample.summary.acknowledged_only = count;
            })
        };
        assert_eq!(of(Method::Http, 2), None);
        let said = of(Method::Http, 5).unwrap();
        assert!(
            said.starts_with("5 of 5 requests were acknowledged, and so arrived; the server"),
            "{said}"
        );
        assert!(said.contains("--head"), "{said}");
        let said = of(Method::Tcp, 4).unwrap();
        assert!(said.contains("the reflector does not answer"), "{said}");
    }

    #[test]
    fn large_packets_that_vanish_where_small_ones_do_not_may_be_too_large() {
        let of = |payload, forward, back| {
            silence(|sample| {
                sample.run.probe.payload = payload;
                sample.facts.loss = Some(LossDirection {
                    forward,
                    back,
                    unknown: 5 - forward - back,
                    ..LossDirection::default()
                });
            })
        };
        let there = of(1400, 5, 0).unwrap();
        assert!(
            there.contains(
                "none of these of 1428 B; on the way there a link may carry no packets so large"
            ),
            "{there}"
        );
        let back = of(1400, 0, 5).unwrap();
        assert!(back.contains("on the way back a link may"), "{back}");
        // Small ones, and where nothing was heard at the end.
        for (payload, forward) in [(56, 5), (1400, 4), (1400, 0)] {
            assert_eq!(of(payload, forward, 0), None, "{payload} {forward}");
        }
    }

    /// Requests of which the median takes less than 100 µs, beside handshakes of so long, of which some were lost.
    fn beside_handshakes(ns: Nanos, lost: u64) -> String {
        let facts = ProbeFacts::default();
        let mut builder = SummaryBuilder::new(RecordFacts::default(), 100);
        for seq in 0..20 {
            let mut record = Record::due(0, 1, seq, Method::TcpConnect, 0);
            (record.t_begin, record.t_send) = (Some(0), Some(0));
            record.outcome = Outcome::Lost;
            if seq >= lost {
                (record.t_connected, record.t_recv) = (Some(ns), Some(ns + MICROSECOND));
                record.outcome = Outcome::Ok;
            }
            builder.push(&record);
        }
        let summary = builder.finish();
        let sample = full();
        let ping = Ping {
            handshakes: Some(Handshakes {
                facts: &facts,
                summary: &summary,
            }),
            ..sample.ping()
        };
        let verdict = ping.verdict().unwrap();
        let (_, said) = verdict
            .split_once(&sample.ping().verdict().unwrap())
            .unwrap();
        said.to_owned()
    }

    #[test]
    fn connections_that_take_long_to_get_are_in_the_verdict() {
        assert_eq!(beside_handshakes(30 * MICROSECOND, 1), "");
        assert_eq!(
            beside_handshakes(1_000_000 * MICROSECOND, 0),
            " A new connection takes 1.00 s more, by the 20 handshakes during these requests."
        );
        assert_eq!(
            beside_handshakes(30 * MICROSECOND, 8),
            " 8 of the 20 handshakes during these requests were not answered: new connections take longer than these figures say."
        );
    }
}
