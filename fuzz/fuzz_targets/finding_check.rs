//! Checks of findings, and limits of comparisons: what is read is written and read as the same; what is not is pointed at.
#![no_main]

use delaylab_lab::finding::{Check, Limit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Check::parse(text) {
        Ok(check) => {
            check.names();
            assert_eq!(Check::parse(&check.to_string()).ok(), Some(check));
        }
        Err(error) => {
            assert!(error.span.end <= text.len());
            error.pretty(text);
        }
    }
    match Limit::parse(text) {
        Ok(limit) => assert_eq!(Limit::parse(&limit.to_string()).ok(), Some(limit)),
        Err(error) => {
            error.pretty(text);
        }
    }
});
