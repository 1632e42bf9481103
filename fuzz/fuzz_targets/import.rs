//! Files of other tools, read as what they seem to be and as every format: each gives an error or
//! records whose figures can be taken.
#![no_main]

use delaylab_explain::import::{Format, check, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for hint in Format::all().map(Some).chain([None]) {
        match read(data, hint) {
            Ok(imported) => {
                for record in imported.streams.iter().flat_map(|stream| &stream.records) {
                    let _ = (record.round_trip(), record.response());
                }
                for found in check(&imported) {
                    assert!(!found.sentence.is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
