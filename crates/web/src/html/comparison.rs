//! What changed between two runs, as a page of its own.

use super::table::{Column, Table};
use super::{document, figures, navigation, section, served_frame};
use delaylab_explain::compare::PairFigures;
use delaylab_explain::compare::limits::Outcome;
use delaylab_figure::{both_runs, quantile_shift};
use delaylab_view::compare::benchmark::Benchmarks;
use delaylab_view::compare::{Compared, Side, rows};
use maud::{Markup, html};

/// The whole page, as a file of its own.
pub fn comparison(compared: &Compared) -> String {
    let folders = compared.sides.each_ref();
    let folders = folders.map(|side| html! { (side.folder) });
    document(&title(compared), sections(compared, folders))
}

/// The same from a server, where the runs have these addresses.
pub(crate) fn served_comparison(compared: &Compared, addresses: [String; 2]) -> String {
    let [a, b] = compared.sides.each_ref();
    let link = |side: &Side, address: &str| html! { a href=(address) { (side.folder) } };
    let folders = [link(a, &addresses[0]), link(b, &addresses[1])];
    let body = html! {
        (navigation())
        (sections(compared, folders))
    };
    served_frame(&title(compared), body)
}

/// How the folder of each run is written is the caller's to say.
fn sections(compared: &Compared, folders: [Markup; 2]) -> Markup {
    let drawings = [
        both_runs::drawing(compared),
        quantile_shift::drawing(compared),
    ];
    // What a search tried is no condition to draw.
    let drawings = drawings.into_iter().flatten();
    let drawings: Vec<_> = drawings.filter(|_| compared.benchmark.is_none()).collect();
    html! {
        (head(compared, folders))
        (section("limits", "Conditions", limits(compared)))
        (figures::drawn(&drawings))
        (section("pairs", "In numbers", pairs(compared)))
        (section("circumstances", "What else differs", circumstances(compared)))
    }
}

fn title(compared: &Compared) -> String {
    let [a, b] = compared.sides.each_ref().map(|side| side.name.as_str());
    if a == b {
        format!("Two runs of {a}")
    } else {
        format!("{a} and {b}")
    }
}

fn head(compared: &Compared, folders: [Markup; 2]) -> Markup {
    let runs = ["A", "B"].iter().zip(folders).zip(&compared.sides);
    let problems = compared.problems().into_iter().chain(compared.notes());
    html! {
        header {
            p class="name" { "delaylab compare" }
            h1 { (title(compared)) }
            @for ((letter, folder), side) in runs {
                p class="meta" {
                    (letter) ": " (folder) " · " (side.world) " · " (side.when())
                }
            }
        }
        p class="answer" { (compared.verdict()) }
        (super::problems(problems.collect()))
    }
}

fn limits(compared: &Compared) -> Markup {
    let class = |outcome: Outcome| match outcome {
        Outcome::Failed => "false",
        Outcome::Passed => "true",
        Outcome::Undecided => "undecided",
    };
    html! {
        @for held in &compared.limits {
            article class={ "finding " (class(held.outcome)) } {
                p class="check" { code { (held.limit) } }
                p {
                    span class="verdict" { (held.outcome.words()) }
                    " " (rows::levels(held)) (held.reason)
                }
            }
        }
    }
}

/// Each result of both.
fn benchmark(found: &Benchmarks) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("row", Words),
        ("figure", Words),
        ("A", Figures),
        ("B", Figures),
        ("% of A", Figures),
    ]);
    for row in &found.rows {
        let [a, b] = &row.texts;
        let texts = [&row.of, &row.heading, a, b].map(String::clone);
        table.row(Vec::from_iter(texts.into_iter().chain([row.change()])));
    }
    table.render()
}

fn pairs(compared: &Compared) -> Markup {
    if let Some(found) = &compared.benchmark {
        return benchmark(found);
    }
    let comparison = &compared.comparison;
    let varied = comparison.varied();
    html! {
        (overview(compared, &varied))
        @for pair in &comparison.pairs {
            h3 { (pair.pair.label(&varied)) }
            p { (pair.verdict.text) }
            p class="meta" { (rows::counts(pair)) }
            (figures_table(pair, comparison.looks))
            (stages_table(pair))
            p class="meta" { (rows::tests(pair, comparison.headline)) }
            @for (quantity, why) in &pair.missing {
                p class="meta" { "No " (quantity.name()) ": " (why) "." }
            }
        }
    }
}

/// A row a pair, where there are several: what was lost is among them.
fn overview(compared: &Compared, varied: &[String]) -> Markup {
    use Column::{Figures, Words};
    let comparison = &compared.comparison;
    if comparison.pairs.len() < 2 {
        return html! {};
    }
    let (headline, looks) = (comparison.headline, comparison.looks);
    let mostly_in = |pair: &PairFigures| rows::mostly_in(pair, headline, looks);
    let any_stage = comparison
        .pairs
        .iter()
        .any(|pair| !mostly_in(pair).is_empty());
    let heads = [
        ("pair", Words),
        ("lost A", Figures),
        ("lost B", Figures),
        ("p50 A", Figures),
        ("p50 B", Figures),
        ("change", Figures),
        ("p99 A", Figures),
        ("p99 B", Figures),
        ("change", Figures),
        ("verdict", Words),
    ];
    let stage = any_stage.then_some(("mostly in", Words));
    let mut table = Table::new(heads.into_iter().chain(stage));
    for pair in &comparison.pairs {
        let lost = rows::loss(pair, looks);
        let quantiles = [0.5, 0.99].map(|q| rows::of_quantile(pair, headline, q));
        let quantiles = quantiles.map(|row| [row.a, row.b, row.share]);
        let cells = [pair.pair.label(varied), lost.a, lost.b].into_iter();
        let cells = cells.chain(quantiles.into_iter().flatten());
        let verdict = [pair.verdict.kind.words().to_owned()];
        let stage = any_stage.then(|| mostly_in(pair));
        table.row(cells.chain(verdict).chain(stage).collect());
    }
    table.render()
}

fn figures_table(pair: &PairFigures, looks: usize) -> Markup {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("quantity", Words),
        ("statistic", Words),
        ("A", Figures),
        ("B", Figures),
        ("B − A", Figures),
        ("95 % interval", Figures),
        ("% of A", Figures),
        ("95 % interval", Figures),
        ("differs", Words),
    ]);
    for row in rows::all(pair, looks) {
        table.row(vec![
            row.quantity,
            row.statistic,
            row.a,
            row.b,
            row.difference,
            row.interval,
            row.share,
            row.share_interval,
            if row.is_clear { "yes" } else { "" }.to_owned(),
        ]);
    }
    table.render()
}

fn stages_table(pair: &PairFigures) -> Markup {
    let (heads, rows) = rows::stages(pair);
    if rows.len() < 3 {
        return html! {};
    }
    let heads = heads.into_iter().map(|head| (head, Column::Figures));
    let mut table = Table::new([("B − A at", Column::Words)].into_iter().chain(heads));
    for (stage, cells) in rows {
        table.row([stage].into_iter().chain(cells).collect());
    }
    table.render()
}

fn circumstances(compared: &Compared) -> Markup {
    let mut table = Table::new([
        ("what", Column::Words),
        ("A", Column::Words),
        ("B", Column::Words),
    ]);
    for difference in &compared.differences {
        table.row(rows::circumstance(difference).into());
    }
    table.render()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_explain::compare::circumstances::Difference;
    use delaylab_figure::svg::Artist;
    use delaylab_view::compare::samples::{samples, silent};

    #[test]
    fn the_page_says_all_and_asks_for_nothing() {
        for (name, compared) in samples() {
            let page = comparison(&compared);
            let outside = page.split("<script>").next().unwrap_or_default();
            let outside = outside.replace("url(#", "");
            for address in [
                "src=", "href=", "url(", "@import", "<link", "<img", " style=",
            ] {
                assert!(!outside.contains(address), "{name}: {address}");
            }
            assert!(
                outside.contains(&html! { (compared.verdict()) }.into_string()),
                "{name}"
            );
            assert!(!outside.contains("NaN"), "{name}");
        }
    }

    #[test]
    fn every_outcome_of_a_condition_has_its_colour() {
        let mut compared = silent();
        for (outcome, class) in [
            (Outcome::Passed, "true"),
            (Outcome::Failed, "false"),
            (Outcome::Undecided, "undecided"),
        ] {
            compared.limits[0].outcome = outcome;
            assert!(comparison(&compared).contains(&format!("class=\"finding {class}\"")));
            assert!(include_str!("page.css").contains(&format!(".{class} {{ --verdict")));
        }
    }

    #[test]
    fn the_figure_is_drawn_with_its_band() {
        let artist = Artist::new().unwrap();
        for (name, compared) in samples() {
            let drawing = quantile_shift::drawing(&compared);
            assert_eq!(drawing.is_some(), name != "silent", "{name}");
            let Some(drawing) = drawing else { continue };
            assert!(drawing.about.ends_with('.'), "{}", drawing.about);
            let svg = artist.draw(&drawing.standalone()).unwrap();
            assert!(
                svg.contains("mark-area") && svg.contains("mark-line"),
                "{name}"
            );
            assert!(!svg.contains("NaN"), "{name}");
        }
    }

    #[test]
    fn what_people_wrote_is_text_and_never_markup() {
        let hostile = "</script><script>alert(1)</script>\"'&";
        let mut compared = silent();
        compared.sides[0].name = hostile.to_owned();
        compared.sides[0].folder = hostile.to_owned();
        compared.differences.push(Difference {
            what: hostile.to_owned(),
            a: None,
            b: Some(hostile.to_owned()),
        });
        compared.comparison.pairs[0].pair.probes[0] = hostile.to_owned();
        compared.limits[0].reason = hostile.to_owned();
        let page = comparison(&compared);
        assert!(!page.contains("alert(1)</script>"));
    }
}
