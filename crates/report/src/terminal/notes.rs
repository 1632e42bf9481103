//! The sender's lateness, delay variation, stamps as delivered, clock events, warnings.

use super::short_name;
use crate::ping::Ping;
use crate::style::{Paint, Style, plural, short_percent};
use crate::table::wrap;
use delaylab_model::trial::{Delivery, StampPoint};
use delaylab_model::units::{format_duration, format_duration_f64};
use delaylab_stats::summary::Summary;
use std::iter::repeat;

/// Columns of a label and the space behind it: as in the table of distributions.
const LABEL: usize = 12;

pub(super) fn section(ping: &Ping<'_>, style: &Style) -> String {
    let note = |label, paint, texts: &[String]| note(label, paint, texts, style);
    [
        note("sender", Paint::Plain, &[lateness(ping)]),
        note(
            "variation",
            Paint::Plain,
            &variation(ping.summary, style.verbose),
        ),
        note("stamps", Paint::Plain, &[stamps(ping)]),
        note("clock", Paint::Warning, &[clock_events(ping)]),
        note("quantiles", Paint::Plain, &[quantile_error(ping)]),
        note("warning", Paint::Warning, &ping.facts.warnings),
    ]
    .concat()
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
        0 => "no slot skipped".to_owned(),
        n => plural(n, "slot") + " skipped",
    };
    let Some(late) = &ping.summary.lateness else {
        return format!("nothing sent, {skipped}");
    };
    let [p50, p99, max] = [late.p50, late.p99, late.max].map(format_duration);
    format!("late by p50 {p50}, p99 {p99}, max {max}; {skipped}")
}

/// Two lines, or all of it. Empty where there are too few packets for any.
fn variation(summary: &Summary, verbose: bool) -> Vec<String> {
    let v = &summary.variation;
    let whole = |ns: Option<i64>| ns.map(|ns| ns as f64);
    let brief: [&[(&str, Option<f64>)]; 2] = [
        &[
            ("IPDV sd", v.ipdv_sd),
            ("IPDV IQR", whole(v.ipdv_iqr)),
            ("mean |IPDV|", v.ipdv_abs_mean),
        ],
        &[
            ("PDV p99", whole(v.pdv_p99)),
            ("RFC 3550 jitter", v.rfc3550),
            ("mdev", v.mdev),
        ],
    ];
    let rest: [&[(&str, Option<f64>)]; 2] = [
        &[
            ("mean IPDV", v.ipdv_mean),
            ("PDV p50", whole(v.pdv_p50)),
            ("PDV p99.9", whole(v.pdv_p999)),
        ],
        &[
            ("sd", v.sd),
            ("Y.1541", whole(v.y1541)),
            ("MAPDV2", v.mapdv2),
        ],
    ];
    let rows = brief
        .into_iter()
        .chain(rest.into_iter().filter(|_| verbose));
    let mut lines: Vec<_> = rows.map(measures).filter(|line| !line.is_empty()).collect();
    if verbose {
        lines.extend(
            v.mos
                .map(|mos| format!("MOS {mos:.2} (simplified E-model, not G.107)")),
        );
        let within = summary.within_500us.map(short_percent);
        lines.extend(within.map(|share| format!("{share} within ±500 µs of the mean round trip")));
    }
    lines
}

fn measures(row: &[(&str, Option<f64>)]) -> String {
    let known = row.iter().filter_map(|(name, ns)| Some((name, (*ns)?)));
    let words: Vec<_> = known
        .map(|(name, ns)| format!("{name} {}", format_duration_f64(ns)))
        .collect();
    words.join(", ")
}

/// What is missing, and what merges because of it.
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
    lists.join("; ") + &merged(ping)
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

fn clock_events(ping: &Ping<'_>) -> String {
    let [steps, suspends, slow] = ping.summary.counts.clock_events;
    let kinds = [
        (steps, "set"),
        (suspends, "suspended"),
        (slow, "slow to read"),
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
