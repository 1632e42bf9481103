//! The texts of a run: its manifest, environment, experiment and findings. The first byte says which.

use crate::stored::{Stored, written};

/// By the first byte.
const TEXTS: [&str; 4] = [
    "manifest.json",
    "environment.json",
    "experiment.toml",
    "findings.json",
];

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((which, text)) = data.split_first() else {
        return;
    };
    let name = TEXTS[usize::from(*which) % TEXTS.len()];
    let stored = Stored::sample("sample");
    stored.put(name, text);
    stored.read();

    // In a run whose manifest lists it, other bytes are refused. Those of a manifest may say the same.
    let files = written(true);
    for (file, bytes) in &files {
        stored.put(file, bytes);
    }
    let others = ["hops.parquet", "series.parquet"];
    for other in others {
        let _ = std::fs::remove_file(stored.run().join(other));
    }
    stored.put(name, text);
    let recorded = files.iter().find(|(file, _)| file == name);
    let is_same = recorded.is_some_and(|(_, bytes)| bytes == text);
    let is_whole = stored.read();
    assert!(is_whole || !is_same, "{name} is refused as it was written");
    assert!(
        !is_whole || is_same || name == TEXTS[0],
        "{name} is read with other bytes"
    );
}

/// Valid inputs: the texts of a run.
pub fn seeds() -> Vec<Vec<u8>> {
    let files = written(true);
    let seed = |(which, name): (usize, &&str)| {
        let (_, bytes) = files.iter().find(|(file, _)| file == name)?;
        Some([&[which as u8], bytes.as_slice()].concat())
    };
    TEXTS.iter().enumerate().filter_map(seed).collect()
}
