//! An HTML table: labels at the left, figures at the right.

use maud::{Markup, html};

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
    const fn class(self) -> Option<&'static str> {
        match self {
            Column::Words => None,
            Column::Figures => Some("figures"),
            Column::Code => Some("code"),
        }
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
        html! {
            div class="wide" tabindex="0" {
                table class=[self.is_sortable.then_some("sortable")] data-search=[self.search] {
                    thead {
                        tr {
                            @for (head, kind) in used.iter().map(|&k| &self.columns[k]) {
                                th scope="col" class=[kind.class()] { (breakable(head)) }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { (self.draw(row, &used)) } }
                }
            }
        }
    }

    /// Columns that hold nothing in any row are left out.
    fn is_used(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(|cell| !(cell.is_empty() || self.is_known && cell == "–"))
    }

    fn draw(&self, row: &Row, used: &[usize]) -> Markup {
        let has_note = !row.note.is_empty();
        html! {
            tr class=[has_note.then_some("noted")] {
                @for &k in used {
                    td class=[self.columns[k].1.class()] { (row.cells.get(k).map_or("", String::as_str)) }
                }
            }
            @if has_note {
                tr class="note" { td colspan=(used.len()) { (row.note) } }
            }
        }
    }
}
