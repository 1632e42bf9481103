//! The sender's lateness, delay variation, stamps as delivered, clock events, warnings.

use super::head::ip_size;
use crate::style::{Paint, Style};
use crate::text::wrap;
use delaylab_model::MILLISECOND;
use delaylab_model::probe::{DontFragment, Probe};
use delaylab_model::trial::{Delivery, StampPoint};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::voice::{Voice, Way};
use delaylab_view::missing;
use delaylab_view::ping::{Handshakes, Ping};
use delaylab_view::words::short_name;
use delaylab_view::words::{plural, short_percent};
use std::iter::repeat;
use std::net::IpAddr;

/// Columns of a label and the space behind it: as in the table of distributions.
const LABEL: usize = 12;

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let note = |label, paint, texts: &[String]| note(label, paint, texts, style);
    [
        note("sender", Paint::Plain, &[lateness(ping)]),
        note("variation", Paint::Plain, &variation(ping, style.verbose)),
        note("handshakes", Paint::Plain, &handshakes(ping)),
        note("stamps", Paint::Plain, &[stamps(ping)]),
        note("negotiated", Paint::Plain, &negotiated(ping)),
        note("resolved", Paint::Plain, &resolved(ping)),
        note("path MTU", Paint::Plain, &path_mtu(ping, style.verbose)),
        note("clock", Paint::Warning, &[clock_events(ping)]),
        note("quantiles", Paint::Plain, &[quantile_error(ping)]),
        note("warning", Paint::Warning, &ping.facts.warnings),
    ]
    .concat()
}

fn handshakes(ping: &Ping<'_>) -> Vec<String> {
    let made = ping.handshakes.iter();
    made.map(Handshakes::in_a_line).collect()
}

/// With the server, where there is something to negotiate.
fn negotiated(ping: &Ping<'_>) -> Vec<String> {
    let each = ping.facts.negotiated.iter();
    each.map(ToString::to_string).collect()
}

/// The addresses that a name has. Answers that take turns are told apart.
fn resolved(ping: &Ping<'_>) -> Vec<String> {
    let set = |addresses: &Vec<IpAddr>| {
        let addresses = addresses.iter().map(ToString::to_string);
        addresses.collect::<Vec<_>>().join(", ")
    };
    ping.facts.resolved.iter().map(set).collect()
}

/// Lines with a label at the left of the first. Nothing, where there is nothing to say.
fn note(label: &str, paint: Paint, texts: &[String], style: &Style) -> String {
    let lines = texts
        .iter()
        .flat_map(|text| wrap(text, style.columns() - LABEL));
    let labels = [label].into_iter().chain(repeat(""));
    let labelled = labels.zip(lines);
    let draw =
        |(label, line): (_, String)| format!("{label:<LABEL$}{}\n", style.paint(paint, &line));
    labelled.map(draw).collect()
}

fn lateness(ping: &Ping<'_>) -> String {
    let skipped = match ping.summary.counts.skipped {
        0 => "no send time skipped".to_owned(),
        n => plural(n, "send time") + " skipped",
    };
    let Some(late) = &ping.summary.lateness else {
        return format!("nothing sent, {skipped}");
    };
    let [p50, max] = [late.p50, late.max].map(format_duration);
    let p99 = late.carried_p99();
    let p99 = p99.map_or_else(String::new, |ns| format!(" p99 {},", format_duration(ns)));
    format!("sent late by p50 {p50},{p99} max {max}; {skipped}")
}

/// Two lines, or all of it. Empty where there are too few packets for any.
fn variation(ping: &Ping<'_>, verbose: bool) -> Vec<String> {
    let summary = ping.summary;
    let v = &summary.variation;
    let whole = |ns: Option<i64>| ns.map(|ns| ns as f64);
    let brief: [&[(&str, Option<f64>)]; 2] = [
        &[
            ("IPDV sd", v.ipdv_sd_ns),
            ("IPDV IQR", whole(v.ipdv_iqr_ns)),
            ("mean |IPDV|", v.ipdv_abs_mean_ns),
        ],
        &[
            ("PDV p99", whole(v.pdv_p99_ns)),
            ("RFC 3550 jitter", v.rfc3550_ns),
            ("mdev", v.mdev_ns),
        ],
    ];
    let rest: [&[(&str, Option<f64>)]; 2] = [
        &[
            ("mean IPDV", v.ipdv_mean_ns),
            ("PDV p50", whole(v.pdv_p50_ns)),
            ("PDV p99.9", whole(v.pdv_p999_ns)),
        ],
        &[
            ("round trip sd", v.sd_ns),
            ("Y.1541", whole(v.y1541_ns)),
            ("MAPDV2", v.mapdv2_ns),
        ],
    ];
    let rows = brief
        .into_iter()
        .chain(rest.into_iter().filter(|_| verbose));
    let mut lines: Vec<_> = rows.map(measures).filter(|line| !line.is_empty()).collect();
    if verbose || is_like_voice(&ping.run.probe) {
        lines.extend(Voice::new(summary, ping.facts.loss).map(|scored| voice(&scored)));
    }
    if verbose {
        let within = summary.within_500us.map(short_percent);
        lines.extend(within.map(|share| format!("{share} within ±500 µs of the mean round trip")));
    }
    lines
}

/// What a call over this path would be worth, and what that takes for granted.
fn voice(voice: &Voice) -> String {
    let worse = match voice.worse {
        Some(Way::Out) => " on the way out",
        Some(Way::Back) => " on the way back",
        None => "",
    };
    let alike = [(voice.delay_alike, "delay"), (voice.loss_alike, "loss")];
    let alike = alike.into_iter().filter(|(is_alike, _)| *is_alike);
    let alike: Vec<_> = alike.map(|(_, what)| what).chain(["variation"]).collect();
    format!(
        "MOS {:.2}{worse} (simplified E-model, not G.107: G.711 with loss concealment, 10 ms in the codec, a jitter \
         buffer of twice the mean |IPDV|; {} taken to be alike both ways)",
        voice.score,
        alike.join(" and ")
    )
}

/// Do packets leave as those of a call do: small, each 10 to 60 ms, or in the class for voice?
fn is_like_voice(probe: &Probe) -> bool {
    let gap = probe.pacing.mean_gap();
    let paced = gap.is_some_and(|gap| (10 * MILLISECOND..=60 * MILLISECOND).contains(&gap));
    let often = gap.is_some_and(|gap| gap <= 60 * MILLISECOND);
    let class = VOICE_CLASSES.contains(&probe.dscp.code_point());
    let asks_server = probe.method.asks_server();
    !asks_server && probe.payload <= VOICE_PAYLOAD && (paced || (often && class))
}

/// EF (RFC 3246) and VA (RFC 5865).
const VOICE_CLASSES: [u8; 2] = [46, 44];

/// G.711 of 30 ms with the headers of RTP and SRTP, rounded up.
const VOICE_PAYLOAD: u32 = 320;

fn measures(row: &[(&str, Option<f64>)]) -> String {
    let known = row.iter().filter_map(|(name, ns)| Some((name, (*ns)?)));
    let words: Vec<_> = known
        .map(|(name, ns)| format!("{name} {}", format_duration_f64(ns)))
        .collect();
    words.join(", ")
}

/// What is missing, what merges because of it, and why the reflector's departure is.
fn stamps(ping: &Ping<'_>) -> String {
    let ways = [
        (Delivery::Delivered, "delivered"),
        (Delivery::Missing, "missing"),
        (Delivery::Unsupported, "unsupported"),
        (Delivery::Off, "off"),
    ];
    let lists = ways.into_iter().filter_map(|(delivery, word)| {
        let names = named(ping, delivery);
        (!names.is_empty()).then(|| format!("{} {word}", names.join(", ")))
    });
    let lists: Vec<_> = lists.collect();
    let answered = ping.summary.response.is_some();
    let departure = missing::departure(ping.facts, &ping.run.probe).filter(|_| answered);
    let departure = departure.map_or_else(String::new, |why| format!("; no r_tx: {why}"));
    lists.join("; ") + &merged(ping) + &departure
}

/// NIC stamps that nobody asked for are not worth a word.
fn named(ping: &Ping<'_>, delivery: Delivery) -> Vec<&'static str> {
    let of_nic = |point| matches!(point, StampPoint::TTxHw | StampPoint::TRxHw);
    let stamps = ping.facts.stamps.iter();
    let these = stamps
        .filter(|&&(point, how)| how == delivery && !(delivery == Delivery::Off && of_nic(point)));
    these.map(|(point, _)| point.name()).collect()
}

/// `; so “send stack + local queue” is one stage`.
fn merged(ping: &Ping<'_>) -> String {
    let Some(at) = ping.summary.anatomy.first() else {
        return String::new();
    };
    let several = at.parts.iter().filter(|part| part.stages.len() > 1);
    let names: Vec<_> = several
        .map(|part| format!("“{}”", short_name(part.stages)))
        .collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; so {one} is one stage"),
        _ => format!("; so {} are one stage each", names.join(" and ")),
    }
}

/// What the path takes, where that decides something: packets must not be fragmented, are fragmented as they are, or
/// an error said that a link takes less than most do.
fn path_mtu(ping: &Ping<'_>, verbose: bool) -> Vec<String> {
    let Some(mtu) = ping.facts.path_mtu else {
        return Vec::new();
    };
    let probe = &ping.run.probe;
    let whole = matches!(probe.dont_fragment, DontFragment::Do | DontFragment::Probe);
    let is_cut = ip_size(ping.run).is_some_and(|size| size > mtu);
    if !(verbose || whole || is_cut || mtu < ETHERNET) {
        return Vec::new();
    }
    let cut = if is_cut && !whole {
        ": packets are fragmented"
    } else {
        ""
    };
    vec![format!("{mtu} B, as far as this host knows{cut}")]
}

/// The MTU of Ethernet.
const ETHERNET: u32 = 1500;

fn clock_events(ping: &Ping<'_>) -> String {
    let counts = &ping.summary.counts;
    let kinds = [
        (counts.clock_step, "set"),
        (counts.clock_suspend, "suspended"),
        (counts.clock_slow_read, "slow to read"),
    ];
    let happened = kinds.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = happened
        .map(|(count, what)| format!("{what} during {}", plural(count, "packet")))
        .collect();
    words.join(", ")
}

fn quantile_error(ping: &Ping<'_>) -> String {
    let error = ping.summary.quantile_error;
    error.map_or_else(String::new, |e| {
        format!("from histograms: within {:.2} % of the exact", e * 100.0)
    })
}
