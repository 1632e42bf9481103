//! One line a reply, as ping prints them, and the live status line.

use crate::ping::head::REFUSED;
use crate::style::{Paint, Style};
use delaylab_model::record::{Bounds, Outcome, Record};
use delaylab_model::trial::RecordFacts;
use delaylab_model::units::{format_duration, format_part};
use delaylab_model::{Nanos, SECOND};
use delaylab_stats::anatomy::{self, Place, StageSet};
use delaylab_stats::summary::ErrorReply;

/// Writes one line for each packet.
#[derive(Debug, Clone, Copy)]
pub struct LineWriter {
    /// How it may look.
    pub style: Style,
    /// How to read the records.
    pub facts: RecordFacts,
    /// An answer later than this after its packet was sent is late.
    pub timeout: Nanos,
    /// Where a stop was asked for: what time it is now. Packets are then not waited for to their time-out.
    pub stopping: Option<Nanos>,
    /// `CLOCK_REALTIME − CLOCK_MONOTONIC`: put the time of day before each line (`-D`).
    pub realtime_offset: Option<Nanos>,
}

impl LineWriter {
    /// The line of one packet, without its line feed.
    pub fn line(&self, record: &Record) -> String {
        let stamp = self
            .realtime_offset
            .map_or_else(String::new, |offset| time_of_day(record, offset));
        let (what, paint) = self.what(record);
        let line = format!(
            "{stamp}seq={} {}",
            record.seq,
            self.style.paint(paint, &what)
        );
        self.style.glyphs(line)
    }

    fn what(&self, record: &Record) -> (String, Paint) {
        let text = match record.outcome {
            Outcome::Ok => return (self.delay(record) + &notes(record), Paint::Plain),
            Outcome::Late => format!("late: {}{}", self.delay(record), notes(record)),
            Outcome::Corrupt => format!("corrupt reply after {}", self.delay(record)),
            Outcome::Lost => format!("lost (no reply {})", self.waited(record)),
            Outcome::Skipped if record.is_under_way() => {
                "still under way when it was stopped".to_owned()
            }
            Outcome::Skipped => "skipped (the sender was too late to send it)".to_owned(),
            Outcome::Refused => refused(record),
            Outcome::LocalError => match (record.path_mtu, record.errno) {
                (Some(mtu), _) => format!("not sent: longer than the path MTU of {mtu} B"),
                (None, Some(errno)) => {
                    format!("not sent: {}", std::io::Error::from_raw_os_error(errno))
                }
                (None, None) => "not sent".to_owned(),
            },
        };
        (text, Paint::Warning)
    }

    /// How long the reply to a lost packet was waited for.
    fn waited(&self, record: &Record) -> String {
        let ends = record.t_send.map(|sent| sent + self.timeout);
        match (self.stopping, ends) {
            (Some(now), Some(ends)) if now < ends => "before it was stopped".to_owned(),
            _ => format!("within {}", format_duration(self.timeout)),
        }
    }

    /// `host 97.1 µs + network 14.9 µs + server 3.21 ms`; of network and server together also what the server took at least
    /// and at most.
    fn of_server(&self, record: &Record) -> String {
        let sums = by_place(anatomy::parts(record, &self.facts));
        let terms = sums
            .iter()
            .map(|(name, ns)| format!("{name} {}", format_duration(*ns)));
        let terms = terms.collect::<Vec<_>>().join(" + ");
        let told = record.server_told().is_some();
        match record.server().filter(|_| !told) {
            Some(Bounds { least, most }) => format!(
                "{terms} (server {} to {})",
                format_duration(least),
                format_duration(most)
            ),
            None => terms,
        }
    }

    /// `112 µs = host 97.1 + network 14.9 µs`, or as much of it as is known.
    fn delay(&self, record: &Record) -> String {
        let Some(response) = record.response() else {
            return "an unknown time".to_owned();
        };
        if anatomy::is_of_server(record, &self.facts) {
            return format!("{} = {}", format_duration(response), self.of_server(record));
        }
        let network = anatomy::network(record, &self.facts);
        let host = anatomy::host(record, &self.facts);
        match (host, network) {
            (Some(host), Some(network)) => {
                format!("{} = {}", format_duration(response), sum(host, network))
            }
            _ => format_duration(response),
        }
    }
}

/// Times that are summed up under a name, in the order in which they come.
fn by_place(parts: Vec<(StageSet, Nanos)>) -> Vec<(String, Nanos)> {
    let mut sums: Vec<(String, Nanos)> = Vec::new();
    for (stages, ns) in parts {
        let name = match stages.place() {
            Place::Prober => "host".to_owned(),
            Place::Network => "network".to_owned(),
            _ => stages.name(),
        };
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += ns,
            None => sums.push((name, ns)),
        }
    }
    sums.retain(|(_, ns)| *ns != 0);
    sums
}

/// `TTL exceeded, from 192.0.2.1`, or as much of it as is known.
fn refused(record: &Record) -> String {
    match (record.icmp, record.refused_by) {
        (None, Some(address)) => format!("refused by {address}"),
        _ => ErrorReply::from_record(record)
            .described()
            .unwrap_or_else(|| REFUSED.to_owned()),
    }
}

/// `host 97.1 + network 14.9 µs`: the unit once where both have the same.
fn sum(host: Nanos, network: Nanos) -> String {
    let (host, network) = (format_duration(host), format_duration(network));
    match (host.split_once(' '), network.split_once(' ')) {
        (Some((figure, a)), Some((_, b))) if a == b => format!("host {figure} + network {network}"),
        _ => format!("host {host} + network {network}"),
    }
}

/// What else is worth a word about a reply.
fn notes(record: &Record) -> String {
    let mut notes = String::new();
    if let Some(answer) = record.answer {
        notes += &format!("  {answer}");
    }
    if let Some(ttl) = record.answer_ttl {
        notes += &format!("  for {ttl}s");
    }
    if let Some(ttl) = record.reply_ttl {
        notes += &format!("  ttl={ttl}");
    }
    if record.copies > 0 {
        notes += &format!("  copies={}", record.copies);
    }
    if record.reorder_extent > 0 {
        notes += &format!("  reordered={}", record.reorder_extent);
    }
    notes
}

/// `[1712345678.123456] `: when the reply was read, else when the packet was sent or due.
fn time_of_day(record: &Record, offset: Nanos) -> String {
    let at = record.t_recv.or(record.t_send).unwrap_or(record.t_intended);
    let at = at.saturating_add(offset);
    let (seconds, nanos) = (at.div_euclid(SECOND), at.rem_euclid(SECOND));
    format!("[{seconds}.{:06}] ", nanos / 1000)
}

/// What the live status line tells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Live {
    /// Packets handed to the kernel.
    pub sent: u64,
    /// Replies in time.
    pub received: u64,
    /// Given up as lost; packets still under way are not.
    pub lost: u64,
    /// The median response of late.
    pub p50: Option<Nanos>,
    /// The last response.
    pub latest: Option<Nanos>,
    /// Packets a second.
    pub rate: f64,
}

impl Live {
    /// The status line, without its line feed: as many of its parts as fit a line. One that is broken in two is not drawn
    /// over itself.
    pub fn line(&self, style: &Style) -> String {
        let mut parts = vec![
            format!("{} sent", self.sent),
            format!("{} received", self.received),
            format!("{} lost", format_part(self.lost, self.sent)),
        ];
        parts.extend(self.p50.map(|ns| format!("p50 {}", format_duration(ns))));
        parts.extend(
            self.latest
                .map(|ns| format!("last {}", format_duration(ns))),
        );
        let digits = if self.rate < 10.0 { 1 } else { 0 };
        parts.push(format!("{:.digits$}/s", self.rate));
        let fits = |count: &usize| fits_a_line(&parts[..*count].join("  "), style.width);
        let shown = (1..=parts.len()).rev().find(fits).unwrap_or(0);
        style.glyphs(style.paint(Paint::Dim, &parts[..shown].join("  ")))
    }
}

/// The last column stays free: some terminals go on to the next line once it is written.
fn fits_a_line(text: &str, columns: u16) -> bool {
    text.chars().count() < usize::from(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::icmp::IcmpReason;
    use delaylab_model::method::Method;
    use delaylab_view::samples::{answered, lose};

    const UNICODE: Style = Style {
        unicode: true,
        ..Style::PLAIN
    };

    fn writer() -> LineWriter {
        LineWriter {
            style: UNICODE,
            facts: RecordFacts::default(),
            timeout: SECOND,
            stopping: None,
            realtime_offset: None,
        }
    }

    fn line(change: impl Fn(&mut Record)) -> String {
        let mut record = answered(Method::Udp, 3);
        change(&mut record);
        writer().line(&record)
    }

    #[test]
    fn a_reply_says_where_its_time_went() {
        assert_eq!(
            line(|_| {}),
            "seq=3 59.7 µs = host 45.3 + network 14.4 µs  ttl=64"
        );
        let far = line(|r| {
            (r.t_rx, r.t_recv) = (
                r.t_rx.map(|t| t + 2_000_000),
                r.t_recv.map(|t| t + 2_000_000),
            )
        });
        assert_eq!(
            far,
            "seq=3 2.06 ms = host 45.3 µs + network 2.01 ms  ttl=64"
        );
        assert_eq!(line(|r| r.t_tx = None), "seq=3 59.7 µs  ttl=64");
        let again = line(|r| (r.copies, r.reorder_extent) = (1, 2));
        assert!(again.ends_with("ttl=64  copies=1  reordered=2"), "{again}");
    }

    #[test]
    fn what_went_wrong_is_named() {
        let lost = |outcome| {
            move |r: &mut Record| {
                lose(r);
                r.outcome = outcome
            }
        };
        assert_eq!(
            line(lost(Outcome::Lost)),
            "seq=3 lost (no reply within 1.00 s)"
        );
        assert_eq!(line(lost(Outcome::Refused)), "seq=3 refused");
        let by = |r: &mut Record| {
            lose(r);
            r.outcome = Outcome::Refused;
            r.refused_by = "10.0.0.9".parse().ok()
        };
        assert_eq!(line(by), "seq=3 refused by 10.0.0.9");
        let too_big = |r: &mut Record| {
            by(r);
            (r.icmp, r.icmp_type, r.icmp_code) = (Some(IcmpReason::TooBig), Some(3), Some(4));
            r.path_mtu = Some(1400);
        };
        assert_eq!(
            line(too_big),
            "seq=3 fragmentation needed: MTU 1400 B, from 10.0.0.9"
        );
        let error = |r: &mut Record| {
            lose(r);
            r.outcome = Outcome::LocalError;
            r.errno = Some(101)
        };
        assert_eq!(
            line(error),
            "seq=3 not sent: Network is unreachable (os error 101)"
        );
        assert!(line(|r| r.outcome = Outcome::Late).starts_with("seq=3 late: 59.7 µs = host"));
        assert!(
            line(|r| r.outcome = Outcome::Corrupt).starts_with("seq=3 corrupt reply after 59.7 µs")
        );
        assert_eq!(
            line(lost(Outcome::Skipped)),
            "seq=3 still under way when it was stopped"
        );
        let not_sent = |r: &mut Record| {
            lost(Outcome::Skipped)(r);
            r.t_send = None
        };
        assert!(line(not_sent).starts_with("seq=3 skipped"));
    }

    /// After Ctrl-C no packet is waited for to the end of a long `-W`.
    #[test]
    fn a_reply_is_not_said_to_have_been_waited_for_longer_than_it_was() {
        let mut record = answered(Method::Udp, 3);
        lose(&mut record);
        record.outcome = Outcome::Lost;
        let after = |waited| {
            let writer = LineWriter {
                stopping: record.t_send.map(|sent| sent + waited),
                ..writer()
            };
            writer.line(&record)
        };
        assert_eq!(
            after(SECOND - 1),
            "seq=3 lost (no reply before it was stopped)"
        );
        assert_eq!(after(SECOND), "seq=3 lost (no reply within 1.00 s)");
    }

    #[test]
    fn the_time_of_day_stands_before_the_line() {
        let writer = LineWriter {
            style: Style::PLAIN,
            realtime_offset: Some(1_712_344_678 * SECOND),
            ..writer()
        };
        let line = writer.line(&answered(Method::Icmp, 3));
        assert_eq!(
            line,
            "[1712345678.030059] seq=3 59.7 us = host 45.3 + network 14.4 us  ttl=64"
        );
    }

    #[test]
    fn the_status_line_leaves_out_what_is_not_known_yet() {
        let mut live = Live {
            sent: 1,
            rate: 1.0,
            ..Live::default()
        };
        assert_eq!(live.line(&UNICODE), "1 sent  0 received  0 % lost  1.0/s");
        live.received = 1;
        (live.p50, live.latest, live.rate) = (Some(60_100), Some(61_000), 1000.0);
        assert_eq!(
            live.line(&UNICODE),
            "1 sent  1 received  0 % lost  p50 60.1 µs  last 61.0 µs  1000/s"
        );
        for (width, expected) in [
            (
                64,
                "1 sent  1 received  0 % lost  p50 60.1 µs  last 61.0 µs  1000/s",
            ),
            (
                63,
                "1 sent  1 received  0 % lost  p50 60.1 µs  last 61.0 µs",
            ),
            (40, "1 sent  1 received  0 % lost"),
            (5, ""),
        ] {
            let style = Style { width, ..UNICODE };
            assert_eq!(live.line(&style), expected, "{width}");
        }
    }
}
