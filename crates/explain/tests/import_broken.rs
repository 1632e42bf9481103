//! Files that were cut, changed or made of anything: no panic, and no packet that never was.

use delaylab_explain::import::{self, Format, ImportError, Imported};
use delaylab_model::Nanos;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/import");
    let mut samples: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        })
        .collect();
    samples.sort();
    samples
}

/// Delays of every answered packet, by stream and number.
fn delays(imported: &Imported) -> BTreeMap<(&str, u64), Option<Nanos>> {
    let mut delays = BTreeMap::new();
    for stream in &imported.streams {
        for record in stream.records.iter().filter(|record| record.answered()) {
            let passage = record.t_rx.zip(record.t_tx).map(|(rx, tx)| rx - tx);
            delays.insert(
                (stream.name.as_str(), record.seq),
                record.round_trip().or(passage),
            );
        }
    }
    delays
}

/// Where a file is cut: at every so manieth byte, at about `most` places if it is long, because each is read from its
/// start; and at both sides of line breaks, of all or, of many lines, of about `lines`.
fn places(bytes: &[u8], step: usize, most: usize, lines: usize) -> BTreeSet<usize> {
    let step = (bytes.len() / most).max(step) | 1;
    let breaks: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
    let some = breaks.iter().step_by((breaks.len() / lines).max(1));
    let sides = some.flat_map(|&at| [at, at + 1]);
    let all = (0..bytes.len()).step_by(step).chain(sides);
    all.filter(|&end| end < bytes.len()).collect()
}

/// A file that is cut anywhere is an error or has a warning (or lacks only its last line break), and
/// each packet that is left is one of the whole file.
#[test]
fn a_file_cut_anywhere_says_so_and_invents_nothing() {
    cut_says_so(|bytes| places(bytes, 7, 150, 50));
}

fn cut_says_so(places: impl Fn(&[u8]) -> BTreeSet<usize>) {
    for (name, bytes) in samples() {
        let Ok(whole) = import::read(&bytes, None) else {
            continue;
        };
        let known = delays(&whole);
        for end in places(&bytes) {
            let Ok(cut) = import::read(&bytes[..end], Some(whole.format)) else {
                continue;
            };
            let blank = bytes[end..].iter().all(u8::is_ascii_whitespace);
            // Some formats do not say where they end: between two lines, or two documents, nothing is missed.
            let between = bytes[..end].ends_with(b"\n") || bytes[end..].starts_with(b"\n");
            let open = whole.format.rules.open_ended && between;
            assert!(
                !cut.warnings.is_empty() || blank || open,
                "{name} cut at {end}: no warning"
            );
            for (packet, delay) in delays(&cut) {
                assert_eq!(
                    known.get(&packet),
                    Some(&delay),
                    "{name} cut at {end}: {packet:?}"
                );
            }
            assert!(
                import::check(&cut)
                    .iter()
                    .all(|found| !found.sentence.contains("NaN"))
            );
        }
    }
}

/// A file that was cut is recognised as what it was, or not at all.
#[test]
fn a_file_cut_anywhere_is_no_other_format() {
    cut_is_no_other_format(|bytes| places(bytes, 53, 150, 20));
}

fn cut_is_no_other_format(places: impl Fn(&[u8]) -> BTreeSet<usize>) {
    for (name, bytes) in samples() {
        let Ok(whole) = import::read(&bytes, None) else {
            continue;
        };
        for end in places(&bytes) {
            match import::read(&bytes[..end], None) {
                Ok(cut) => assert_eq!(cut.format, whole.format, "{name} cut at {end}"),
                Err(ImportError::Nothing { format }) => {
                    assert_eq!(format, whole.format, "{name} cut at {end}")
                }
                Err(_) => {}
            }
        }
    }
}

fn read_all_ways(bytes: &[u8]) {
    for hint in Format::all().map(Some).chain([None]) {
        match import::read(bytes, hint) {
            Ok(imported) => {
                for stream in &imported.streams {
                    assert!(stream.records.in_order() || imported.format.name == "irtt");
                    for record in stream.records.iter() {
                        let _ = (record.round_trip(), record.response());
                    }
                }
                for found in import::check(&imported) {
                    assert!(!found.sentence.is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_all_ways(&bytes);
    }

    #[test]
    fn no_text_panics(text in "[ -~µ\n\\[\\]:=/.,0-9]{0,400}") {
        read_all_ways(text.as_bytes());
    }

    /// Bytes of a sample are changed, left out, put in twice and mixed with those of another.
    #[test]
    fn no_change_to_a_sample_panics(
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..6, 0_usize..60), 1..12),
    ) {
        let samples = samples();
        let (_, bytes) = which.get(&samples);
        let (_, other) = other.get(&samples);
        let mut bytes = bytes.clone();
        for (at, byte, kind, length) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
                3 => bytes[at..end].fill(byte),
                4 => drop(bytes.splice(at..at, other[at.min(other.len())..end.min(other.len())].to_vec())),
                _ => bytes[at] = b'0' + byte % 10,
            }
        }
        read_all_ways(&bytes);
    }
}

/// The same at many more places, in `make test-all`.
mod long {
    use super::*;

    #[test]
    fn a_file_cut_at_every_byte_says_so() {
        cut_says_so(|bytes| places(bytes, 1, 1_000, usize::MAX));
    }

    #[test]
    fn a_file_cut_at_many_places_is_no_other_format() {
        cut_is_no_other_format(|bytes| places(bytes, 13, usize::MAX, 1_000));
    }
}
