//! What was probed, and what became of the packets.

use crate::style::{Paint, Style};
use crate::text::FIRM_SPACE;
use crate::text::paragraph;
use delaylab_model::dscp::ecn_name;
use delaylab_model::trial::{LossDirection, ProbeFacts, ProbeRun};
use delaylab_model::units::{format_duration, format_part};
use delaylab_stats::summary::{Counts, ErrorReply, Retransmitted, answers, refusals};
use delaylab_view::ping::Ping;
use delaylab_view::words::plural;

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let title = format!(
        "--- {} ({}) ---",
        ping.target,
        asked(ping.target, ping.run).join(", ")
    );
    style.paint(Paint::Bold, &title) + "\n" + &paragraph(&counts(ping), Paint::Plain, style)
}

/// `udp, 56 B payload, 84 B IP, be`: what is asked of a target that the user named like this.
pub fn asked(target: &str, run: &ProbeRun) -> Vec<String> {
    let probe = &run.probe;
    let address = run.target.ip().to_string();
    let mut asked = Vec::new();
    if address != target {
        asked.push(address);
    }
    asked.push(probe.method.to_string());
    match &probe.request {
        Some(request) => asked.push(request.to_string()),
        None => asked.push(format!("{} B payload", probe.payload)),
    }
    asked.extend(probe.reply_payload.map(|size| format!("{size} B reply")));
    asked.extend(ip_size(run).map(|size| format!("{size} B IP")));
    asked.push(probe.dscp.to_string());
    if probe.ecn != 0 {
        asked.push(ecn_name(probe.ecn).to_owned());
    }
    asked
}

/// Bytes of the IP packet.
pub(super) fn ip_size(run: &ProbeRun) -> Option<u32> {
    let probe = &run.probe;
    probe.method.ip_size(run.target.is_ipv6(), probe.payload)
}

/// `1000 sent in 60.0 s, 998 received, 0.20 % lost (1 on the way out, 1 on the way back)`.
pub(super) fn counts(ping: &Ping<'_>) -> String {
    let counts = &ping.summary.counts;
    let mut parts = vec![
        format!(
            "{} sent in {}",
            counts.sent,
            format_duration(ping.summary.span_ns)
        ),
        format!("{} received", counts.received),
        format!(
            "{} lost{}",
            format_part(counts.lost, counts.ended()),
            direction(ping.facts.loss)
        ),
    ];
    let rare = rare(counts).into_iter();
    let rare = rare.chain([
        (unmatched(ping.facts), "unmatched"),
        (ping.facts.rejected, "invalid"),
    ]);
    let happened = rare.filter(|(count, _)| *count > 0);
    parts.extend(happened.map(|(count, what)| {
        if what == REFUSED {
            return refused(count, &ping.summary.refusals);
        }
        format!("{count}{FIRM_SPACE}{what}")
    }));
    parts.extend(answers::bad(&ping.summary.answers));
    parts.extend(sent_again(ping));
    parts.join(", ")
}

/// `12 segments sent again`: what TCP repairs is not lost, and takes its time.
fn sent_again(ping: &Ping<'_>) -> Option<String> {
    let Retransmitted { segments, requests } = ping.summary.retransmitted?;
    let what = match ping.run.probe.method.is_handshake() {
        true => "SYN",
        false => "segment",
    };
    let again = plural(segments, what);
    (segments > 0).then(|| format!("{again} sent again for {}", plural(requests, "request")))
}

/// Replies that belong to no packet, and copies that came late.
fn unmatched(facts: &ProbeFacts) -> u64 {
    let later = facts.loss.map_or(0, |loss| loss.answered_later);
    facts.strays.saturating_sub(later)
}

/// ` (1 on the way out, 2 on the way back)`, where the reflector's count tells.
fn direction(loss: Option<LossDirection>) -> String {
    let Some(loss) = loss else {
        return String::new();
    };
    let ways = [
        (loss.forward, "on the way out"),
        (loss.back, "on the way back"),
        (loss.unknown, "unknown where"),
        (loss.answered_later, "answered long after the time-out"),
        (
            loss.in_host.reflector_buffer,
            "in the reflector's full buffer",
        ),
        (
            loss.in_host.reflector_limit,
            "by the reflector's rate limit",
        ),
        (loss.in_host.own_buffer, "in this host's full buffer"),
    ];
    let lost = ways.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = lost.map(|(count, way)| format!("{count} {way}")).collect();
    if words.is_empty() {
        return String::new();
    }
    format!(" ({})", words.join(", "))
}

/// `2 ICMP errors (TTL exceeded, from 192.0.2.1)`; `2 refused` where records do not say that it was by ICMP.
fn refused(count: u64, refusals: &[(ErrorReply, u64)]) -> String {
    let why = match refusals::described(refusals) {
        why if why.is_empty() => why,
        why => format!(" ({why})"),
    };
    let by_icmp = |(refusal, _): &(ErrorReply, u64)| refusal.reason.is_some();
    let what = match (refusals.is_empty(), count) {
        (false, 1) if refusals.iter().all(by_icmp) => format!("ICMP{FIRM_SPACE}error"),
        (false, _) if refusals.iter().all(by_icmp) => format!("ICMP{FIRM_SPACE}errors"),
        _ => REFUSED.to_owned(),
    };
    format!("{count}{FIRM_SPACE}{what}{why}")
}

/// What packets are called for which an error came.
pub(crate) const REFUSED: &str = "refused";

/// What seldom befalls packets, and how often it did.
pub fn rare(counts: &Counts) -> [(u64, &'static str); 8] {
    [
        (counts.late, "late"),
        (counts.duplicate, "duplicate"),
        (counts.reordered, "reordered"),
        (counts.corrupt, "corrupt"),
        (counts.refused, REFUSED),
        (counts.local_error, "not sent (local error)"),
        (counts.skipped, "not sent (skipped)"),
        (counts.under_way, "still under way when it was stopped"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::full;

    /// Stopped by Ctrl-C: packets whose end is not known are neither lost, nor "not sent", nor received.
    #[test]
    fn what_is_under_way_at_the_end_is_no_loss() {
        let mut sample = full();
        sample.facts = ProbeFacts::default();
        let mut counted = |received, lost, under_way| {
            sample.summary.counts = Counts {
                sent: 100,
                received,
                lost,
                under_way,
                ..Counts::default()
            };
            let text = counts(&sample.ping()).replace(FIRM_SPACE, " ");
            text.split_once(", ").map(|(_, rest)| rest.to_owned())
        };
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(
            counted(10, 10, 80),
            told("10 received, 50 % lost, 80 still under way when it was stopped")
        );
        assert_eq!(
            counted(0, 0, 100),
            told("0 received, – lost, 100 still under way when it was stopped")
        );
    }
}
