//! A page of a trace buffer, as `trace_pipe_raw` hands it out.
//!
//! ```text
//!  0                                                              63
//! |                     time of the first entry                    |
//! |  bytes that follow (bit 31: entries were lost before; bit 30:  |
//! |  how many is said behind the last byte)                        |
//! |  entries …                                                     |
//! ```
//!
//! An entry begins with 32 bits: 5 say its kind, 27 the time since the entry before. See
//! `include/linux/ring_buffer.h` of the kernel. Any bytes can be read; those that make no sense end
//! the page.

use super::format::Format;
use delaylab_model::Nanos;
use std::io;

/// Bytes that a page is read into. Pages are as large as the kernel's own, and at most this.
pub const SIZE: usize = 65_536;

const HEADER: usize = 16;
const LOST: u64 = 1 << 31;
const LOST_COUNTED: u64 = 1 << 30;

/// Are this kernel's pages as described here?
///
/// # Errors
/// `Unsupported` where they are not: kernels of 32 bits.
pub(super) fn check_header(text: &str) -> io::Result<()> {
    let format = Format::parse(text);
    let place = |name| format.field(name).map(|field| (field.offset, field.size));
    let commit = place("commit") == Some((8, 8));
    let data = format
        .field("data")
        .is_some_and(|data| data.offset == HEADER);
    if place("timestamp") == Some((0, 8)) && commit && data {
        Ok(())
    } else {
        let what = "this kernel's trace buffers have another form";
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }
}

/// A page that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// Entries lost between the page before and this one; at least so many.
    pub lost: u64,
    start: u64,
    data: &'a [u8],
}

/// One entry: when, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// By the clock that the instance was given.
    pub time: Nanos,
    /// The event, which begins with its number.
    pub payload: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads the header. `None` where the bytes are too few.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (start, committed) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
        let length = (committed & !(LOST | LOST_COUNTED)).try_into().ok()?;
        let data = bytes.get(HEADER..)?.get(..length)?;
        let counted = (committed & LOST_COUNTED != 0)
            .then(|| u64_at(bytes, HEADER + length))
            .flatten();
        let lost = (committed & LOST != 0).then(|| counted.unwrap_or(1).max(1));
        Some(Self {
            lost: lost.unwrap_or(0),
            start,
            data,
        })
    }

    /// Its entries, in the order of time.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            time: self.start,
            rest: self.data,
        }
    }
}

/// Reads entries one after the other.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    time: u64,
    rest: &'a [u8],
}

/// What the five bits say.
enum Kind {
    /// An event; the bits are its length in words.
    Event { length: usize },
    /// An event whose length is in the word that follows.
    LongEvent,
    /// Room that holds nothing.
    Padding,
    /// More of the time since the entry before.
    TimeExtend,
    /// The time itself.
    TimeStamp,
}

impl Kind {
    fn from_bits(bits: u32) -> Self {
        match bits {
            0 => Kind::LongEvent,
            29 => Kind::Padding,
            30 => Kind::TimeExtend,
            31 => Kind::TimeStamp,
            words => Kind::Event {
                length: words as usize * 4,
            },
        }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            let (kind, delta) = split(u32_at(self.rest, 0)?);
            match kind {
                Kind::Event { length } => return self.event(delta, 4, length),
                Kind::LongEvent => {
                    // The word counts itself.
                    let length = (u32_at(self.rest, 4)? as usize).checked_sub(4)?;
                    return self.event(delta, 8, length);
                }
                // Nothing but padding follows on this page.
                Kind::Padding if delta == 0 => return None,
                Kind::Padding => {
                    let length = u32_at(self.rest, 4)? as usize;
                    self.time = self.time.wrapping_add(delta);
                    self.rest = self.rest.get(length.checked_add(4)?..)?;
                }
                Kind::TimeExtend => {
                    self.time = self.time.wrapping_add(self.long_time(delta)?);
                    self.rest = self.rest.get(8..)?;
                }
                Kind::TimeStamp => {
                    self.time = absolute(self.long_time(delta)?, self.time);
                    self.rest = self.rest.get(8..)?;
                }
            }
        }
    }
}

impl<'a> Entries<'a> {
    fn event(&mut self, delta: u64, header: usize, length: usize) -> Option<Entry<'a>> {
        let payload = self.rest.get(header..)?.get(..length)?;
        self.time = self.time.wrapping_add(delta);
        // Entries begin at multiples of four bytes.
        let next = header + length.next_multiple_of(4);
        self.rest = self.rest.get(next..).unwrap_or(&[]);
        Some(Entry {
            time: Nanos::try_from(self.time).unwrap_or(Nanos::MAX),
            payload,
        })
    }

    /// 27 bits of time and the word that follows, above them.
    fn long_time(&self, low: u64) -> Option<u64> {
        Some((u64::from(u32_at(self.rest, 4)?) << 27) | low)
    }
}

/// A time stamp has 59 bits; the five above are those of the time before.
fn absolute(low: u64, before: u64) -> u64 {
    const HIGH: u64 = 0xf800_0000_0000_0000;
    let time = low & !HIGH | before & HIGH;
    if time < before && before & HIGH != 0 {
        time.wrapping_add(1 << 59)
    } else {
        time
    }
}

/// The kernel declares these as bit fields, which follow the order of bytes.
fn split(word: u32) -> (Kind, u64) {
    if cfg!(target_endian = "little") {
        (Kind::from_bits(word & 31), u64::from(word >> 5))
    } else {
        (Kind::from_bits(word >> 27), u64::from(word & 0x07ff_ffff))
    }
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn page(start: u64, committed: u64, words: &[u32]) -> Vec<u8> {
        let mut bytes = [start.to_ne_bytes(), committed.to_ne_bytes()].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn entries(words: &[u32]) -> Vec<(Nanos, Vec<u8>)> {
        let bytes = page(1_000, words.len() as u64 * 4, words);
        let page = Page::parse(&bytes).unwrap();
        let owned = |entry: Entry<'_>| (entry.time, entry.payload.to_vec());
        page.entries().map(owned).collect()
    }

    #[test]
    fn times_add_up_over_every_kind() {
        let words = [
            10 << 5 | 1,
            0x4433_2211, // an event of a word, 10 ns later
            5 << 5 | 30,
            1, // 5 + 2^27 ns later
            0,
            12,
            7,
            8, // an event with its own length
            3 << 5 | 29,
            8,
            0, // padding of 12 bytes, 3 ns later
            20 << 5 | 31,
            2, // 20 + 2 * 2^27 ns
            1,
            9,
            29,
            0,
            0, // the rest of the page is empty
        ];
        let extended = 1_010 + 5 + (1 << 27);
        assert_eq!(
            entries(&words),
            [
                (1_010, vec![0x11, 0x22, 0x33, 0x44]),
                (extended, [7u32.to_ne_bytes(), 8u32.to_ne_bytes()].concat()),
                (20 + (2 << 27), 9u32.to_ne_bytes().to_vec()),
            ]
        );
    }

    #[test]
    fn an_entry_that_is_cut_off_ends_the_page() {
        assert_eq!(entries(&[2, 1]), []);
        assert_eq!(entries(&[0, 3, 1]), []);
        assert_eq!(entries(&[30]), []);
        assert_eq!(entries(&[32 | 29, u32::MAX]), []);
    }

    #[test]
    fn losses_are_counted_where_the_page_says_how_many() {
        let bytes = page(0, 4 | LOST | LOST_COUNTED, &[29, 77, 0]);
        assert_eq!(Page::parse(&bytes).unwrap().lost, 77);
        assert_eq!(Page::parse(&page(0, 4 | LOST, &[29])).unwrap().lost, 1);
        assert_eq!(Page::parse(&page(0, 4, &[29])).unwrap().lost, 0);
        assert_eq!(Page::parse(&page(0, 5, &[29])), None);
        assert_eq!(Page::parse(&[0; 15]), None);
    }

    #[test]
    fn the_five_highest_bits_are_those_before() {
        assert_eq!(absolute(5, 3), 5);
        assert_eq!(absolute(5, 1 << 60 | 3), 1 << 60 | 5);
        assert_eq!(absolute(1, 1 << 60 | 3), ((1 << 60) + (1 << 59)) | 1);
    }

    #[test]
    fn the_kernels_own_description_is_checked() {
        let good = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert!(check_header(good).is_ok());
        assert!(check_header(&good.replace("offset:16", "offset:12")).is_err());
        assert!(check_header("").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(page) = Page::parse(&bytes) {
                prop_assert!(page.entries().count() <= bytes.len() / 4);
            }
        }

        #[test]
        fn nor_do_any_entries(words in prop::collection::vec(any::<u32>(), 0..100)) {
            prop_assert!(entries(&words).len() <= words.len());
        }
    }
}
