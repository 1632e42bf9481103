//! What a stream of load did, held against what was asked of it.

use crate::Nanos;
use crate::load::{Direction, LoadKind};
use crate::trial::StreamRun;
use crate::units::{format_duration, format_duration_f64};
use crate::words::each_once;

/// A rate-controlled stream may miss this share of what was asked of it.
pub const TOLERANCE: f64 = 0.01;

/// So much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Packets; 0 for tcp, whose packets are the kernel's business.
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
}

impl Amount {
    /// One packet more.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// What the other end counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// What arrived.
    pub amount: Amount,
    /// From the first that arrived to the last; 0 also where it does not say.
    pub span: Nanos,
    /// Packets that came after one that was sent later.
    pub reordered: u64,
    /// Packets that came again: copies that the path made. They are in no other count.
    pub copies: u64,
    /// Packets that it got and did not take, as they are over its limits.
    pub refused: u64,
    /// Packets that its buffer had no room for: of this stream, or of others that it counts.
    pub overflowed: u64,
    /// Packets of others that its buffer has had meanwhile; 0 also where it does not say.
    pub of_others: u64,
    /// Whose packets its buffer may have had no room for.
    pub whose_overflow: Whose,
}

impl Received {
    /// All packets of the stream that reached the other end and were read there.
    const fn came(&self) -> u64 {
        self.amount.packets + self.refused + self.copies
    }
}

/// Whose packets a buffer may have had no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Whose {
    /// This stream's.
    #[default]
    Own,
    /// Those of several of these streams: what they lost together is known.
    Streams,
    /// Those of other senders, too.
    Anyone,
}

/// What a stream did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReport {
    /// As in series.
    pub name: String,
    /// How it sends.
    pub kind: LoadKind,
    /// Which way.
    pub direction: Direction,
    /// From its first packet to its end; `None`: it never began.
    pub lasted: Option<Nanos>,
    /// tcp: what the kernel uses.
    pub congestion_control: Option<String>,
    /// tcp: nobody had said which.
    pub default_congestion_control: bool,
    /// What its schedule wanted sent by its end (at least: only so many missed packets are counted); tcp has
    /// none.
    pub due: Option<Amount>,
    /// What was sent; tcp: what the receiving end acknowledged.
    pub sent: Amount,
    /// What arrived, as the other end says, or this one, where it came down; `None`: the other no longer did.
    pub received: Option<Received>,
    /// tcp: for so long a limit of the reflector held it back.
    pub held_back: Nanos,
    /// tcp: segments that were sent again.
    pub retransmits: Option<u64>,
    /// tcp: the kernel's estimate of the round trip on this connection, a few times a second.
    pub round_trips: Vec<Nanos>,
    /// Why it ended before the probes did, or what could not be learned.
    pub failed: Option<String>,
}

impl StreamReport {
    /// Of a stream that has not begun.
    pub fn new(run: &StreamRun) -> Self {
        let load = &run.load;
        Self {
            name: run.name(),
            kind: load.kind,
            direction: load.direction,
            lasted: None,
            congestion_control: None,
            default_congestion_control: load.kind == LoadKind::Tcp
                && load.congestion_control.is_none(),
            due: None,
            sent: Amount::default(),
            received: None,
            held_back: 0,
            retransmits: None,
            round_trips: Vec::new(),
            failed: None,
        }
    }

    /// Bits of payload a second, as the end that they go to counted them; tcp: what it acknowledged, where it did not. What
    /// waited in a queue arrives after the stream's end, and the time of that counts.
    pub fn goodput(&self) -> Option<f64> {
        let span = self.received.map_or(0, |received| received.span);
        let lasted = self.lasted.filter(|&lasted| lasted > 0)?.max(span);
        let received = self.received.map(|received| received.amount.bytes);
        let acknowledged = (self.kind == LoadKind::Tcp).then_some(self.sent.bytes);
        let bytes = received.or(acknowledged)?;
        Some(bytes as f64 * 8e9 / lasted as f64)
    }

    /// Packets that were lost; tcp: segments that had to be sent again. `None`: not known, also where the other end's buffer
    /// had no room for some and it may have been others'.
    pub fn lost(&self) -> Option<u64> {
        let missing = self.missing()?;
        match self.received {
            Some(received) if received.whose_overflow > Whose::Own && missing > 0 => None,
            received => Some(missing.saturating_sub(received.map_or(0, |r| r.overflowed))),
        }
    }

    /// Packets that were lost or had no room in the other end's buffer; tcp: segments that were sent again.
    fn missing(&self) -> Option<u64> {
        if self.kind == LoadKind::Tcp {
            return self.retransmits;
        }
        let received = self.received?;
        let arrived = received.amount.packets + received.refused;
        Some(self.sent.packets.saturating_sub(arrived))
    }

    /// The share of its schedule that it did not send. One packet is under way at any moment: a schedule cannot be
    /// missed by less than that.
    fn missed(&self) -> Option<f64> {
        let due = self.due.filter(|due| due.bytes > 0)?;
        if self.sent.packets + 1 >= due.packets && due.packets > 0 {
            return None;
        }
        Some(1.0 - self.sent.bytes as f64 / due.bytes as f64)
    }

    /// Why the trial is not what its experiment meant.
    pub fn flaws(&self) -> Vec<String> {
        let name = &self.name;
        let mut flaws = Vec::new();
        if let Some(why) = &self.failed {
            flaws.push(format!("load `{name}`: {why}"));
        }
        let Some(lasted) = self.lasted else {
            if self.failed.is_none() {
                flaws.push(format!(
                    "load `{name}` never began: its `start` is after the end of the last probe"
                ));
            }
            return flaws;
        };
        if let Some(missed) = self.missed().filter(|&missed| missed > TOLERANCE) {
            let due = self.due.unwrap_or_default().bytes;
            flaws.push(format!(
                "load `{name}` offered {:.1} % less than it should: {} of {due} bytes in {}. Either \
                 this host's own queue and line are slower than that, and it takes a lower rate; or this host cannot send as \
                 fast, and larger packets help",
                missed * 100.0,
                self.sent.bytes,
                format_duration(lasted),
            ));
        }
        if self.kind == LoadKind::Tcp && self.sent.bytes == 0 && self.failed.is_none() {
            flaws.push(format!(
                "load `{name}`: nothing got through in {}",
                format_duration_f64(lasted as f64)
            ));
        }
        flaws
    }

    /// Which congestion controls were used where none was asked for, a sentence each, however many streams used it.
    pub fn by_default(streams: &[Self]) -> Vec<String> {
        let by_default = streams.iter().filter(|it| it.default_congestion_control);
        let used = by_default.filter_map(|it| it.congestion_control.as_deref());
        let used = each_once(used).into_iter();
        used.map(|used| {
            format!(
                "the load uses the congestion control `{used}`: `congestion_control` is not given"
            )
        })
        .collect()
    }

    /// What to check before trusting the figures.
    pub fn warnings(&self) -> Vec<String> {
        let name = &self.name;
        let received = self.received.unwrap_or_default();
        // No more of what the buffer dropped is its own than it misses.
        let overflowed = received.overflowed.min(self.missing().unwrap_or(0));
        let not_taken = received.refused + overflowed;
        let others = match received.whose_overflow {
            _ if overflowed == 0 => String::new(),
            Whose::Own => String::new(),
            Whose::Streams => format!(
                ". Up to {overflowed} of them may be other streams': how many this one lost is not known"
            ),
            Whose::Anyone => format!(
                ". Up to {overflowed} of them may be others', who load that end as well: how many were lost is not known"
            ),
        };
        let refused = (not_taken > 0).then(|| {
            format!(
                "load `{name}`: {not_taken} packets reached the other end and were not taken there: they are \
                 over its limits (--max-rate, --max-bandwidth), or it is too slow. They are not counted \
                 as lost{others}"
            )
        });
        let held_back = (self.held_back > 0).then(|| {
            format!(
                "load `{name}`: the reflector's limit (--max-bandwidth) held it back for {} of {}: what was measured is that \
                 limit, and not the path under load. Start the reflector with a larger one, or give the load a lower `rate`",
                format_duration(self.held_back),
                format_duration(self.lasted.unwrap_or(0)),
            )
        });
        refused.into_iter().chain(held_back).collect()
    }
}

/// One buffer has the packets of all streams to it, and other senders': marks whose it may have had no room for.
pub fn mark_others_overflow(reports: &mut [StreamReport]) {
    let received = reports.iter_mut().filter_map(|r| r.received.as_mut());
    let mut received: Vec<_> = received.collect();
    let came: u64 = received.iter().map(|r| r.came()).sum();
    let several = received.iter().filter(|r| r.overflowed > 0).count() > 1;
    for received in received.iter_mut().filter(|r| r.overflowed > 0) {
        received.whose_overflow = match received.of_others > came - received.came() {
            true => Whose::Anyone,
            false if several => Whose::Streams,
            false => Whose::Own,
        };
    }
}

/// Packets of all streams that were lost; `None` without any that can tell, and where some may be other senders'.
pub fn lost(reports: &[StreamReport]) -> Option<u64> {
    let of_others = |report: &StreamReport| {
        let whose = report.received.map(|received| received.whose_overflow);
        whose == Some(Whose::Anyone) && report.lost().is_none()
    };
    if reports.iter().any(of_others) {
        return None;
    }
    let missing = |report: &StreamReport| {
        let overflowed = report.received.map_or(0, |received| received.overflowed);
        Some((report.missing()?, overflowed))
    };
    let missing: Vec<(u64, u64)> = reports.iter().filter_map(missing).collect();
    let all: u64 = missing.iter().map(|(missing, _)| missing).sum();
    // What one buffer had no room for, each of its streams reports.
    let beside_it = missing.iter().filter(|(_, overflowed)| *overflowed > 0);
    let overflowed = missing.iter().map(|(_, overflowed)| *overflowed).max()?;
    Some(all - overflowed.min(beside_it.map(|(missing, _)| missing).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report(due: u64, sent: u64) -> StreamReport {
        let amount = |packets| Amount {
            packets,
            bytes: packets * 1000,
        };
        StreamReport {
            name: "bulk".to_owned(),
            kind: LoadKind::Cbr,
            direction: Direction::Up,
            lasted: Some(1_000_000_000),
            congestion_control: None,
            default_congestion_control: false,
            due: Some(amount(due)),
            sent: amount(sent),
            received: Some(Received {
                amount: amount(sent),
                ..Received::default()
            }),
            held_back: 0,
            retransmits: None,
            round_trips: Vec::new(),
            failed: None,
        }
    }

    /// Six of seven packets are 14 % less, and as many as fit.
    #[test]
    fn a_packet_under_way_is_no_miss() {
        for due in 1..100 {
            assert!(report(due, due - 1).flaws().is_empty(), "{due}");
        }
        assert!(!report(100, 98).flaws().is_empty());
    }

    #[test]
    fn a_miss_is_a_flaw_with_its_figure() {
        assert!(report(1000, 991).flaws().is_empty());
        let flaws = report(1000, 970).flaws();
        assert!(flaws[0].contains("3.0 % less") && flaws[0].contains("970000 of 1000000"));
    }

    #[test]
    fn what_never_began_is_a_flaw() {
        let mut never = report(0, 0);
        never.lasted = None;
        assert!(never.flaws()[0].contains("never began"));
        never.failed = Some("it broke".to_owned());
        assert_eq!(never.flaws(), ["load `bulk`: it broke"]);
    }

    #[test]
    fn what_was_refused_is_not_lost() {
        let mut short = report(1000, 1000);
        short.received = Some(Received {
            amount: Amount {
                packets: 900,
                bytes: 900_000,
            },
            refused: 60,
            ..Received::default()
        });
        assert_eq!(short.lost(), Some(40));
        assert!(short.warnings()[0].contains("60 packets"));
        short.received = None;
        assert_eq!((short.lost(), lost(&[short])), (None, None));
        assert_eq!(lost(&[]), None);
    }

    /// Two streams, of which one lost 500 on the path and the other 500 in the buffer that both have.
    #[test]
    fn what_a_shared_buffer_dropped_is_taken_off_once() {
        let received = Received {
            amount: Amount {
                packets: 500,
                bytes: 500_000,
            },
            overflowed: 500,
            ..Received::default()
        };
        let mut reports = [(); 2].map(|()| report(1000, 1000));
        reports[0].received = Some(received);
        mark_others_overflow(&mut reports);
        assert_eq!((reports[0].lost(), lost(&reports)), (Some(0), Some(0)));
        reports[1].received = Some(received);
        mark_others_overflow(&mut reports);
        assert_eq!((reports[0].lost(), lost(&reports)), (None, Some(500)));
        assert!(reports[0].warnings()[0].contains("Up to 500"));
        // One that misses none says nothing of what was dropped.
        reports[1].received = reports[1].received.map(|received| Received {
            amount: Amount {
                packets: 1000,
                bytes: 1_000_000,
            },
            ..received
        });
        assert_eq!(reports[1].lost(), Some(0));
        assert_eq!(reports[1].warnings(), Vec::<String>::new());
    }

    /// Of 1000 packets 500 are missing, while another sender floods the same buffer.
    #[test]
    fn what_another_sender_overflowed_is_not_taken_off() {
        let received = Received {
            amount: Amount {
                packets: 500,
                bytes: 500_000,
            },
            overflowed: 500,
            of_others: 500,
            ..Received::default()
        };
        let mut reports = [(); 2].map(|()| report(1000, 1000));
        for report in &mut reports {
            report.received = Some(received);
        }
        mark_others_overflow(&mut reports[..1]);
        assert_eq!((reports[0].lost(), lost(&reports[..1])), (None, None));
        let warnings = reports[0].warnings();
        assert!(warnings[0].contains("Up to 500"), "{warnings:?}");
        // The others are those of the second stream.
        mark_others_overflow(&mut reports);
        assert_eq!((reports[0].lost(), lost(&reports)), (None, Some(500)));
        // It misses none: what others lost is nothing to it.
        let all = received.amount.packets;
        reports[0].sent.packets = all;
        mark_others_overflow(&mut reports[..1]);
        assert_eq!((reports[0].lost(), lost(&reports[..1])), (Some(0), Some(0)));
    }

    #[test]
    fn a_limit_that_held_it_back_is_said() {
        let mut stream = report(1000, 1000);
        assert!(stream.warnings().is_empty());
        stream.held_back = 900_000_000;
        let warnings = stream.warnings();
        assert!(warnings[0].contains("900 ms of 1.00 s"), "{warnings:?}");
    }

    /// 20 Mbit/s for 5 s into a line of 10 Mbit/s with a second of queue.
    #[test]
    fn what_drains_later_took_its_time() {
        let mut stream = report(12_500, 12_500);
        stream.lasted = Some(5_000_000_000);
        stream.received = Some(Received {
            amount: Amount {
                packets: 7_500,
                bytes: 7_500_000,
            },
            span: 6_000_000_000,
            ..Received::default()
        });
        assert_eq!(stream.goodput(), Some(1e7));
    }

    #[test]
    fn what_was_sent_is_not_what_arrived() {
        let mut stream = report(1000, 1000);
        assert_eq!(stream.goodput(), Some(8e6));
        stream.received = None;
        assert_eq!(stream.goodput(), None);
        // What TCP sent was acknowledged.
        stream.kind = LoadKind::Tcp;
        assert_eq!(stream.goodput(), Some(8e6));
    }

    proptest! {
        #[test]
        fn a_flaw_says_so_exactly_past_the_tolerance(due in 1_u64..1_000_000, sent in 0_u64..1_000_000) {
            let sent = sent.min(due);
            let missed = 1.0 - sent as f64 / due as f64;
            let flawed = !report(due, sent).flaws().is_empty();
            prop_assert_eq!(flawed, missed > TOLERANCE);
        }
    }
}
