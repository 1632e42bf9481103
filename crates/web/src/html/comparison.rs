//! What changed between two runs, as a page of its own.

use super::markup::text;
use super::table::{Column, Table};
use super::{document, figures, navigation, section, served_frame};
use delaylab_explain::compare::PairFigures;
use delaylab_explain::compare::limits::Outcome;
use delaylab_figure::{both_runs, quantile_shift};
use delaylab_view::compare::{Compared, Side, rows};
use delaylab_view::words::to_the_second;

/// The whole page, as a file of its own.
pub fn comparison(compared: &Compared) -> String {
    let sides = sides(compared, |side| text(&side.folder));
    document(&title(compared), &sections(compared, &sides))
}

/// The same from a server, where the runs have these addresses.
pub(crate) fn served_comparison(compared: &Compared, addresses: [String; 2]) -> String {
    let mut addresses = addresses.iter();
    let sides = sides(compared, |side| {
        let address = addresses.next().map_or("", String::as_str);
        format!("<a href=\"{}\">{}</a>", text(address), text(&side.folder))
    });
    let body = navigation().to_owned() + &sections(compared, &sides);
    served_frame(&title(compared), &body)
}

fn sections(compared: &Compared, sides: &str) -> String {
    let drawings = [
        both_runs::drawing(compared),
        quantile_shift::drawing(compared),
    ];
    let drawings: Vec<_> = drawings.into_iter().flatten().collect();
    let sections = [
        head(compared, sides),
        section("limits", "Conditions", &limits(compared)),
        figures::of(&drawings),
        section("pairs", "In numbers", &pairs(compared)),
        section(
            "circumstances",
            "What else differs",
            &circumstances(compared),
        ),
    ];
    sections.concat()
}

fn title(compared: &Compared) -> String {
    let [a, b] = compared.sides.each_ref().map(|side| side.name.as_str());
    if a == b {
        format!("Two runs of {a}")
    } else {
        format!("{a} and {b}")
    }
}

/// A line a run; how its folder is written is the caller's to say.
fn sides(compared: &Compared, mut folder: impl FnMut(&Side) -> String) -> String {
    let each = ["A", "B"].iter().zip(&compared.sides);
    let line = |(letter, side): (&&str, &Side)| {
        let words = [
            folder(side),
            text(&side.world),
            text(&to_the_second(&side.started)),
        ];
        format!("<p class=\"meta\">{letter}: {}</p>\n", words.join(" · "))
    };
    each.map(line).collect()
}

fn head(compared: &Compared, sides: &str) -> String {
    let problems = compared.problems().into_iter().chain(compared.notes());
    let problems: String = problems
        .map(|p| format!("<li>{}</li>\n", text(&p)))
        .collect();
    let problems = match problems.as_str() {
        "" => String::new(),
        items => format!(
            "<aside class=\"problems\">\n<h2>Before you trust the figures</h2>\n<ul>\n{items}</ul>\n</aside>\n"
        ),
    };
    format!(
        "<header>\n<p class=\"name\">delaylab compare</p>\n<h1>{}</h1>\n{}</header>\n\
         <p class=\"answer\">{}</p>\n{problems}",
        text(&title(compared)),
        sides,
        text(&compared.verdict()),
    )
}

fn limits(compared: &Compared) -> String {
    let each = compared.limits.iter().map(|held| {
        let class = match held.outcome {
            Outcome::Failed => "false",
            Outcome::Held => "true",
            Outcome::CannotTell => "cannot-tell",
        };
        format!(
            "<article class=\"finding {class}\">\n<p class=\"check\"><code>{}</code></p>\n\
             <p><span class=\"verdict\">{}</span> {}</p>\n</article>\n",
            text(&held.limit),
            held.outcome.name(),
            text(&(rows::levels(held) + &held.reason)),
        )
    });
    each.collect()
}

fn pairs(compared: &Compared) -> String {
    let comparison = &compared.comparison;
    let varied = comparison.varied();
    let each = comparison.pairs.iter();
    let overview = overview(compared, &varied);
    let each = each.map(|pair| {
        let tests = rows::tests(pair, comparison.headline);
        let tests = format!("<p class=\"meta\">{}</p>\n", text(&tests));
        let missing = pair.missing.iter();
        let missing = missing
            .map(|(quantity, why)| text(&format!("No {}: {why}.", quantity.name())))
            .map(|line| format!("<p class=\"meta\">{line}</p>\n"));
        format!(
            "<h3>{}</h3>\n<p>{}</p>\n<p class=\"meta\">{}</p>\n{}{}{tests}{}",
            text(&pair.pair.label(&varied)),
            text(&pair.verdict.text),
            text(&rows::counts(pair)),
            figures_table(pair, comparison.looks),
            stages_table(pair),
            missing.collect::<String>(),
        )
    });
    overview + &each.collect::<String>()
}

/// A row a pair, where there are several: what was lost is among them.
fn overview(compared: &Compared, varied: &[String]) -> String {
    use Column::{Figures, Words};
    let comparison = &compared.comparison;
    if comparison.pairs.len() < 2 {
        return String::new();
    }
    let mut table = Table::new([
        ("", Words),
        ("lost A", Figures),
        ("lost B", Figures),
        ("p50 A", Figures),
        ("p50 B", Figures),
        ("change", Figures),
        ("p99 A", Figures),
        ("p99 B", Figures),
        ("change", Figures),
        ("differs", Words),
    ]);
    for pair in &comparison.pairs {
        let lost = rows::loss(pair, comparison.looks);
        let quantiles = [0.5, 0.99].map(|q| rows::of_quantile(pair, comparison.headline, q));
        let quantiles = quantiles.map(|row| [row.a, row.b, row.share]);
        let cells = [pair.pair.label(varied), lost.a, lost.b];
        let outcome = [pair.verdict.kind.name().replace('_', " ")];
        let cells = cells.into_iter().chain(quantiles.into_iter().flatten());
        table.row(cells.chain(outcome).collect());
    }
    table.render()
}

fn figures_table(pair: &PairFigures, looks: usize) -> String {
    use Column::{Figures, Words};
    let mut table = Table::new([
        ("", Words),
        ("", Words),
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
            if row.is_told { "yes" } else { "" }.to_owned(),
        ]);
    }
    table.render()
}

fn stages_table(pair: &PairFigures) -> String {
    let (heads, rows) = rows::stages(pair);
    if rows.len() < 3 {
        return String::new();
    }
    let heads = heads.into_iter().map(|head| (head, Column::Figures));
    let mut table = Table::new([("B − A at", Column::Words)].into_iter().chain(heads));
    for (stage, cells) in rows {
        table.row([stage].into_iter().chain(cells).collect());
    }
    table.render()
}

fn circumstances(compared: &Compared) -> String {
    let mut table = Table::new([
        ("", Column::Words),
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
    use delaylab_figure::SCRIPT;
    use delaylab_figure::svg::Artist;
    use delaylab_view::compare::samples::samples;

    #[test]
    fn the_page_says_all_and_asks_for_nothing() {
        for (name, compared) in samples() {
            let page = comparison(&compared);
            let outside = page.replace(SCRIPT, "");
            for address in [
                "src=", "href=", "url(", "@import", "<link", "<img", " style=",
            ] {
                assert!(!outside.contains(address), "{name}: {address}");
            }
            assert!(outside.contains(&text(&compared.verdict())), "{name}");
            assert!(!outside.contains("NaN"), "{name}");
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
        let (_, mut compared) = samples().into_iter().next().unwrap();
        compared.sides[0].name = hostile.to_owned();
        compared.sides[0].folder = hostile.to_owned();
        compared.differences[0].what = hostile.to_owned();
        compared.comparison.pairs[0].pair.probes[0] = hostile.to_owned();
        compared.limits[0].reason = hostile.to_owned();
        let page = comparison(&compared);
        assert!(!page.contains("alert(1)</script>"));
    }
}
