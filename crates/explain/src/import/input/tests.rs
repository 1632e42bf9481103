#![allow(clippy::unwrap_used)]

use super::*;
use crate::import::{Options, read_from};
use std::iter::repeat_n;

/// The same bytes again and again.
struct Endless(&'static [u8], usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for place in &mut *buffer {
            *place = self.0[self.1 % self.0.len()];
            self.1 += 1;
        }
        Ok(buffer.len())
    }
}

#[test]
fn what_has_no_end_and_no_known_format_is_refused_by_its_head() {
    let input = Input::new(Endless(b"yes\n", 0)).unwrap();
    let refused = read_from(input, &Options::default()).unwrap_err();
    assert!(matches!(refused, ImportError::Unrecognised { .. }));
}

#[test]
fn a_line_without_an_end_ends_the_file() {
    let first = b"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms\n";
    let input = Input::new((&first[..]).chain(io::repeat(b'x'))).unwrap();
    let imported = read_from(input, &Options::default()).unwrap();
    assert_eq!(imported.streams[0].records.len(), 1);
    let warnings = imported.warnings.join("\n");
    let said = "the file cannot be read beyond line 2: the line is longer than 16 MiB";
    assert!(warnings.contains(said), "{warnings}");
}

#[test]
fn reading_beyond_the_bound_fails_and_up_to_it_does_not() {
    let most = 3 << 30;
    let bounded = |length: u64| {
        let mut bounded = Bounded::new(BufReader::new(io::repeat(b'x').take(length)), most);
        bounded.left = 1000; // of three gibibytes
        bounded
    };
    assert_eq!(io::copy(&mut bounded(1000), &mut io::sink()).unwrap(), 1000);
    let error = io::copy(&mut bounded(1001), &mut io::sink()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is longer than 3 GiB: import it in parts"
    );
    let mut bytes = Vec::new();
    let read = bounded(2000).read_to_end(&mut bytes);
    assert!(read.is_err());
    assert!(bytes.iter().copied().eq(repeat_n(b'x', 1000)));
}
