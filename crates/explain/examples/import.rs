//! Prints what files of other tools give, and whether their summaries agree with their samples:
//! `cargo run -p delaylab-explain --example import -- FILE…`
#![forbid(unsafe_code)]

use delaylab_explain::import;
use delaylab_model::record::Record;

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        println!("== {path}");
        match import::read(&std::fs::read(&path)?, None) {
            Ok(imported) => print(&imported),
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}

fn print(imported: &import::Imported) {
    println!(
        "{} {}",
        imported.format,
        imported.version.as_deref().unwrap_or("(no version)")
    );
    for stream in &imported.streams {
        let count = |of: fn(&Record) -> bool| stream.records.iter().filter(of).count();
        println!(
            "{}: {} packets, {} answered, {} with a round trip, {:?}, size {:?}, in steps of {} ns",
            stream.name,
            stream.records.len(),
            count(Record::answered),
            count(|record| record.round_trip().is_some()),
            stream.clock,
            stream.size,
            stream.step
        );
    }
    for said in &imported.said {
        println!("  {}: {} [{}]", said.what, said.value, said.printed);
    }
    println!("  {} points of series", imported.series.len());
    for warning in &imported.warnings {
        println!("warning: {warning}");
    }
    for disagreement in import::check(imported) {
        println!("disagreement: {}", disagreement.sentence);
    }
}
