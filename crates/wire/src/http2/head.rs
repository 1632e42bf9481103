//! Heads of HTTP/2 (HPACK, RFC 7541), as far as a prober needs them: a request is written with the static table and plain
//! literals, and of a reply its status is read.
//!
//! A session tells its peer that it keeps no dynamic table (SETTINGS_HEADER_TABLE_SIZE 0), so that each head stands for itself:
//! there is nothing to remember from one to the next, and nothing that a server could fill. Of strings in Huffman's code only
//! status codes are decoded; all others are stepped over.

use super::Http2Error;
use crate::http::{ACCEPT, USER_AGENT, is_given};
use delaylab_model::request::Header;

/// Entries of the static table (RFC 7541, appendix A).
const STATIC: u64 = 61;
/// Those of `:status`, by index from 8.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: u64 = 8;
const LAST_STATUS: u64 = 14;
/// Those of `user-agent` and `accept`, which each request has.
const USUAL: [(u64, (&str, &str)); 2] = [(58, USER_AGENT), (19, ACCEPT)];
/// `:status` in Huffman's code.
const STATUS_CODED: &[u8] = &[0xb8, 0x84, 0x8d, 0x36, 0xa3];

/// The head of a request. Of the fields that every request has, a given one takes the place. The caller has seen to it that no part has a line break.
pub fn request(verb: &str, tls: bool, path: &str, authority: &str, headers: &[Header]) -> Vec<u8> {
    let mut out = Vec::new();
    match verb {
        "GET" => out.push(0x82),
        _ => literal(&mut out, 2, verb),
    }
    out.push(if tls { 0x87 } else { 0x86 });
    match path {
        "/" => out.push(0x84),
        _ => literal(&mut out, 4, path),
    }
    literal(&mut out, 1, authority);
    for (index, (name, value)) in USUAL {
        if !is_given(headers, name) {
            literal(&mut out, index, value);
        }
    }
    for header in headers {
        // A name that is in no table (RFC 7541 §6.2.2). It is in lower case (RFC 9113 §8.2.1): [`Header`] is read so.
        out.push(0);
        text(&mut out, &header.name);
        text(&mut out, &header.value);
    }
    out
}

/// A field with a name of the static table, which nobody is to index (RFC 7541 §6.2.2).
fn literal(out: &mut Vec<u8>, name: u64, value: &str) {
    write_integer(out, 4, name);
    text(out, value);
}

/// A string that is not in Huffman's code (RFC 7541 §5.2).
fn text(out: &mut Vec<u8>, text: &str) {
    write_integer(out, 7, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// An integer in the last `bits` bits of a byte, and of more where it is larger (RFC 7541 §5.1).
fn write_integer(out: &mut Vec<u8>, bits: u32, value: u64) {
    let most = (1 << bits) - 1;
    if value < most {
        out.push(value as u8);
        return;
    }
    out.push(most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The status in the head of a reply, or `None` where there is none, as in trailers.
///
/// # Errors
/// It cannot be read, refers to a table that there is not, or has two of them.
pub fn status(head: &[u8]) -> Result<Option<u16>, Http2Error> {
    let mut left = head;
    let mut found = None;
    while let Some(&first) = left.first() {
        let status = field(first, &mut left).ok_or(Http2Error::Head)?;
        if status.is_some() && found.is_some() {
            return Err(Http2Error::Head);
        }
        found = found.or(status);
    }
    Ok(found)
}

/// Takes one field; `Some(Some(…))` where it is a status.
fn field(first: u8, left: &mut &[u8]) -> Option<Option<u16>> {
    if first & 0x80 != 0 {
        let index = read_integer(left, 7)?;
        return match index {
            FIRST_STATUS..=LAST_STATUS => Some(Some(STATUSES[(index - FIRST_STATUS) as usize])),
            1..=STATIC => Some(None),
            _ => None,
        };
    }
    if first & 0xe0 == 0x20 {
        // The size of the table: ours has none.
        return (read_integer(left, 5)? == 0).then_some(None);
    }
    let index = read_integer(left, if first & 0x40 != 0 { 6 } else { 4 })?;
    let is_status = match index {
        0 => {
            let (coded, name) = string(left)?;
            name == if coded { STATUS_CODED } else { b":status" }
        }
        FIRST_STATUS..=LAST_STATUS => true,
        1..=STATIC => false,
        _ => return None,
    };
    let (coded, value) = string(left)?;
    match is_status {
        true => digits(coded, value).map(Some),
        false => Some(None),
    }
}

/// Takes an integer that begins in the last `bits` bits (RFC 7541 §5.1). `None`: cut, or larger than any that is needed.
fn read_integer(left: &mut &[u8], bits: u32) -> Option<u64> {
    let mut next = || {
        let (&byte, rest) = left.split_first()?;
        *left = rest;
        Some(byte)
    };
    let most = (1_u64 << bits) - 1;
    let mut value = u64::from(next()?) & most;
    if value < most {
        return Some(value);
    }
    for shift in [0, 7, 14, 21] {
        let byte = next()?;
        value += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes a string, and says whether it is in Huffman's code (RFC 7541 §5.2).
fn string<'a>(left: &mut &'a [u8]) -> Option<(bool, &'a [u8])> {
    let coded = left.first()? & 0x80 != 0;
    let length = usize::try_from(read_integer(left, 7)?).ok()?;
    let (text, rest) = left.split_at_checked(length)?;
    *left = rest;
    Some((coded, text))
}

/// Three digits, 100 to 999: one above 599 is an answer, which counts as an error of the server (RFC 9110 §15).
fn digits(coded: bool, value: &[u8]) -> Option<u16> {
    let digits = match coded {
        true => decoded(value)?,
        false => *<&[u8; 3]>::try_from(value).ok()?,
    };
    let number = digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u16::from(digit - b'0'))
    })?;
    (100..=999).contains(&number).then_some(number)
}

/// Three digits in Huffman's code: 0 to 2 have five bits, 3 to 9 have six, and ones fill the last byte (RFC 7541, appendix B).
fn decoded(value: &[u8]) -> Option<[u8; 3]> {
    if !(2..=3).contains(&value.len()) {
        return None;
    }
    let bits = value
        .iter()
        .fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
    let mut left = 8 * value.len() as u32;
    let mut peek = |count: u32, take: bool| {
        let shift = left.checked_sub(count)?;
        left = if take { shift } else { left };
        Some((bits >> shift & ((1 << count) - 1)) as u8)
    };
    let mut digits = [0; 3];
    for digit in &mut digits {
        *digit = match peek(5, false)? {
            short @ 0..=2 => {
                peek(5, true)?;
                b'0' + short
            }
            _ => match peek(6, true)? {
                long @ 0x19..=0x1f => b'3' + (long - 0x19),
                _ => return None,
            },
        };
    }
    let ones = (1_u32 << left) - 1;
    (left < 8 && bits & ones == ones).then_some(digits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Examples of RFC 7541: C.4.1 has `www.example.com` coded, ours is plain as in C.3.1.
    #[test]
    fn a_request_is_written_as_the_standard_has_it() {
        let head = request("GET", false, "/", "www.example.com", &[]);
        assert_eq!(&head[..3], &[0x82, 0x86, 0x84]);
        assert_eq!(&head[3..5], &[0x01, 0x0f]);
        assert_eq!(&head[5..20], b"www.example.com");
        assert_eq!(&head[20..23], &[0x0f, 43, 8]);
        assert!(request("HEAD", true, "/a", "b", &[]).starts_with(b"\x02\x04HEAD\x87\x04\x02/a"));
        let gzip = "Accept-Encoding: gzip".parse().unwrap();
        let head = request("GET", true, "/", "b", &[gzip]);
        assert!(
            head.ends_with(b"\x00\x0faccept-encoding\x04gzip"),
            "{head:x?}"
        );
    }

    #[test]
    fn given_fields_take_the_place_of_the_usual_ones() {
        let given = ["User-Agent: x", "Accept: y"].map(|text| text.parse().unwrap());
        let head = request("GET", false, "/", "a", &given);
        let fields = b"\x82\x86\x84\x01\x01a\x00\x0auser-agent\x01x\x00\x06accept\x01y";
        assert_eq!(head, fields);
    }

    #[test]
    fn integers_are_those_of_the_standard() {
        // RFC 7541, C.1.2.
        let mut out = Vec::new();
        write_integer(&mut out, 5, 1337);
        assert_eq!(out, [0b11111, 0b1001_1010, 0b1010]);
        assert_eq!(read_integer(&mut &out[..], 5), Some(1337));
        assert_eq!(read_integer(&mut &[0xff; 20][..], 7), None);
    }

    #[test]
    fn a_status_is_read_in_each_form() {
        // RFC 7541, C.5.1 (a literal), C.6.1 and C.6.2 (in Huffman's code).
        for (head, expected) in [
            (&b"\x88"[..], 200),
            (b"\x20\x8e", 500),
            (b"\x48\x03302", 302),
            (b"\x48\x82\x64\x02", 302),
            (b"\x48\x83\x64\x0e\xff", 307),
            (b"\x08\x03418", 418),
            (b"\x00\x07:status\x03201", 201),
            (b"\x10\x85\xb8\x84\x8d\x36\xa3\x03201\x00\x01a\x01b", 201),
        ] {
            assert_eq!(status(head), Ok(Some(expected)), "{head:?}");
        }
        assert_eq!(status(b"\x00\x01a\x01b"), Ok(None));
    }

    #[test]
    fn what_needs_a_table_or_is_cut_cannot_be_read() {
        for head in [
            &b"\xbe"[..],
            b"\x80",
            b"\x7e\x01a",
            b"\x3f\xe1\x1f",
            b"\x88\x88",
            b"\x48\x03",
            b"\x48\x0399x",
            b"\x48\x03099",
            b"\x48\x82\x64\x03\x88",
            b"\x48\x04\x32\x30\x30\x30",
            b"\x00\x7f",
        ] {
            assert_eq!(status(head), Err(Http2Error::Head), "{head:?}");
        }
    }

    /// Huffman's code of a digit, of RFC 7541, appendix B.
    fn coded(number: u16) -> Vec<u8> {
        let text: String = number
            .to_string()
            .bytes()
            .map(|digit| match digit - b'0' {
                short @ 0..=2 => format!("{short:05b}"),
                long => format!("{:06b}", 0x19 + (long - 3)),
            })
            .collect();
        let whole = text.len().next_multiple_of(8);
        let text = format!("{text:1<whole$}");
        let bytes = text.as_bytes().chunks(8);
        let byte = |bits| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap();
        bytes.map(byte).collect()
    }

    proptest! {
        #[test]
        fn every_status_is_read_in_either_code(number in 100_u16..1000) {
            let plain = [&b"\x48\x03"[..], number.to_string().as_bytes()].concat();
            prop_assert_eq!(status(&plain), Ok(Some(number)));
            let coded = coded(number);
            let head = [&[0x48, 0x80 | coded.len() as u8][..], &coded].concat();
            prop_assert_eq!(status(&head), Ok(Some(number)));
        }

        #[test]
        fn no_bytes_panic(head in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = status(&head);
        }

        #[test]
        fn integers_are_read_back(value in 0_u64..1 << 28, bits in 4_u32..8) {
            let mut out = Vec::new();
            write_integer(&mut out, bits, value);
            prop_assert_eq!(read_integer(&mut &out[..], bits), Some(value));
        }
    }
}
