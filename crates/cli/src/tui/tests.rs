//! Golden screens, and that no size and no records upset them.
#![allow(clippy::unwrap_used)]

use super::screen::Screen;
use super::state::State;
use super::view::{Progress, View};
use delaylab_model::SECOND;
use delaylab_model::method::Method;
use delaylab_terminal::style::Style;
use delaylab_view::samples::{Sample, all_lost, answered, full, lose, one};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier, Style as Look};

const UNICODE: Style = Style {
    unicode: true,
    ..Style::PLAIN
};
const SIZES: [(u16, u16); 3] = [(100, 30), (80, 24), (40, 12)];

fn state(sample: &Sample) -> State {
    let mut state = State::new("ping 10.0.0.2", 0);
    state.begin_trial(
        0,
        "udp, 56 B payload, be",
        std::slice::from_ref(&sample.run.probe),
    );
    state.begin_probe(0, 0, &sample.facts.records);
    state.take(&sample.records);
    state
}

fn nothing_yet() -> State {
    let mut sample = one();
    sample.records.clear();
    state(&sample)
}

fn screen(view: &View) -> Screen<'_> {
    Screen {
        view,
        style: UNICODE,
        paused: false,
        stopping: false,
        help: false,
    }
}

fn drawn(screen: &Screen<'_>, (width, height): (u16, u16)) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| frame.render_widget(screen, frame.area()))
        .unwrap();
    terminal.backend().clone()
}

#[test]
fn looks_as_agreed() {
    let states = [
        ("nothing_yet", nothing_yet()),
        ("all_lost", state(&all_lost())),
        ("one", state(&one())),
        ("full", state(&full())),
    ];
    for (name, state) in states {
        let view = state.view(12 * SECOND);
        for (width, height) in SIZES {
            let backend = drawn(&screen(&view), (width, height));
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), backend);
        }
    }
}

#[test]
fn an_experiment_shows_how_far_it_is() {
    let mut state = state(&full());
    state.set_progress(Progress {
        done: 3,
        of: Some(36),
        left: Some(180 * SECOND),
    });
    let view = state.view(12 * SECOND);
    for (width, height) in SIZES {
        let backend = drawn(&screen(&view), (width, height));
        insta::assert_snapshot!(format!("experiment_{width}x{height}"), backend);
    }
}

#[test]
fn keys_and_states_are_shown() {
    let view = state(&full()).view(12 * SECOND);
    let screen = Screen {
        style: Style::PLAIN,
        paused: true,
        stopping: true,
        help: true,
        ..screen(&view)
    };
    let backend = drawn(&screen, (80, 24));
    assert!(backend.to_string().is_ascii());
    insta::assert_snapshot!("keys_plain", backend);
}

/// Every cell as the terminal's own colours have it, or not.
fn looks(color: bool) -> Vec<Look> {
    let view = state(&full()).view(12 * SECOND);
    let style = Style { color, ..UNICODE };
    let backend = drawn(
        &Screen {
            style,
            ..screen(&view)
        },
        (100, 30),
    );
    let cells = backend.buffer().content().iter();
    cells
        .map(|cell| {
            Look::new()
                .fg(cell.fg)
                .bg(cell.bg)
                .add_modifier(cell.modifier)
        })
        .collect()
}

#[test]
fn colour_is_drawn_only_where_it_is_wanted() {
    let plain = Look::new().fg(Color::Reset).bg(Color::Reset);
    assert!(
        looks(false)
            .iter()
            .all(|look| *look == plain.add_modifier(Modifier::empty()))
    );
    let colored = looks(true);
    for color in [Color::Yellow, Color::Cyan, Color::Red] {
        assert!(colored.iter().any(|look| look.fg == Some(color)), "{color}");
    }
}

#[test]
fn bands_reach_back_further_than_bars() {
    let mut state = nothing_yet();
    // 100 a second for five minutes; the network is slow in the third of them.
    for seq in 0..30_000 {
        let mut record = answered(Method::Udp, seq);
        if (12_000..18_000).contains(&seq) {
            let back = [&mut record.t_rx, &mut record.t_recv];
            back.into_iter()
                .flatten()
                .for_each(|time| *time += 5_000_000);
        }
        state.take(&[record]);
    }
    let text = drawn(&screen(&state.view(300 * SECOND)), (100, 30)).to_string();
    let line = |begin: &str| {
        let mut lines = text.lines().map(|line| line.trim_matches('"'));
        lines
            .find(|line| line.starts_with(begin))
            .unwrap()
            .to_owned()
    };
    assert!(text.contains("host and network: last 300 s"), "{text}");
    let network: Vec<char> = line("network ").chars().skip(8).collect();
    let high = network.iter().filter(|bar| **bar == '█').count();
    // A fifth of the columns that there are, in their middle.
    let there = network.iter().filter(|bar| **bar != ' ').count();
    assert!(high.abs_diff(there / 5) <= 1, "{high} of {there}: {text}");
    // The hosts took as long throughout; the first column holds fewer packets.
    let host: Vec<char> = line("host    ").chars().skip(9).take(there - 1).collect();
    assert!(host.iter().all(|bar| *bar == host[0]), "{text}");
}

#[test]
fn records_of_another_trial_are_not_taken() {
    let sample = full();
    let mut state = state(&sample);
    state.begin_trial(1, "", std::slice::from_ref(&sample.run.probe));
    state.take(&sample.records);
    assert_eq!(state.view(0).seen.counts.sent, 0);
}

#[test]
fn several_probes_are_shown_in_turn() {
    let sample = full();
    let mut state = State::new("run two", 0);
    let mut probes = [sample.run.probe.clone(), sample.run.probe.clone()];
    probes[1].name = "beside".to_owned();
    state.begin_trial(0, "", &probes);
    state.take(&sample.records);
    assert_eq!(state.view(0).probe, (1, 2));
    state.show_next();
    let view = state.view(0);
    assert_eq!((view.probe, view.seen.counts.sent), ((2, 2), 0));
    assert!(
        drawn(&screen(&view), (80, 24))
            .to_string()
            .contains("probe beside (2 of 2)")
    );
    state.show_next();
    assert_eq!(state.view(0).probe, (1, 2));
}

#[test]
fn memory_stays_flat() {
    let sample = full();
    let mut state = state(&sample);
    for seq in 0..20_000 {
        state.take(&[answered(Method::Udp, seq)]);
    }
    let seen = state.view(0).seen;
    assert!(seen.columns.len() <= 2_048);
    assert!(seen.excursions.latest.len() <= 64);
    assert!(seen.excursions.count > 150, "{}", seen.excursions.count);
    let late = &seen.excursions.latest.first().unwrap().worst;
    assert_eq!(late.seq, 19_999);
    assert_eq!(late.main().unwrap().stages.name(), "receive wake-up");
    assert_eq!(seen.distribution.unwrap().bins.count(), 20_498);
}

proptest! {
    #[test]
    fn no_size_panics(width in 0_u16..140, height in 0_u16..50, count in 0_usize..300, help: bool) {
        let mut sample = full();
        sample.records.truncate(count);
        sample.records.iter_mut().step_by(7).for_each(lose);
        let mut state = state(&sample);
        state.set_progress(Progress { done: 5, of: Some(count), left: None });
        let view = state.view(0);
        drawn(&Screen { help, ..screen(&view) }, (width, height));
    }

    /// A foreign reflector may send any stamp, and a clock may be set.
    #[test]
    fn no_record_panics(
        times in prop::collection::vec((any::<i64>(), any::<i64>(), any::<i64>()), 1..40),
        shift in 0..60,
    ) {
        let mut sample = full();
        sample.records.truncate(times.len());
        for (record, (due, send, recv)) in sample.records.iter_mut().zip(times) {
            record.t_intended = due >> (shift + 2);
            record.t_send = Some(send >> (shift + 2));
            record.t_recv = Some(recv >> (shift + 2));
        }
        let view = state(&sample).view(i64::MIN);
        drawn(&screen(&view), (80, 24));
    }
}
