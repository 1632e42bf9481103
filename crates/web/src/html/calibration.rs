//! A page of its own: a calibrated path, and what a change would make of it.

use super::figures;
use super::table::{Column, Table};
use super::{document, section};
use delaylab_explain::calibrate::Calibration;
use delaylab_explain::calibrate::overlay::{Group, Pair, QUANTILES};
use delaylab_explain::calibrate::prediction::Predicted;
use delaylab_explain::compare::statistic_name;
use delaylab_figure::overlay;
use delaylab_model::units::{format_share, format_signed_share};
use delaylab_stats::functional::Functional;
use delaylab_view::calibration::words::{
    Fact, duration, facts, in_order, levels, measure, range, range_of_loss, used, varied,
};
use delaylab_view::calibration::{Calibrated, Prediction};
use delaylab_view::words::UNKNOWN;
use maud::{Markup, html};

/// The page of a calibration.
pub fn calibration_page(shown: &Calibrated<'_>) -> String {
    let title = "A calibrated path";
    let drawings: Vec<_> = overlay::calibration(shown.pairs).into_iter().collect();
    let body = html! {
        (head(title, shown.run, &used(shown.found)))
        (section("found", "What was found", found(shown.found)))
        (section("unknown", "Not identified by this run", unknown(shown.found)))
        (figures::drawn(&drawings))
        (section("errors", "Measured and simulated", errors(shown.pairs)))
    };
    document(title, body)
}

/// The page of a prediction.
pub fn prediction_page(shown: &Prediction<'_>) -> String {
    let title = "Effect of a change";
    let sets = shown
        .sets
        .iter()
        .map(|(path, value)| format!("{path} = {value}"));
    let drawings: Vec<_> = overlay::prediction(shown.groups).into_iter().collect();
    let body = html! {
        (head(title, shown.run, &sets.collect::<Vec<_>>().join(", ")))
        (figures::drawn(&drawings))
        (section("expected", "Before and after", html! {
            (expected(shown.groups))
            @if let Some(why) = shown.found.why_no_range() { p { (why) "." } }
        }))
        (section("found", "The path that it is computed for", found(shown.found)))
        (section("unknown", "Not identified by this run", unknown(shown.found)))
    };
    document(title, body)
}

fn head(title: &str, run: &str, about: &str) -> Markup {
    html! {
        header {
            p class="name" { (run) }
            h1 { (title) }
            p class="about" { (about) }
        }
    }
}

fn found(found: &Calibration) -> Markup {
    let heads = ["", "found", "95 %", "from"].map(|head| (head, Column::Words));
    let mut table = Table::new(heads);
    for Fact {
        what,
        value,
        between,
        from,
    } in facts(found)
    {
        table.row(vec![what.to_owned(), value, between, from]);
    }
    table.render()
}

fn unknown(found: &Calibration) -> Markup {
    html! {
        @for unknown in &found.unknown {
            p { b { (unknown.what) "." } " " (unknown.why) " " (unknown.remedy) }
        }
    }
}

fn columns(heads: &[String], figures: Vec<String>) -> Table {
    let words = heads.iter().cloned().chain(["probe".to_owned()]);
    let words = words.map(|head| (head, Column::Words));
    Table::new(words.chain(figures.into_iter().map(|head| (head, Column::Figures))))
}

fn errors(pairs: &[Pair]) -> Markup {
    let shown = in_order(pairs, |pair| &pair.measured);
    let heads = varied(shown.iter().map(|pair| &pair.measured));
    let each = QUANTILES.map(|q| statistic_name(Functional::Quantile(q)));
    let figures = each
        .iter()
        .flat_map(|q| [q.clone(), "model".to_owned(), "off".to_owned()]);
    let figures = figures.chain(["Wasserstein", "lost", "model"].map(str::to_owned));
    let mut table = columns(&heads, figures.collect());
    for pair in shown {
        let mut cells = levels(&pair.measured, &heads);
        match pair.distance(measure(&pair.measured)) {
            // What lost everything has no delay, and its loss says the most.
            None => cells.extend(unknown_cells(3 * each.len() + 1)),
            Some(distance) => {
                for (quantile, error) in distance.quantiles.iter().zip(distance.errors()) {
                    cells.extend(quantile.map(duration));
                    cells.push(format_signed_share(error));
                }
                cells.push(duration(distance.wasserstein));
            }
        }
        cells.extend([&pair.measured, &pair.model].map(lost));
        table.row(cells);
    }
    table.render()
}

/// Cells of what is not known.
fn unknown_cells(count: usize) -> impl Iterator<Item = String> {
    std::iter::repeat_n(UNKNOWN.to_owned(), count)
}

fn lost(group: &Group) -> String {
    group.lost().map_or_else(String::new, format_share)
}

fn expected(groups: &[Predicted]) -> Markup {
    let shown = in_order(groups, |group| &group.before.measured);
    let heads = varied(shown.iter().map(|group| &group.before.measured));
    let each = QUANTILES.map(|q| statistic_name(Functional::Quantile(q)));
    let figures = each
        .iter()
        .flat_map(|q| [q.clone(), "predicted".to_owned(), "expected".to_owned()]);
    let figures = figures.chain(["lost", "predicted", "expected"].map(str::to_owned));
    let mut table = columns(&heads, figures.collect());
    for group in shown {
        let kind = measure(&group.before.measured);
        let found = group
            .before
            .distance(kind)
            .zip(group.expected(kind, groups));
        let mut cells = levels(&group.before.measured, &heads);
        match found {
            None => cells.extend(unknown_cells(3 * each.len())),
            Some((before, expected)) => {
                for ([measured, _], expected) in before.quantiles.into_iter().zip(expected) {
                    cells.extend([
                        duration(measured),
                        duration(expected.value),
                        range(&expected),
                    ]);
                }
            }
        }
        let after = group.expected_loss();
        cells.push(lost(&group.before.measured));
        cells.push(after.map_or_else(String::new, |after| format_share(after.value)));
        cells.push(after.as_ref().map_or_else(String::new, range_of_loss));
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::calibration::samples::Sample;

    #[test]
    fn what_loses_everything_has_its_row() {
        let rows = |page: &str| page.matches("<tr>").count();
        let (made, silent) = (Sample::made(), Sample::without_an_answer());
        for [of_all, without] in [
            [&made, &silent].map(|sample| calibration_page(&sample.calibrated())),
            [&made, &silent].map(|sample| prediction_page(&sample.prediction())),
        ] {
            assert_eq!(rows(&of_all), rows(&without));
            assert!(without.contains("100 %") && !of_all.contains("100 %"));
        }
    }

    #[test]
    fn pages_say_all_and_ask_for_nothing() {
        let sample = Sample::made();
        let calibration = calibration_page(&sample.calibrated());
        for words in [
            "10.000 Mbit/s",
            "64001 B",
            "No stamps tell",
            "id=\"spec-overlay\"",
            "−0.29 %",
        ] {
            assert!(calibration.contains(words), "{words}");
        }
        let prediction = prediction_page(&sample.prediction());
        for words in [
            "path.switch.discipline = fq-codel",
            "id=\"spec-prediction\"",
            "predicted",
        ] {
            assert!(prediction.contains(words), "{words}");
        }
        for page in [calibration, prediction] {
            let outside = page.split("<script>").next().unwrap_or_default();
            let outside = outside.replace("url(#", "");
            for address in [
                "src=", "href=", "url(", "@import", "<link", "<img", " style=",
            ] {
                assert!(!outside.contains(address), "{address}");
            }
        }
    }

    #[test]
    fn what_people_wrote_is_text_and_never_markup() {
        let sample = Sample::made();
        let hostile = "</script><script>alert(1)</script>";
        let shown = Calibrated {
            run: hostile,
            ..sample.calibrated()
        };
        assert!(!calibration_page(&shown).contains("alert(1)</script>"));
    }
}
