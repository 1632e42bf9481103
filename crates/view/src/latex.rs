//! A table for a paper: LaTeX with the rules of package `booktabs`.

use std::fmt::Write as _;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The table; its first row holds the heads. What stands in it is text: LaTeX's own characters are escaped.
pub fn booktabs(columns: &[Align], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let letters = columns.iter().map(|column| match column {
        Align::Left => 'l',
        Align::Right => 'r',
    });
    let letters: String = letters.collect();
    let mut text =
        format!("% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{letters}}}\n\\toprule\n");
    for (k, row) in rows.into_iter().enumerate() {
        let cells: Vec<_> = row.iter().map(|cell| escaped(cell)).collect();
        let cells = cells.join(" & ");
        // The end of the row before would take these for its own.
        if cells.starts_with(['[', '*']) {
            text += "{}";
        }
        text += &cells;
        text += " \\\\\n";
        if k == 0 {
            text += "\\midrule\n";
        }
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// The same of a table in CSV, which begins with its heads. Numbers stand at the right.
///
/// # Errors
/// Where it is no CSV.
pub fn of_csv(text: &[u8]) -> Result<String, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text);
    let rows: Vec<Vec<String>> = reader
        .records()
        .map(|row| Ok(row?.iter().map(str::to_owned).collect()))
        .collect::<Result<_, csv::Error>>()?;
    let width = rows.first().map_or(0, Vec::len);
    let is_number = |column: usize| {
        let mut cells = rows.iter().skip(1).filter_map(|row| row.get(column));
        cells.all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok())
    };
    let columns = (0..width).map(|column| match is_number(column) {
        true => Align::Right,
        false => Align::Left,
    });
    let columns: Vec<_> = columns.collect();
    Ok(booktabs(&columns, rows))
}

fn escaped(cell: &str) -> String {
    let mut text = String::new();
    for letter in cell.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                text.push('\\');
                text.push(letter);
            }
            '~' => text += "\\textasciitilde{}",
            '^' => text += "\\textasciicircum{}",
            '\\' => text += "\\textbackslash{}",
            '<' | '>' => {
                let _ = write!(text, "${letter}$");
            }
            '\u{a0}' => text.push('~'),
            '→' => text += "$\\to$",
            '×' => text += "$\\times$",
            '≈' => text += "$\\approx$",
            '≤' => text += "$\\le$",
            '≥' => text += "$\\ge$",
            '±' => text += "$\\pm$",
            '…' => text += "\\dots{}",
            'µ' => text += "\\textmu{}",
            '−' => text += "$-$",
            '–' => text += "--",
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_of_csv_stand_at_the_right() {
        let text = of_csv(b"case,p50_ns\n\"FIFO, 1 MB\",562\nCoDel,\n").unwrap();
        assert!(text.contains("\\begin{tabular}{lr}"), "{text}");
        assert!(text.contains("FIFO, 1 MB & 562 \\\\\n"), "{text}");
    }

    #[test]
    fn what_latex_would_read_is_escaped() {
        assert_eq!(
            escaped("10 (≈ 9.6), ≤ 3 ≥ 2 ± 1 …"),
            "10 ($\\approx$ 9.6), $\\le$ 3 $\\ge$ 2 $\\pm$ 1 \\dots{}"
        );
        let addresses = [["[bytes]", "[2001:db8::1]:443"], ["* [a]", "1"]];
        let addresses = addresses.map(|row| row.map(str::to_owned).to_vec());
        let table = booktabs(&[Align::Left, Align::Right], addresses);
        for row in ["{}[bytes] & [2001:db8::1]:443 \\\\\n", "{}* [a] & 1 \\\\\n"] {
            assert!(table.contains(row), "{table}");
        }
        let rows = [["case", "p50"], ["100 % of a_b & c\\d → e", "−56.2 µs"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            booktabs(&[Align::Left, Align::Right], rows),
            "% \\usepackage{booktabs}\n\\begin{tabular}{lr}\n\\toprule\ncase & p50 \\\\\n\\midrule\n\
             100 \\% of a\\_b \\& c\\textbackslash{}d $\\to$ e & $-$56.2 \\textmu{}s \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
    }
}
