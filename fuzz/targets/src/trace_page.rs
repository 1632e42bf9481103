//! Pages of the kernel's trace buffers, and the descriptions of its events: entries stay inside their page, and what
//! a description says is only read where there are bytes.

use delaylab_kernel::tracefs::event::{ALL, Decoder};
use delaylab_kernel::tracefs::format::Format;
use delaylab_kernel::tracefs::page::Page;

const SWITCH: &str = "ID: 1\nfield:char prev_comm[16];offset:8;size:16;\nfield:pid_t prev_pid;offset:24;size:4;\n\
    field:char next_comm[16];offset:40;size:16;\nfield:pid_t next_pid;offset:56;size:4;";
const HANDLER: &str = "ID: 2\nfield:__data_loc char[] name;offset:12;size:4;";
const SOFTIRQ: &str = "ID: 3\nfield:unsigned int vec;offset:8;size:4;";

/// Checks one input.
pub fn check(data: &[u8]) {
    let mut decoder = Decoder::default();
    for (name, format) in [(ALL[0], SWITCH), (ALL[1], HANDLER), (ALL[3], SOFTIRQ)] {
        assert!(decoder.add(name, &Format::parse(format)));
    }
    if let Some(page) = Page::parse(data) {
        for entry in page.entries() {
            let inside = data.as_ptr_range().contains(&entry.payload.as_ptr());
            assert!(inside || entry.payload.is_empty());
            let _ = decoder.decode(entry.payload);
        }
    }
    let mut other = Decoder::default();
    let format = Format::parse(&String::from_utf8_lossy(data));
    for name in ALL {
        other.add(name, &format);
    }
    let _ = other.decode(data);
}

/// Valid inputs: a page with an event of each kind, and the descriptions. The page is a little-endian kernel's.
pub fn seeds() -> Vec<Vec<u8>> {
    let switch = words(&[1, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 8]);
    // The name is four bytes, from the sixteenth on.
    let handler = words(&[2, 0, 0, (4 << 16) | 16, u32::from_le_bytes(*b"eth\0")]);
    let softirq = words(&[3, 0, 1]);
    let time_extend = words(&[(5 << 5) | 30, 1]);
    let time_stamp = words(&[(20 << 5) | 31, 2]);
    let padding = words(&[(3 << 5) | 29, 8, 0]);
    // An event that is longer than the five bits of its header can say.
    let long = [words(&[0, 4 + switch.len() as u32]), switch.clone()].concat();
    let entries = [
        event(&switch),
        time_extend,
        event(&handler),
        padding,
        long,
        time_stamp,
        event(&softirq),
    ]
    .concat();
    let length = entries.len() as u64;
    let page = [
        1_000_u64.to_le_bytes().as_slice(),
        &length.to_le_bytes(),
        &entries,
    ]
    .concat();
    let descriptions = [SWITCH, HANDLER, SOFTIRQ].map(|text| text.as_bytes().to_vec());
    [vec![page], descriptions.to_vec()].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An event 10 ns after the one before; the header says its length in words.
fn event(payload: &[u8]) -> Vec<u8> {
    let header = (10 << 5) | (payload.len() as u32 / 4);
    [words(&[header]), payload.to_vec()].concat()
}
