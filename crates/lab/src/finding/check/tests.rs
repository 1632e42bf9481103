//! What is read, what is refused and how, and that what is printed is read as the same.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::finding::measure::{DelayOf, Measure};
use delaylab_stats::anatomy::Stage;
use proptest::prelude::*;

fn reads(text: &str, again: &str) {
    let check = Check::parse(text).unwrap_or_else(|error| panic!("{}", error.pretty(text)));
    assert_eq!(check.to_string(), again);
    assert_eq!(Check::parse(again).unwrap(), check);
}

/// A check that prints as it is written.
fn same(text: &str) {
    reads(text, text);
}

#[test]
fn the_checks_of_the_specification() {
    same("for each condition: sd(response | wait=1ms) > sd(response | wait=0ms)");
    reads(
        "for each streams in [2, 3]: p50(response | case='per-VC, ASX200') < p50(response | case=EFCI) < p50(response | case=FIFO)",
        "for each streams in [2, 3]: p50(response | case='per-VC, ASX200') < p50(response | case=EFCI) < p50(response | case=FIFO)",
    );
    same("for each case: sd(ipdv | probe=be) > sd(ipdv | probe=ef)");
    same("for each threshold: r2(min(delay) on size) >= 0.99");
}

#[test]
fn every_form_is_read() {
    reads("p50(response)<5ms", "p50(response) < 5ms");
    reads("p50(response) <= 5 ms", "p50(response) <= 5ms");
    reads(
        "p50(rtt) ~= 5ms within 5 %",
        "p50(round_trip) ≈ 5ms within 5%",
    );
    reads("max(acr) ≥ 10 Mbit/s * 2", "max(acr) >= 10Mbit/s * 2");
    same("max(backlog) < 500cells");
    same("500cells / sd(response) > 0");
    reads("1cell/sd(response) > 0", "1cell / sd(response) > 0");
    same("iqr(pdv) ≈ 2 * iqr(ipdv) within 100us");
    same("share(pdv > 1ms | wait in [1ms, 100ms], condition!=quiet) < 5%");
    same("share(response <= mean(response) + 500us | size >= 4096B) > 0.95");
    same("not (count(response) < 10 or count(response) > 20) and max(copies) <= 0");
    same("slope(p50(response | a=b) on size | c=d) > 8ns / 1B");
    same("steps(min(response) on size) ≈ 48B within 2%");
    same("-(p99(response) - p50(response)) / 2 < 1us - -3us * (2 + 1)");
    reads(
        "p50(return) > p999(forward)",
        "p50(return_path) > p999(forward_path)",
    );
    same("mean(response | discipline=fq_codel, 'a b'='on', c='it is 3') > 0");
    reads(
        "max(response | discipline=fq-codel) > 0",
        "max(response | discipline='fq-codel') > 0",
    );
    same("for each probe, condition in [quiet, normal], size: max(response) < 1s");
    reads("(((max(lost)))) <= ((1))", "max(lost) <= 1");
    reads(
        "share(pdv > 500us) > 1 % \
         and share(pdv > 1ms) < 5 %",
        "share(pdv > 500us) > 1% and share(pdv > 1ms) < 5%",
    );
}

#[test]
fn quantiles_by_name() {
    for (name, parts) in [
        ("p1", 10_000),
        ("p50", 500_000),
        ("p99", 990_000),
        ("p995", 995_000),
        ("p999", 999_000),
        ("p9999", 999_900),
    ] {
        let text = format!("{name}(response) > 0");
        let check = Check::parse(&text).unwrap();
        let Claim::Compare(comparison) = &check.claim else {
            panic!("no comparison");
        };
        let Value::Statistic(statistic) = &comparison.first else {
            panic!("no statistic");
        };
        let quantile = Kind::Of(
            Functional::Quantile(f64::from(parts) / 1e6),
            Measure::Response,
        );
        assert_eq!(statistic.kind, quantile);
        assert_eq!(check.to_string(), text);
    }
    for wrong in ["p0", "p100", "p05", "p990", "p123", "p", "p99999999"] {
        refuses(
            &format!("{wrong}(response) > 0"),
            1,
            "there is no statistic",
        );
    }
}

/// Refuses the text at this column with words that contain these.
fn refuses(text: &str, column: usize, message: &str) {
    let error = Check::parse(text).unwrap_err();
    assert!(
        error.column == column && error.sentence().contains(message),
        "{}\n(column {})",
        error.pretty(text),
        error.column
    );
}

#[test]
fn errors_say_what_would_do() {
    refuses("", 1, "expected a statistic");
    refuses("p50(respnse) > 1ms", 5, "did you mean `response`?");
    refuses(
        "p50(speed) > 1ms",
        5,
        "there is no measure `speed`: one of `response`,",
    );
    refuses("mena(response) > 1ms", 1, "did you mean `mean`?");
    refuses(
        "response > 1ms",
        1,
        "it is a measure; write a statistic of it, like `p50(response)`",
    );
    refuses(
        "p50(response) > 5",
        1,
        "a number of ns is compared with a plain number: write the unit",
    );
    for plain in [
        "mean(lost_load) < 5packets",
        "5 packets > mean(lost_load)",
        "count(drops) < 5cells",
    ] {
        refuses(plain, 1, "leave the unit out");
    }
    refuses(
        "p50(response) > mean(lost_load)",
        1,
        "a number of ns is compared with a plain number",
    );
    refuses(
        "p50(response) > 5B",
        1,
        "a number of ns is compared with a number of B",
    );
    refuses(
        "mean(backlog) < 5ms",
        1,
        "backlog counts bytes, cells or packets",
    );
    refuses(
        "p50(response) < p50(backlog)",
        1,
        "backlog counts bytes, cells or packets",
    );
    refuses(
        "mean(drops | of='s1→s2') < 1",
        1,
        "drops is counted in packets, or in cells where links carry those, and is compared with a plain number: write \
         `1packets` or `1cells`",
    );
    refuses("0.5 <= mean(marks)", 1, "write `0.5packets` or `0.5cells`");
    refuses("max(peak_backlog) < 100", 1, "write `100B` or `100cells`");
    refuses("max(cwnd) < 2 * 100", 1, "write `1B` or `1kB`");
    refuses("share(backlog > 5) > 0", 17, "write `5B` or `5cells`");
    for fine in [
        "count(drops) < 1",
        "mean(drops) > 0",
        "mean(drops) < 2 * mean(marks)",
        "mean(lost_load) < 1",
    ] {
        assert!(Check::parse(fine).is_ok(), "{fine}");
    }
    refuses("lost < 1%", 1, "like `mean(lost)`");
    refuses(
        "mean(lost) < 5",
        1,
        "a share is 0 to 1, and is compared with 5",
    );
    refuses("-1 % < share(response > 1ms)", 1, "a share is 0 to 1");
    refuses(
        "p50(response) + 5B > 0",
        1,
        "is compared with a number of B",
    );
    refuses(
        "share(response > 5B) > 0",
        18,
        "a number of ns is compared with a number of B",
    );
    refuses(
        "share(backlog > 5ms) > 0",
        17,
        "backlog counts bytes, cells or packets",
    );
    refuses(
        "p50(response)",
        1,
        "this is a number and nothing true or false",
    );
    refuses(
        "(p50(response) > 0) + 1 > 0",
        1,
        "true or false and no number",
    );
    refuses("p50(response) == 1ms", 15, "never exactly equal");
    refuses("p50(response) = 1ms", 15, "never exactly equal");
    refuses("p50(response) ≈ 1ms", 20, "expected `within`");
    refuses(
        "p50(response) ≈ 1ms within 5",
        28,
        "expected a share of the right side",
    );
    refuses(
        "p50(response > 1ms",
        14,
        "`)` to end `p50(`, or `|` and selectors",
    );
    refuses("p50(response | wait 1ms) > 0", 21, "expected `=`");
    refuses("p50(response | wait=) > 0", 21, "expected a level");
    refuses("p50(response | wait=1ms) >", 27, "the check ends here");
    refuses("p50(response) > 1xs", 17, "`1xs` is not a quantity");
    refuses("p50(response) > 1ms 2", 21, "expected a comparison");
    refuses("for condition: p50(response) > 0", 5, "`each` after `for`");
    refuses("for each condition p50(response) > 0", 20, "expected `:`");
    refuses(
        "for each size in []: p50(response) > 0",
        19,
        "expected a level",
    );
    refuses(
        "p50(response | case='FIFO) > 0",
        21,
        "this quote has no end",
    );
    refuses("p50(response) > 1ms § 2", 21, "`§` means nothing here");
    refuses("p50(response) > 1ms && lost", 21, "write `and`");
    refuses("max(backlog | of=s1→s2) > 1B", 20, "`of='s1→s2'`");
    refuses("median(response) > 1ms", 1, "did you mean `p50`?");
    refuses("p50(latency) > 1ms", 5, "did you mean `response`?");
    refuses("slope(min(delay) on size) > 8ns/B", 33, "`8ns / 1B`");
    refuses(
        "for each case: mean(lost) < mean(lost | case=$case)",
        46,
        "`$` means nothing here: `for each FACTOR:` selects each level by itself",
    );
    refuses("slope(p50(response)) > 0", 20, "`on` and a factor");
    refuses(
        "slope(r2(min(delay) on a) on b) > 0",
        7,
        "a fit is of a statistic of a measure",
    );
    refuses("share(response) > 0", 15, "and a bound");
    refuses("µs(response) > 0", 1, "there is no statistic");
    refuses(
        &format!("{}1 > 0", "(".repeat(500)),
        66,
        "too many parentheses",
    );
    refuses(
        &format!("{}p1(lost) > 0", "not ".repeat(500)),
        261,
        "inside each other",
    );
}

#[test]
fn what_no_statistic_ever_is_is_refused() {
    for (text, column, message) in [
        (
            "p99(response) > -5ms",
            1,
            "p99(response) is never below 0, and is compared with less: a change is the difference",
        ),
        ("p99(response) ≈ -5ms within 1ms", 1, "never below 0"),
        (
            "-1 >= sd(ipdv) / 1ms or sd(ipdv) < -1ms",
            25,
            "never below 0",
        ),
        ("count(response) > -1", 1, "never below 0"),
        ("steps(min(delay) on size) >= -8B", 1, "never below 0"),
        (
            "p50(response) < 0",
            1,
            "p50(response) is never below 0: this is never true",
        ),
        (
            "p99(pdv(network)) < 0",
            1,
            "p99(pdv(network)) is never below 0: this is never true",
        ),
        (
            "0 > share(response > 1ms)",
            1,
            "a share is never below 0: this is never true",
        ),
        (
            "max(lost) > 1",
            1,
            "max(lost) is never above 1: this is never true",
        ),
        (
            "mean(utilisation) < 90",
            1,
            "mean(utilisation) is 0 to 1, and is compared with 90: write a percentage",
        ),
        (
            "r2(min(delay) on size) >= 99",
            1,
            "is 0 to 1, and is compared with 99: write a percentage",
        ),
        ("share(lost > 5) > 0", 14, "lost is 0 to 1"),
        (
            "share(response > -5ms) > 1 %",
            18,
            "response is never below 0",
        ),
    ] {
        refuses(text, column, message);
    }
    for fine in [
        "mean(ipdv) > -5ms",
        "min(delay) > -5us",
        "slope(p50(response) on size) < 0",
        "p50(response) - p50(network) > -5ms",
        "min(load_retransmits) >= 0 and max(lost) <= 1",
        "share(delay < 0) <= 0",
    ] {
        assert!(Check::parse(fine).is_ok(), "{fine}");
    }
}

#[test]
fn nothing_is_divided_by_zero() {
    for (text, column) in [
        ("p99(response) / 0 < 5", 17),
        ("1ms < p50(response) / -0", 23),
        ("p50(response) / (2 - 1 * 2) > 1ms", 17),
        ("p50(response) / (3 / 0s) > 1ms", 22),
        ("share(response > mean(response) / 0) > 5 %", 35),
    ] {
        refuses(text, column, "this is 0, and nothing can be divided by it");
    }
    Check::parse("p50(response) / (2 - 1) > 1ms").unwrap();
    Check::parse("0 / 2 < mean(lost)").unwrap();
}

#[test]
fn nothing_is_within_a_share_of_zero() {
    for text in [
        "mean(response) ≈ 0ms within 5 %",
        "mean(lost) ≈ 0 within 1 %",
        "mean(response) ~= -0ms within 5 %",
        "0ms ≈ mean(response) within 5 %",
        "p50(response | wait=1ms) / p50(response) ≈ 1 - 1 within 5%",
    ] {
        refuses(text, 1, "a share of 0 is 0");
    }
    refuses(
        "mean(lost) < 1 % and mean(response) ≈ 0ms within 5 %",
        22,
        "write how far it may be",
    );
    Check::parse("mean(response) ≈ 0 within 5ms").unwrap();
}

#[test]
fn steps_are_of_bytes() {
    refuses(
        "steps(min(delay) on size) > 5us",
        1,
        "a number of B is compared",
    );
}

#[test]
fn an_error_points_at_its_text() {
    let text = "p50(response) > 0 and\nmax(delai) < 1ms";
    let error = Check::parse(text).unwrap_err();
    let pretty = error.pretty(text);
    let mut lines = pretty.lines();
    assert_eq!(lines.next(), Some("p50(response) > 0 and max(delai) < 1ms"));
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with(&format!("{}^^^^^ there is", " ".repeat(26)))
    );
    assert!(
        error
            .to_string()
            .starts_with("column 27: there is no measure `delai`")
    );
}

#[test]
fn names_are_what_a_check_needs() {
    let text = "for each condition in [quiet]: slope(p50(response | wait=1ms) on size) > 0 \
                and steps(min(pdv) on size) > 0B";
    let names = Check::parse(text).unwrap().names();
    let each = names.iter().map(|name| {
        let what = match &name.kind {
            NameKind::Factor { of, .. } => format!("factor of {of:?}"),
            NameKind::Level { factor, of, .. } => format!("level of {factor} of {of:?}"),
            NameKind::Axis { fit, .. } => format!("axis of {fit:?}"),
            NameKind::Measure(_) => "measure".to_owned(),
        };
        (&text[name.span.start..name.span.end], what)
    });
    let each: Vec<_> = each.collect();
    let each: Vec<_> = each
        .iter()
        .map(|(text, what)| (*text, what.as_str()))
        .collect();
    assert_eq!(
        each,
        [
            ("condition", "factor of None"),
            ("quiet", "level of condition of None"),
            ("response", "measure"),
            ("wait", "factor of Some(Response)"),
            ("1ms", "level of wait of Some(Response)"),
            ("size", "factor of None"),
            ("size", "axis of Slope"),
            ("pdv", "measure"),
            ("size", "factor of None"),
            ("size", "axis of Steps"),
        ]
    );
}

#[test]
fn a_variation_may_be_of_any_delay() {
    for (text, measure) in [
        (
            "sd(ipdv(network) | probe=ef)",
            Measure::IpdvOf(DelayOf::Network),
        ),
        (
            "max(pdv(forward))",
            Measure::PdvOf(DelayOf::Stage(Stage::ForwardPath)),
        ),
        ("iqr(ipdv(rtt))", Measure::Ipdv),
        (
            "share(pdv(response) > 1ms)",
            Measure::PdvOf(DelayOf::Response),
        ),
    ] {
        let Value::Statistic(statistic) = Value::parse(text).unwrap() else {
            panic!("{text}");
        };
        let (Kind::Of(_, found) | Kind::Share(found, ..)) = statistic.kind else {
            panic!("{text}");
        };
        assert_eq!(found, measure, "{text}");
    }
    let error = |text: &str| Value::parse(text).unwrap_err().sentence();
    assert!(error("sd(ipdv(lost))").contains("lost is no delay"));
    assert!(error("sd(ipdv(netwok))").contains("did you mean `network`?"));
    assert!(error("sd(ipdv(network | probe=ef))").contains("`)` to end `ipdv(`"));
    assert!(error("sd(response(network))").contains("`)` to end `sd(`"));
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_][a-z0-9_]{0,6}",
        Just("per-VC, ASX200".to_owned()),
        Just("it's".to_owned()),
        Just("on".to_owned()),
    ]
}

fn any_number() -> impl Strategy<Value = Number> {
    let durations = (0_u32..5000).prop_map(|n| units::number(&n.to_string(), "us").unwrap());
    let shares = (0_u32..100).prop_map(|n| units::number(&n.to_string(), "%").unwrap());
    prop_oneof![durations, shares]
}

/// Numbers of time, so that everything may be compared with everything.
fn any_time() -> impl Strategy<Value = Number> {
    (0_u32..5000).prop_map(|n| units::number(&n.to_string(), "us").unwrap())
}

fn any_level() -> impl Strategy<Value = LevelText> {
    let named = any_name().prop_map(|text| LevelText {
        text,
        number: None,
        span: Span::default(),
    });
    let number = any_number().prop_map(|number| LevelText {
        text: number.text.clone(),
        number: Some(number),
        span: Span::default(),
    });
    prop_oneof![named, number]
}

fn any_beyond() -> impl Strategy<Value = Beyond> {
    proptest::sample::select(vec![
        Beyond::Less,
        Beyond::AtMost,
        Beyond::More,
        Beyond::AtLeast,
    ])
}

fn any_selectors() -> impl Strategy<Value = Vec<Selector>> {
    let which = prop_oneof![
        proptest::collection::vec(any_level(), 1..3).prop_map(LevelSet::In),
        any_level().prop_map(LevelSet::Not),
        (any_beyond(), any_number()).prop_map(|(beyond, number)| LevelSet::Is(beyond, number)),
    ];
    let selector = (any_name(), which).prop_map(|(factor, which)| Selector {
        factor,
        which,
        span: Span::default(),
    });
    proptest::collection::vec(selector, 0..3)
}

fn any_statistic() -> impl Strategy<Value = Statistic> {
    let functions = vec![
        Functional::Min,
        Functional::Max,
        Functional::Sd,
        Functional::Quantile(0.5),
        Functional::Quantile(0.999),
    ];
    let measures = vec![
        Measure::Response,
        Measure::Stage(Stage::LocalQueue),
        Measure::Ipdv,
        Measure::IpdvOf(DelayOf::Network),
        Measure::PdvOf(DelayOf::Stage(Stage::ReturnPath)),
        Measure::Fct,
    ];
    let of = (
        proptest::sample::select(functions),
        proptest::sample::select(measures),
    )
        .prop_map(|(function, measure)| Kind::Of(function, measure));
    (of, any_selectors()).prop_map(|(kind, selectors)| Statistic {
        kind,
        selectors,
        of: Span::default(),
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let fit = (any_statistic(), any_name()).prop_map(|(of, factor)| Statistic {
        kind: Kind::On(Fit::Slope, Box::new(of), factor),
        selectors: Vec::new(),
        of: Span::default(),
    });
    let leaf = prop_oneof![
        any_time().prop_map(Value::Number),
        any_statistic().prop_map(Value::Statistic),
        fit.prop_map(Value::Statistic),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        let sign = proptest::sample::select(vec![Operator::Plus, Operator::Minus]);
        prop_oneof![
            inner
                .clone()
                .prop_map(|value| Value::Negative(Box::new(value))),
            (sign, inner.clone(), inner.clone()).prop_map(|(sign, a, b)| Value::Binary(
                sign,
                Box::new(a),
                Box::new(b)
            )),
            // What a product counts is no time; twice it is.
            inner.prop_map(|value| {
                let two = Value::Number(units::number("2", "").unwrap());
                Value::Binary(Operator::Times, Box::new(two), Box::new(value))
            }),
        ]
    })
}

fn any_claim() -> impl Strategy<Value = Claim> {
    let about = any_time().prop_map(|within| Relation::About {
        within,
        relative: false,
    });
    let relation = prop_oneof![any_beyond().prop_map(Relation::Is), about];
    let rest = proptest::collection::vec((relation, any_value()), 1..3);
    let comparison =
        (any_value(), rest).prop_map(|(first, rest)| Claim::Compare(Comparison { first, rest }));
    comparison.prop_recursive(3, 8, 3, |inner| {
        let several = proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            several.clone().prop_map(Claim::All),
            several.prop_map(Claim::Any),
            inner.prop_map(|claim| Claim::Not(Box::new(claim))),
        ]
    })
}

fn any_check() -> impl Strategy<Value = Check> {
    let each =
        (any_name(), proptest::collection::vec(any_level(), 0..3)).prop_map(|(factor, levels)| {
            Each {
                factor,
                levels,
                span: Span::default(),
            }
        });
    (proptest::collection::vec(each, 0..3), any_claim())
        .prop_map(|(each, claim)| Check { each, claim })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(check in any_check()) {
        let text = check.to_string();
        match Check::parse(&text) {
            Ok(again) => prop_assert_eq!(again, check, "{}", text),
            // A claim of chance may be one that nothing makes true.
            Err(error) => prop_assert!(error.message.contains("never below 0"), "{}", error.pretty(&text)),
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        if let Err(error) = Check::parse(&text) {
            let _ = error.pretty(&text);
        }
    }

    /// Words of the language in any order reach deeper than letters do.
    #[test]
    fn no_tokens_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "for", "each", "in", "and", "or", "not", "on", "within", "p50", "share", "slope", "response",
        "(", ")", "[", "]", "|", ",", ":", "<", ">=", "≈", "=", "!=", "+", "-", "*", "/", "1ms",
        "5%", "0", "'x y'", "wait", "µ",
    ]), 0..40)) {
        let text = words.join(" ");
        match Check::parse(&text) {
            Ok(check) => prop_assert_eq!(Check::parse(&check.to_string()).ok(), Some(check)),
            Err(error) => {
                let _ = error.pretty(&text);
            }
        }
    }
}

fn limit(text: &str) -> Limit {
    Limit::parse(text).unwrap_or_else(|error| panic!("{}", error.pretty(text)))
}

#[test]
fn limits_are_changes_where_they_have_a_sign() {
    let value = |text: &str| match limit(text).bound {
        Bound::Value(number) => ("value", number.value),
        Bound::Change(number) => ("change", number.value),
        Bound::Share(number) => ("share", number.value),
    };
    assert_eq!(value("p99(response) > +10%"), ("share", 0.1));
    assert_eq!(value("p99(response) < -5 %"), ("share", -0.05));
    assert_eq!(value("mean(network) > +2ms"), ("change", 2e6));
    assert_eq!(value("max(response) >= 3 ms"), ("value", 3e6));
    assert_eq!(value("lost > 1 %"), ("value", 0.01));
    assert_eq!(value("lost > +0.5%"), ("change", 0.005));
    assert_eq!(
        value("share(rtt > 10ms | probe=ef) > +1%"),
        ("change", 0.01)
    );
    assert_eq!(value("mean(lost | probe=ef) > +1%"), ("change", 0.01));
    assert_eq!(value("mean(copies) > +1%"), ("share", 0.01));
    assert_eq!(value("p99(response) <= -100%"), ("share", -1.0));
    assert_eq!(value("mean(ipdv) < -150%"), ("share", -1.5));
    assert_eq!(value("p99(response) < -5ms"), ("change", -5e6));
    let slope = "slope(p50(response) on size) > ";
    assert_eq!(value(&format!("{slope}8us/1kB")), ("value", 8.0));
    assert_eq!(value(&format!("{slope}+2ns / 4B")), ("change", 0.5));
    assert_eq!(
        value("mean(backlog | of='s1→s2') > +5cells"),
        ("change", 5.0)
    );
    for text in [
        "p99(response | wait=1ms) > +10%",
        "for each probe, wait in [1ms, 2ms]: sd(ipdv) >= +20us",
        "share(lost > 0 | probe=ef) > 1%",
        "for each probe: lost > +1%",
        "slope(p50(response) on size) > 8ns / 1B",
        "slope(p50(response) on size) < -8ns / 1B",
    ] {
        assert_eq!(limit(text).to_string(), text);
    }
    assert_eq!(limit("lost > 1 %").to_string(), "lost > 1%");
    assert_eq!(limit("lost > 1 %"), limit("share(lost > 0) > 1%"));
}

#[test]
fn a_limit_that_is_none_is_pointed_at() {
    for (text, column, says) in [
        ("p99(response) > 10%", 17, "like `10ms`"),
        ("p99(response) > 10%", 17, "`+10%` for a change"),
        ("max(backlog) > 10%", 16, "a value with its unit;"),
        ("lost > 1ms", 8, "is a percentage, like `1%`"),
        ("count(response) > 1ms", 19, "leave the unit out"),
        ("loss > 1%", 1, "did you mean `lost`?"),
        ("dropped > 1%", 1, "one of `lost`, `count`"),
        ("p99(response) > +10", 17, "write the unit"),
        ("p99(response) > 5B", 17, "a number of B"),
        ("max(backlog) > 5ms", 16, "bytes, cells or packets"),
        ("max(backlog) > +5ms", 16, "bytes, cells or packets"),
        ("p99 > +10%", 5, "`(` after `p99`"),
        ("response > +10%", 1, "p50(response)"),
        ("p99(respons) > +10%", 5, "did you mean `response`"),
        ("p99(response)", 14, "> +10%"),
        (
            "p99(response) > +10% and lost > 1%",
            22,
            "may be given again",
        ),
        ("p99(response) ≈ +10%", 15, "> +10%"),
        ("", 1, "`p99(response)`, or `lost`"),
        ("1ms < p99(response)", 1, "a statistic"),
        ("p99(response) > -", 18, "a bound"),
        ("lost == 0", 6, "write what must not be, like `> 0`"),
        ("lost > 1", 8, "a share is never > 1: this would never fail"),
        ("lost >= 250%", 9, "this would never fail"),
        ("lost >= 0%", 9, "this would always fail"),
        ("lost > -150%", 8, "this would always fail"),
        ("lost < 0%", 8, "this would never fail"),
        ("lost > +100%", 8, "this would never fail"),
        ("share(rtt > 1ms) < -100%", 20, "this would never fail"),
        ("lost < 5", 8, "this would always fail; write a percentage"),
        (
            "p99(response) < -150%",
            17,
            "falls by 100 % at most: this would never fail. Half of A's is `-50%`",
        ),
        ("p99(response) > -150 %", 17, "this would always fail"),
        (
            "for each probe: sd(ipdv) < -100%",
            28,
            "this would never fail",
        ),
        (
            "p99(response) < 0ms",
            17,
            "p99(response) is never < 0ms: this would never fail",
        ),
        (
            "p99(response) >= 0",
            18,
            "p99(response) is always >= 0: this would always fail",
        ),
        ("mean(utilisation) > 90", 21, "write a percentage"),
        ("r2(min(delay) on size) < 99", 26, "write a percentage"),
        (
            "slope(p50(response) on size) > 8ns / 0B",
            38,
            "nothing can be divided by it",
        ),
        ("p99(response) > 8ns / 1B", 17, "a number of ns/B"),
    ] {
        let error = Limit::parse(text).unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.sentence().contains(says), "{text}: {error}");
    }
}
