//! An HTML table: labels at the left, figures at the right. What a column holds is said once, of its place: a page may
//! have tens of thousands of cells, and said in each it would be most of their bytes.

use delaylab_view::words::UNKNOWN;
use maud::{Markup, html};
use std::fmt::Write;

/// Columns of which the style tells what they hold. No table has nearly as many.
const COLUMNS: usize = 32;

/// The part of the style that says how the cells of a column look, by its place.
pub(super) fn style() -> String {
    let mut style = String::new();
    for (kind, look) in [
        ("figures", "--align: right; --wrap: nowrap"),
        (
            "code",
            "--family: var(--code); --size: 0.88em; --break: anywhere; --least: 13rem",
        ),
    ] {
        let at = |place| format!("[data-{kind}~=\"{place}\"] td:nth-child({place})");
        let places: Vec<String> = (1..=COLUMNS).map(at).collect();
        let _ = writeln!(style, "{} {{ {look}; }}", places.join(", "));
    }
    style
}

/// A head that may go on in another line behind each `=` and `(`.
fn breakable(head: &str) -> Markup {
    html! {
        @for (at, piece) in head.split_inclusive(['=', '(']).enumerate() {
            @if at > 0 { wbr; }
            (piece)
        }
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Words,
    Figures,
    Code,
}

impl Column {
    /// Which columns of this kind a table has, for the style: `2 3 5`.
    fn places(self, kinds: impl Iterator<Item = Column>) -> Option<String> {
        let places = kinds.zip(1..).filter(|(kind, _)| *kind == self);
        let places: Vec<String> = places
            .map(|(_, place): (_, u32)| place.to_string())
            .collect();
        (!places.is_empty()).then(|| places.join(" "))
    }
}

/// Cells, and what is said of them in a line of its own below; empty where nothing is.
struct Row {
    cells: Vec<String>,
    note: String,
}

/// Rows of text under their heads.
pub(super) struct Table {
    columns: Vec<(String, Column)>,
    rows: Vec<Row>,
    is_sortable: bool,
    /// What no row knows is no column.
    is_known: bool,
    /// What the box says in which one looks for rows.
    search: Option<&'static str>,
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = (impl Into<String>, Column)>) -> Self {
        let columns = columns.into_iter().map(|(head, kind)| (head.into(), kind));
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
            is_sortable: false,
            is_known: false,
            search: None,
        }
    }

    /// Leaves out columns in which nothing is known of any row.
    pub(super) fn known(mut self) -> Self {
        self.is_known = true;
        self
    }

    /// A click on a head sorts it, and it follows the filter.
    pub(super) fn sortable(mut self) -> Self {
        self.is_sortable = true;
        self
    }

    /// The same, with a box to find rows in it.
    pub(super) fn searchable(mut self) -> Self {
        self.search = Some("Find trials");
        self.sortable()
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.row_with_note(cells, String::new());
    }

    /// With a line below it, over all columns. Not for a table that can be sorted.
    pub(super) fn row_with_note(&mut self, cells: Vec<String>, note: String) {
        self.rows.push(Row { cells, note });
    }

    /// The table, in a box that scrolls where the page is too narrow. Nothing without rows.
    pub(super) fn render(&self) -> Markup {
        if self.rows.is_empty() {
            return html! {};
        }
        let used: Vec<_> = (0..self.columns.len())
            .filter(|&k| self.is_used(k))
            .collect();
        let places = |kind: Column| kind.places(used.iter().map(|&k| self.columns[k].1));
        html! {
            div class="wide" tabindex="0" {
                table
                    class=[self.is_sortable.then_some("sortable")]
                    data-search=[self.search]
                    data-figures=[places(Column::Figures)]
                    data-code=[places(Column::Code)]
                {
                    thead {
                        tr {
                            @for (head, kind) in used.iter().map(|&k| &self.columns[k]) {
                                th scope="col" class=[(*kind == Column::Figures).then_some("figures")] { (breakable(head)) }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { (Self::draw(row, &used)) } }
                }
            }
        }
    }

    /// Columns that hold nothing in any row are left out.
    fn is_used(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(|cell| !(cell.is_empty() || self.is_known && cell == UNKNOWN))
    }

    /// A row without its end tags, which HTML does not need.
    fn draw(row: &Row, used: &[usize]) -> Markup {
        let has_note = !row.note.is_empty();
        html! {
            tr class=[has_note.then_some("noted")];
            @for &k in used { td; (row.cells.get(k).map_or("", String::as_str)) }
            @if has_note { tr class="note"; td colspan=(used.len()); (row.note) }
        }
    }
}
