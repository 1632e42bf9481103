//! The responses of late, a column a moment: the longest of each; below, where there is room, the longest time in the
//! hosts and in the network as two bands of one scale, which reach back as far as anything is kept.

use super::canvas::Canvas;
use super::strip::Column;
use super::view::ProbeView;
use delaylab_model::Nanos;
use delaylab_model::units::format_duration;
use delaylab_terminal::style::Paint;

/// Rows from which on the bands are there: a heading, two rows of bars, two bands.
const WITH_BANDS: u16 = 5;
/// Columns before a band: its name.
const NAME: u16 = 8;

/// Rows: a heading, bars of a logarithmic scale, and the bands.
pub(super) fn draw(seen: &ProbeView, mut canvas: Canvas<'_>) {
    let has_parts = seen.columns.iter().any(|column| column.host.is_some());
    let bands = has_parts && canvas.height() >= WITH_BANDS;
    let (indent, below) = if bands { (NAME, 2) } else { (0, 0) };
    let room = usize::from(canvas.width().saturating_sub(indent));
    let from = seen.columns.len().saturating_sub(room);
    let columns = &seen.columns[from..];
    let band = if bands {
        seen.columns.len().div_ceil(room.max(1))
    } else {
        0
    };
    canvas.heading(&(title(columns, seen.column) + &beyond(seen, columns.len(), band)));
    let scale = Scale::fitting(columns.iter().filter_map(|column| column.worst));
    let height = canvas.height().saturating_sub(1 + below);
    let mut bars = canvas.rows(1, height);
    for (at, column) in (indent..).zip(columns) {
        if let (Some(worst), Some(scale)) = (column.worst, &scale) {
            let beyond = seen.excursions.bound.is_some_and(|bound| worst > bound);
            let paint = if beyond { Paint::Warning } else { Paint::Plain };
            bars.bar(at, scale.share(worst), paint);
        }
        // In a single row it must not hide how long the others took.
        if column.unanswered > 0 && (height > 1 || column.worst.is_none()) {
            bars.put(0, at, "×", Paint::Warning);
        }
    }
    if bands {
        draw_bands(&joined(&seen.columns, band), canvas.rows(1 + height, below));
    }
}

/// Whose time a band shows.
type Part = fn(&Column) -> Option<Nanos>;

/// One row for the hosts and one for the network, of one scale.
fn draw_bands(columns: &[Column], mut canvas: Canvas<'_>) {
    let parts = columns.iter();
    let parts = parts.flat_map(|column| [column.host, column.network]);
    let Some(scale) = Scale::fitting(parts.flatten()) else {
        return;
    };
    let bands: [(&str, Paint, Part); 2] = [
        ("host", Paint::Host, |column| column.host),
        ("network", Paint::Network, |column| column.network),
    ];
    for (row, (name, paint, part)) in (0..).zip(bands) {
        canvas.put(row, 0, name, paint);
        let mut band = canvas.rows(row, 1);
        for (at, column) in (NAME..).zip(columns) {
            if let Some(time) = part(column) {
                band.bar(at, scale.share(time), paint);
            }
        }
    }
}

/// So many columns in one each, the longest of them; the last of all is whole.
fn joined(columns: &[Column], many: usize) -> Vec<Column> {
    let mut joined: Vec<Column> = columns
        .rchunks(many.max(1))
        .map(|chunk| {
            let longest = |part: Part| chunk.iter().filter_map(part).max();
            Column {
                worst: longest(|column| column.worst),
                host: longest(|column| column.host),
                network: longest(|column| column.network),
                unanswered: chunk.iter().map(|column| column.unanswered).sum(),
            }
        })
        .collect();
    joined.reverse();
    joined
}

/// `; host and network: last 6.00 min`, where the bands reach further back than the bars.
fn beyond(seen: &ProbeView, shown: usize, band: usize) -> String {
    if band == 0 || seen.columns.len() <= shown {
        return String::new();
    }
    let span = seen.column.saturating_mul(seen.columns.len() as Nanos);
    format!("; host and network: last {}", format_duration(span))
}

/// `Last 20.0 s: 126 µs to 3.20 ms, the worst of each 200 ms`.
fn title(columns: &[Column], length: Nanos) -> String {
    let span = length.saturating_mul(columns.len() as Nanos);
    let worst = columns.iter().filter_map(|column| column.worst);
    let unanswered = columns.iter().any(|column| column.unanswered > 0);
    let (Some(least), Some(most)) = (worst.clone().min(), worst.max()) else {
        return match unanswered {
            true => format!("Last {}: × not answered", format_duration(span)),
            false => "Last responses".to_owned(),
        };
    };
    let [span, least, most, length] = [span, least, most, length].map(format_duration);
    let lost = if unanswered { ", × not answered" } else { "" };
    format!("Last {span}: {least} to {most}{lost}, the worst of each {length}")
}

/// From half of the lowest to the highest, logarithmic.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn fitting(times: impl Iterator<Item = Nanos> + Clone) -> Option<Self> {
        let least = times.clone().min()?.max(1) as f64;
        let most = times.max()?.max(1) as f64;
        Some(Self {
            low: (least / 2.0).ln(),
            high: most.ln(),
        })
    }

    fn share(&self, response: Nanos) -> f64 {
        ((response.max(1) as f64).ln() - self.low) / (self.high - self.low)
    }
}
