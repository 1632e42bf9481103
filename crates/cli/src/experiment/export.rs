//! `delaylab report --figure` and `--table`: one figure or table in a file, in the format that its name asks for.

use super::conclude;
use crate::exit::{Exit, Failed};
use crate::output::{self, MakeResult};
use crate::terminal;
use delaylab_figure::svg;
use delaylab_figure::{Drawing, every_drawing, named};
use delaylab_store::run::Run;
use delaylab_store::whole_file::Out;
use delaylab_view::latex::{Align, booktabs, of_csv};
use delaylab_view::run::RunData;
use delaylab_view::run::digest::{Digest, DigestRow};
use delaylab_view::words::either;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What turns SVG into PNG and PDF: of librsvg, which Debian has as `librsvg2-bin`.
const CONVERTER: &str = "rsvg-convert";
/// Tables that are worked out, beside those that were recorded.
const WORKED_OUT: [&str; 2] = [SUMMARY, FINDINGS];
const SUMMARY: &str = "summary";
const FINDINGS: &str = "findings";

/// Writes this figure of the run; without a file, as SVG on standard output.
pub fn figure(data: &RunData, name: &str, output: Option<&Path>) -> Result<(), Failed> {
    let drawing = named(&every_drawing(data), data, name).map_err(Failed::usage)?;
    let picture = match extension(output) {
        None | Some("svg") => svg(&drawing)?.into_bytes(),
        Some("json") => format!("{:#}\n", drawing.standalone()).into_bytes(),
        Some(format @ ("png" | "pdf")) => converted(&svg(&drawing)?, format)?,
        Some(other) => {
            return Err(unknown(
                other,
                &[".svg", ".png", ".pdf", ".json (Vega-Lite)"],
            ));
        }
    };
    put(output, |out| Ok(out.write_all(&picture)?))
}

/// Writes this table of the run; without a file, as CSV on standard output.
pub fn table(run: &Run, name: &str, output: Option<&Path>) -> Result<(), Failed> {
    let data = match WORKED_OUT.contains(&name) {
        true => Some(conclude::data_for(run, false)?),
        false => None,
    };
    let data = data.as_ref();
    let digest = data
        .filter(|_| name == SUMMARY)
        .map(|data| data.digest(None));
    let frame = match &digest {
        Some(digest) => Some(digest.frame()),
        None => data.map(RunData::findings_frame),
    };
    let recorded = run.tables();
    if frame.is_none() && !recorded.contains(&name) {
        let names = [&WORKED_OUT[..], &recorded[..]].concat().join(", ");
        return Err(Failed::usage(format!(
            "the run has no table `{name}`: it has {names}"
        )));
    }
    let csv = |out: &mut dyn Write| match &frame {
        Some(frame) => frame.write_csv(out),
        None => run.write_csv(name, out),
    };
    match (extension(output), &digest) {
        (None | Some("csv"), _) => put(output, |out| Ok(csv(out)?)),
        (Some("parquet"), _) => put(output, |out| {
            match &frame {
                Some(frame) => frame.write_parquet(out)?,
                None => run.write_parquet(name, out)?,
            }
            Ok(())
        }),
        (Some("tex"), Some(digest)) => {
            let text = summary_as_latex(digest);
            put(output, |out| Ok(out.write_all(text.as_bytes())?))
        }
        (Some("tex"), None) => put(output, |out| {
            let mut rows = Vec::new();
            csv(&mut rows)?;
            Ok(out.write_all(of_csv(&rows)?.as_bytes())?)
        }),
        (Some(other), _) => Err(unknown(other, &[".csv", ".parquet", ".tex (LaTeX)"])),
    }
}

fn summary_as_latex(digest: &Digest) -> String {
    let [factors, figures] = digest.heads();
    let left = [Align::Left].repeat(factors.len());
    let columns = [left, [Align::Right].repeat(figures.len())].concat();
    let rows = digest.rows.iter().map(DigestRow::cells);
    booktabs(
        &columns,
        [[factors, figures].concat()].into_iter().chain(rows),
    )
}

/// `None` for standard output.
fn extension(output: Option<&Path>) -> Option<&str> {
    let file = output.filter(|path| !output::is_stdout(path))?;
    Some(file.extension().and_then(|it| it.to_str()).unwrap_or(""))
}

fn unknown(extension: &str, known: &[&str]) -> Failed {
    let asked = match extension {
        "" => "a file without an extension".to_owned(),
        extension => format!("`.{extension}`"),
    };
    let known = either(known);
    Failed::usage(format!("{asked} is no format for this: name it {known}"))
}

fn svg(drawing: &Drawing) -> Result<String, Failed> {
    svg::draw(drawing).map_err(|error| Failed::new(Exit::Internal, error))
}

/// By librsvg: a renderer of our own is fifty crates.
fn converted(svg: &str, format: &str) -> Result<Vec<u8>, Failed> {
    let cannot =
        |why: String| Failed::environment(format!("cannot make {format} of the figure: {why}"));
    let mut converter = Command::new(CONVERTER);
    converter.arg(format!("--format={format}"));
    if format == "png" {
        // As sharp as a screen of two pixels to a point.
        converter.arg("--zoom=2");
    }
    let converter = converter
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = converter.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => cannot(format!(
            "{CONVERTER} is not installed (Debian: apt install librsvg2-bin); .svg needs nothing"
        )),
        _ => cannot(format!("{CONVERTER}: {error}")),
    })?;
    // It reads all of its input before it writes.
    let given = child
        .stdin
        .take()
        .map_or(Ok(()), |mut input| input.write_all(svg.as_bytes()));
    let output = child
        .wait_with_output()
        .map_err(|error| cannot(error.to_string()))?;
    if !output.status.success() || given.is_err() {
        return Err(cannot(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    Ok(output.stdout)
}

/// Writes to the file, or to standard output.
fn put(output: Option<&Path>, make: impl FnOnce(Out<'_>) -> MakeResult) -> Result<(), Failed> {
    match output.filter(|path| !output::is_stdout(path)) {
        Some(path) => output::write_with(path, make),
        None => terminal::write_with(make),
    }
}
