//! Draws the numbers that the sources of the catalogue print beside those of our runs, for the pages of the guide:
//! `docs/data/printed.csv` is what is drawn, each number with where it is from.
//!
//! ```text
//! cargo run -p delaylab-figure --example printed
//! ```

use delaylab_figure::svg::Artist;
use serde_json::{Value, json};
use std::path::Path;

/// A page that has numbers of its source.
struct Page {
    name: &'static str,
    /// Pixels of a panel.
    width: u32,
    /// What its rows of panels show, from top to bottom.
    rows: &'static [&'static str],
    /// Do its numbers span powers of ten?
    is_logarithmic: bool,
    /// What its columns show; one where rows have a single panel.
    columns: &'static [&'static str],
}

const PAGES: [Page; 4] = [
    Page {
        name: "atm-response-time",
        width: 420,
        rows: &[
            "mean EFCI queue (cells)",
            "peak queue, ICR = PCR (cells)",
            "rate of the echo, 1024 B or less (Mbit/s)",
        ],
        columns: &[""],
        is_logarithmic: false,
    },
    Page {
        name: "class-jitter",
        width: 160,
        rows: &[
            "ping: sd of IPDV (µs)",
            "TCP: sd of IPDV (µs)",
            "TCP: IQR of IPDV (µs)",
        ],
        columns: &["EF", "BE", "SS"],
        is_logarithmic: true,
    },
    Page {
        name: "switch-buffer",
        width: 230,
        rows: &["frames held, back to back"],
        columns: &["512 B", "1024 B"],
        is_logarithmic: false,
    },
    Page {
        name: "wait-time-jitter",
        width: 420,
        rows: &["time (ms)"],
        columns: &[""],
        is_logarithmic: false,
    },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let numbers = std::fs::read_to_string(docs.join("data/printed.csv"))?;
    let artist = Artist::new()?;
    for page in PAGES {
        let drawn = artist.draw(&spec(&page, &numbers)?)?;
        std::fs::write(
            docs.join(format!("figures/{}-printed.svg", page.name)),
            drawn,
        )?;
    }
    Ok(())
}

fn spec(page: &Page, numbers: &str) -> serde_json::Result<Value> {
    let rows: Result<Vec<Value>, _> = page.rows.iter().map(|row| panels(page, row)).collect();
    let config: Value = serde_json::from_str(include_str!("../src/specs/theme.json"))?;
    let format = json!({ "type": "csv", "parse": { "value": "number" } });
    Ok(json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": config,
        "background": "white",
        "data": { "values": numbers, "format": format },
        "transform": [{ "filter": { "field": "page", "equal": page.name } }],
        "vconcat": rows?,
        "resolve": { "scale": { "x": "independent" } },
    }))
}

fn panels(page: &Page, row: &str) -> serde_json::Result<Value> {
    let mut spec: Value = serde_json::from_str(include_str!("printed.json"))?;
    spec["title"] = json!({ "text": row, "fontSize": 12, "frame": "group", "offset": 2 });
    if page.columns.len() < 2 {
        spec["facet"]["header"] = json!({ "labels": false });
    }
    if !page.is_logarithmic {
        let x = &mut spec["spec"]["layer"][1]["encoding"]["x"];
        x["scale"] = json!({ "zero": true, "nice": true });
        x["axis"]["values"] = Value::Null;
    }
    spec["transform"] = json!([{ "filter": { "field": "row", "equal": row } }]);
    spec["columns"] = json!(page.columns.len());
    spec["spec"]["width"] = json!(page.width);
    spec["facet"]["sort"] = json!(page.columns);
    Ok(spec)
}
