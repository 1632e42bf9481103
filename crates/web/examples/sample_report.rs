//! Writes the sample runs that the tests use: their pages, and their figures as SVG.
//!
//! ```text
//! cargo run -p delaylab-web --example sample_report -- DIRECTORY
//! ```

use delaylab_figure::svg;

use delaylab_terminal::style::Style;
use delaylab_web::html;
use std::error::Error;
use std::path::PathBuf;

use delaylab_view::run::samples;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or("say which directory to write to")?;
    for (name, run) in samples::runs() {
        let own = directory.join(name);
        std::fs::create_dir_all(&own)?;
        std::fs::write(own.join("report.html"), html::page(&run))?;
        for (file, figure) in svg::files(&run)? {
            std::fs::write(own.join(file), figure)?;
        }
        println!(
            "{}",
            delaylab_terminal::run::summary(&run, None, &Style::PLAIN)
        );
    }
    Ok(())
}
