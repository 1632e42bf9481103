//! Runs of frames, which go one way: no face speaks of round trips.

use delaylab_figure::drawings;
use delaylab_terminal::style::Style;
use delaylab_view::run::RunData;
use delaylab_view::run::samples::{runs, with_few_points};
use delaylab_web::html;

fn served(run: &RunData, in_progress: bool) -> String {
    let served = html::Served {
        address: "/run/a".to_owned(),
        in_progress,
        tables: vec!["records"],
    };
    html::served_page(run, &served)
}

/// Delays over time are shown of frames, too; and what is not known yet has both names.
#[test]
fn a_served_page_calls_delays_by_the_ways_of_their_packets() {
    for (name, mut run) in runs() {
        for trial in &mut run.trials {
            trial.stream.frames = true;
        }
        let page = served(&run, false);
        assert!(page.contains("Every delay over time"), "{name}");
    }
    let page = served(&RunData::default(), true);
    assert!(page.contains("Delays of the trial under way"), "{page}");
    assert!(page.contains("that of all others a response"), "{page}");
}

#[test]
fn nothing_that_is_shown_of_frames_speaks_of_round_trips() {
    for (name, mut run) in runs() {
        for trial in &mut run.trials {
            trial.stream.frames = true;
        }
        // What an experiment says of itself is its own.
        run.findings.clear();
        run.parts.clear();
        run.head.about.clear();
        let mut shown = vec![delaylab_terminal::run::summary(&run, None, &Style::PLAIN)];
        let few = with_few_points(run.clone(), 1);
        shown.push(html::page(&few));
        shown.extend([true, false].map(|in_progress| served(&few, in_progress)));
        for drawing in drawings(&run) {
            shown.push(serde_json::json!([drawing.title, drawing.about, drawing.spec]).to_string());
        }
        for text in shown {
            let text = text.to_lowercase();
            let at = text.find("round trip").or_else(|| text.find("round_trip"));
            let around = at.map(|at| {
                let from = text.floor_char_boundary(at.saturating_sub(200));
                &text[from..text.ceil_char_boundary(at + 40)]
            });
            assert_eq!(around, None, "{name}");
        }
    }
}
