//! An HTML table: labels at the left, figures at the right.

use super::markup::text;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Words,
    Figures,
    Code,
}

impl Column {
    const fn class(self) -> &'static str {
        match self {
            Column::Words => "",
            Column::Figures => " class=\"figures\"",
            Column::Code => " class=\"code\"",
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
    tools: &'static str,
}

impl Table {
    pub(super) fn new(columns: impl IntoIterator<Item = (impl Into<String>, Column)>) -> Self {
        let columns = columns.into_iter().map(|(head, kind)| (head.into(), kind));
        Self {
            columns: columns.collect(),
            rows: Vec::new(),
            tools: "",
        }
    }

    /// A click on a head sorts it, and it follows the filter.
    pub(super) fn sortable(mut self) -> Self {
        self.tools = " class=\"sortable\"";
        self
    }

    /// The same, with a box to find rows in it.
    pub(super) fn searchable(mut self) -> Self {
        self.tools = " class=\"sortable\" data-search=\"Find trials\"";
        self
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.row_with_note(cells, String::new());
    }

    /// With a line below it, over all columns. Not for a table that can be sorted.
    pub(super) fn row_with_note(&mut self, cells: Vec<String>, note: String) {
        self.rows.push(Row { cells, note });
    }

    /// The table, in a box that scrolls where the page is too narrow. Nothing without rows.
    pub(super) fn render(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let used: Vec<_> = (0..self.columns.len())
            .filter(|&k| self.is_used(k))
            .collect();
        let head = used.iter().map(|&k| {
            let (head, kind) = &self.columns[k];
            format!("<th scope=\"col\"{}>{}</th>", kind.class(), text(head))
        });
        let head: String = head.collect();
        let rows: String = self.rows.iter().map(|row| self.draw(row, &used)).collect();
        format!(
            "<div class=\"wide\" tabindex=\"0\"><table{}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            self.tools
        )
    }

    /// Columns that hold nothing in any row are left out.
    fn is_used(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(|cell| !cell.is_empty())
    }

    fn draw(&self, row: &Row, used: &[usize]) -> String {
        let cell = |&k: &usize| {
            let content = row.cells.get(k).map_or("", String::as_str);
            format!("<td{}>{}</td>", self.columns[k].1.class(), text(content))
        };
        let cells: String = used.iter().map(cell).collect();
        if row.note.is_empty() {
            return format!("<tr>{cells}</tr>\n");
        }
        format!(
            "<tr class=\"noted\">{cells}</tr>\n<tr class=\"note\"><td colspan=\"{}\">{}</td></tr>\n",
            used.len(),
            text(&row.note)
        )
    }
}
