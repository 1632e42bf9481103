//! Pages of the kernel's trace buffers, and the descriptions of its events: entries stay inside
//! their page, and what a description says is only read where there are bytes.
#![no_main]

use delaylab_kernel::tracefs::event::{ALL, Decoder};
use delaylab_kernel::tracefs::format::Format;
use delaylab_kernel::tracefs::page::Page;
use libfuzzer_sys::fuzz_target;

const SWITCH: &str = "ID: 1\nfield:char prev_comm[16];offset:8;size:16;\nfield:pid_t prev_pid;offset:24;size:4;\n\
    field:char next_comm[16];offset:40;size:16;\nfield:pid_t next_pid;offset:56;size:4;";
const HANDLER: &str = "ID: 2\nfield:__data_loc char[] name;offset:12;size:4;";
const SOFTIRQ: &str = "ID: 3\nfield:unsigned int vec;offset:8;size:4;";

fuzz_target!(|data: &[u8]| {
    let mut decoder = Decoder::default();
    for (name, format) in [(ALL[0], SWITCH), (ALL[1], HANDLER), (ALL[3], SOFTIRQ)] {
        assert!(decoder.add(name, &Format::parse(format)));
    }
    if let Some(page) = Page::parse(data) {
        for entry in page.entries() {
            assert!(data.as_ptr_range().contains(&entry.payload.as_ptr()) || entry.payload.is_empty());
            let _ = decoder.decode(entry.payload);
        }
    }
    let mut other = Decoder::default();
    let format = Format::parse(&String::from_utf8_lossy(data));
    for name in ALL {
        other.add(name, &format);
    }
    let _ = other.decode(data);
});
