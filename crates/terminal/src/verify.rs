//! `delaylab verify`: a line a run.

use crate::style::{Paint, Style};
use delaylab_store::run::State;
use delaylab_store::verify::Verified;
use delaylab_view::words::plural;

/// A run in a line, or one for each file of it that is wrong.
pub fn line(name: &str, run: &Verified, style: &Style) -> String {
    let marked = |paint, mark: &str, what: &str| {
        let mark = style.paint(paint, &style.glyphs(mark.to_owned()));
        format!("{mark} {name}  {what}\n")
    };
    let progress = match run.state {
        State::Complete => "",
        State::Partial => "; the run is in progress, or was interrupted",
    };
    match (&run.wrong[..], run.files) {
        ([], Some(files)) => {
            let files = plural(files, "file");
            let what = format!("as recorded: {files}, {} bytes{progress}", run.bytes);
            marked(Paint::Good, "✔", &what)
        }
        ([], None) => {
            let what =
                "every row can be read, and no manifest.json says whether it is what was recorded";
            marked(Paint::Warning, "?", &format!("{what}{progress}"))
        }
        (wrong, _) => {
            let lines = wrong.iter();
            let lines = lines.map(|wrong| marked(Paint::Warning, "✘", &wrong.to_string()));
            lines.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_view::samples::verified as run;

    #[test]
    fn each_run_has_a_line_and_each_wrong_file() {
        let style = Style {
            unicode: true,
            ..Style::PLAIN
        };
        let said = |run: &Verified| line("runs/a", run, &style);
        assert_eq!(
            said(&run(Some(7), &[])),
            "✔ runs/a  as recorded: 7 files, 1234 bytes\n"
        );
        assert!(said(&run(None, &[])).starts_with("? runs/a  every row"));
        let two = [("a.toml", "missing"), ("b.parquet", "has changed")];
        assert_eq!(
            said(&run(Some(7), &two)),
            "✘ runs/a  a.toml: missing\n✘ runs/a  b.parquet: has changed\n"
        );
    }
}
