//! What an entry of the trace buffers says.

use super::format::{Field, Format};
use super::page::u32_at;
use std::borrow::Cow;

/// Every event that is understood here.
pub const ALL: [&str; 6] = [
    "sched/sched_switch",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "cgroup/cgroup_notify_frozen",
];

/// A thread, as the scheduler knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task<'a> {
    /// Its number; 0 is the CPU's idle thread.
    pub id: u32,
    /// Its name.
    pub name: Cow<'a, str>,
}

/// What happened on a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// One thread stopped running and another began.
    Switch {
        /// Who ran until now.
        from: Task<'a>,
        /// Who runs from now on.
        to: Task<'a>,
        /// Why the first no longer runs.
        why: Option<Why>,
    },
    /// A driver's interrupt handler began.
    InterruptBegin {
        /// As the driver calls itself.
        name: Cow<'a, str>,
    },
    /// It ended.
    InterruptEnd,
    /// A softirq handler began.
    SoftirqBegin {
        /// Which.
        vector: u32,
    },
    /// It ended.
    SoftirqEnd,
    /// All threads of a cgroup are frozen, or the first of them is no longer (cgroup 2).
    Freezer {
        /// Its path, from the root of the hierarchy.
        group: Cow<'a, str>,
        /// Is it frozen from now on?
        frozen: bool,
    },
}

/// Why a thread no longer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It could have gone on: it waits for nothing but a CPU.
    Preempted,
    /// It waits for something else, or has ended.
    Waits,
    /// A signal or a debugger stopped it: nothing but that lets it run again.
    Stopped,
}

/// Softirqs by number, in the kernel's order.
const SOFTIRQS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// A softirq's name.
pub fn softirq_name(vector: u32) -> Cow<'static, str> {
    let name = usize::try_from(vector).ok().and_then(|v| SOFTIRQS.get(v));
    name.map_or_else(|| format!("softirq {vector}").into(), |&name| name.into())
}

/// What a thread may wait for, as the bits of `prev_state` (`TASK_REPORT` in linux/sched.h; the bit above
/// them says that it was preempted).
const WAITS: u64 = 0xff;
/// Those of them that say that it was stopped: `TASK_STOPPED`, `TASK_TRACED`. A frozen thread is shown as one that waits.
const STOPPED: u64 = 0x04 | 0x08;

/// Reads events, by the formats that this kernel says they have.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    known: Vec<(u16, Layout)>,
}

#[derive(Debug, Clone, Copy)]
enum Layout {
    Switch {
        from: (Field, Field),
        to: (Field, Field),
        state: Option<Field>,
    },
    InterruptBegin {
        name: Field,
    },
    InterruptEnd,
    SoftirqBegin {
        vector: Field,
    },
    SoftirqEnd,
    Freezer {
        group: Field,
        frozen: Field,
    },
}

impl Decoder {
    /// Learns an event's format. Returns whether it is one that is understood.
    pub fn add(&mut self, name: &str, format: &Format) -> bool {
        let learned = format.id.zip(layout(name, format));
        self.known.extend(learned);
        learned.is_some()
    }

    /// Does it know no event?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Reads an entry. `None` where it is no event that was learned, or too short for it.
    pub fn decode<'a>(&self, payload: &'a [u8]) -> Option<Event<'a>> {
        let id = u16::from_ne_bytes(*payload.first_chunk()?);
        let (_, layout) = self.known.iter().find(|(known, _)| *known == id)?;
        Some(match *layout {
            Layout::Switch { from, to, state } => Event::Switch {
                from: task(payload, from)?,
                to: task(payload, to)?,
                why: state.and_then(|state| why(payload, state)),
            },
            Layout::InterruptBegin { name } => Event::InterruptBegin {
                name: text(located(payload, name)?),
            },
            Layout::InterruptEnd => Event::InterruptEnd,
            Layout::SoftirqBegin { vector } => Event::SoftirqBegin {
                vector: u32_at(payload, vector.offset)?,
            },
            Layout::SoftirqEnd => Event::SoftirqEnd,
            Layout::Freezer { group, frozen } => Event::Freezer {
                group: text(located(payload, group)?),
                frozen: u32_at(payload, frozen.offset)? != 0,
            },
        })
    }
}

fn layout(event: &str, format: &Format) -> Option<Layout> {
    let number = |name| format.field(name).filter(|field| field.size == 4);
    Some(match event {
        "sched/sched_switch" => Layout::Switch {
            from: (number("prev_pid")?, format.field("prev_comm")?),
            to: (number("next_pid")?, format.field("next_comm")?),
            state: format.field("prev_state"),
        },
        "irq/irq_handler_entry" => Layout::InterruptBegin {
            name: number("name")?,
        },
        "irq/irq_handler_exit" => Layout::InterruptEnd,
        "irq/softirq_entry" => Layout::SoftirqBegin {
            vector: number("vec")?,
        },
        "irq/softirq_exit" => Layout::SoftirqEnd,
        "cgroup/cgroup_notify_frozen" => Layout::Freezer {
            group: number("path")?,
            frozen: number("val")?,
        },
        _ => return None,
    })
}

/// Of a thread that stopped running; the kernel's `long` has 4 or 8 bytes.
fn why(payload: &[u8], state: Field) -> Option<Why> {
    let bytes = payload.get(state.offset..)?;
    let state = match state.size {
        4 => u32::from_ne_bytes(*bytes.first_chunk()?).into(),
        8 => u64::from_ne_bytes(*bytes.first_chunk()?),
        _ => return None,
    };
    Some(match state & WAITS {
        0 => Why::Preempted,
        bits if bits & STOPPED != 0 => Why::Stopped,
        _ => Why::Waits,
    })
}

fn task(payload: &[u8], (id, name): (Field, Field)) -> Option<Task<'_>> {
    Some(Task {
        id: u32_at(payload, id.offset)?,
        name: text(payload.get(name.offset..)?.get(..name.size)?),
    })
}

/// A string whose place is said in the event: offset below, length above (`__data_loc`).
fn located(payload: &[u8], field: Field) -> Option<&[u8]> {
    let place = u32_at(payload, field.offset)?;
    let (offset, length) = (place & 0xffff, place >> 16);
    payload.get(offset as usize..)?.get(..length as usize)
}

/// Up to its end, which is a zero byte.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())])
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::page::Page;
    use super::*;
    use proptest::prelude::*;

    /// Captured on Linux 6.18, x86-64: the first entries of a page.
    const PAGE: &str = "\
        44956d812e0c0000dc00000000000000\
        1000000074010102a16d0000707974686f6e33000000000000000000a16d00007800000001000000000000007377\
        61707065722f31000000000000000000000078000000\
        87a4c806e1000901000000002a00000010000b0076697274696f332d74780000\
        e4d10800e0002d01000000002a00000001000000\
        7026140074010102625700006b776f726b65722f313a30000000000062570000780000008000000000000000746f\
        6b696f2d72742d776f726b6572004500000078000000\
        e36fc318df00100100000000010000008338070\
        0de0034010000000001000000";

    /// The formats of the same kernel, as far as they matter.
    fn decoder() -> Decoder {
        let formats = [
            "ID: 372\nfield:char prev_comm[16];offset:8;size:16;\nfield:pid_t prev_pid;offset:24;size:4;\n\
                 field:long prev_state;offset:32;size:8;\n\
                 field:char next_comm[16];offset:40;size:16;\nfield:pid_t next_pid;offset:56;size:4;",
            "ID: 225\nfield:int irq;offset:8;size:4;\nfield:__data_loc char[] name;offset:12;size:4;",
            "ID: 224\nfield:int irq;offset:8;size:4;",
            "ID: 223\nfield:unsigned int vec;offset:8;size:4;",
            "ID: 222\nfield:unsigned int vec;offset:8;size:4;",
            "ID: 535\nfield:u64 id;offset:16;size:8;\nfield:__data_loc char[] path;offset:24;size:4;\n\
                 field:int val;offset:28;size:4;",
        ];
        let mut decoder = Decoder::default();
        for (name, text) in ALL.iter().zip(formats) {
            assert!(decoder.add(name, &Format::parse(text)), "{name}");
        }
        decoder
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<char> = hex.chars().collect();
        let pair = |two: &[char]| u8::from_str_radix(&two.iter().collect::<String>(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    fn waits(from: (u32, &'static str), to: (u32, &'static str)) -> Event<'static> {
        let task = |(id, name): (u32, &'static str)| Task {
            id,
            name: name.into(),
        };
        Event::Switch {
            from: task(from),
            to: task(to),
            why: Some(Why::Waits),
        }
    }

    #[test]
    fn a_captured_page_reads_as_the_kernel_prints_it() {
        let (page, decoder) = (bytes(PAGE), decoder());
        let page = Page::parse(&page).unwrap();
        let start = 0x0c2e_816d_9544;
        let seen: Vec<_> = page
            .entries()
            .map(|entry| (entry.time - start, decoder.decode(entry.payload).unwrap()))
            .collect();
        let name = "virtio3-tx".into();
        let expected = [
            (0, waits((28065, "python3"), (0, "swapper/1"))),
            (3_556_644, Event::InterruptBegin { name }),
            (3_574_707, Event::InterruptEnd),
            (
                3_615_974,
                waits((22370, "kworker/1:0"), (69, "tokio-rt-worker")),
            ),
            (16_599_141, Event::SoftirqBegin { vector: 1 }),
            (16_613_929, Event::SoftirqEnd),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn who_waits_for_nothing_was_preempted_and_who_is_stopped_is_not_ready() {
        let field = |size| Field { offset: 2, size };
        let of = |state: u64, size| why(&[&[0; 2][..], &state.to_ne_bytes()].concat(), field(size));
        let each = |states: &[u64], expected| {
            for state in states {
                assert_eq!(of(*state, 8), Some(expected), "{state:#x}");
                assert_eq!(of(*state, 4), Some(expected), "{state:#x}");
            }
        };
        // Running, preempted; sleeping, waiting for a disk, dead, an idle thread of the kernel; by SIGSTOP, by a debugger.
        each(&[0, 0x100], Why::Preempted);
        each(&[1, 2, 0x20, 0x80], Why::Waits);
        each(&[4, 8], Why::Stopped);
        assert_eq!((of(1, 2), why(&[0; 5], field(8))), (None, None));
    }

    #[test]
    fn a_frozen_cgroup_has_its_path() {
        let entry = |val: u32| {
            let mut entry = vec![0; 16];
            entry[..2].copy_from_slice(&535_u16.to_ne_bytes());
            entry.extend(9_u64.to_ne_bytes());
            // Six bytes with the zero at the end, behind the fields.
            entry.extend((6_u32 << 16 | 32).to_ne_bytes());
            entry.extend(val.to_ne_bytes());
            entry.extend(b"/a/bc\0\0\0");
            entry
        };
        for (val, frozen) in [(1, true), (0, false)] {
            let group = "/a/bc".into();
            let expected = Event::Freezer { group, frozen };
            assert_eq!(decoder().decode(&entry(val)), Some(expected));
        }
        assert_eq!(decoder().decode(&entry(1)[..33]), None);
    }

    #[test]
    fn what_was_not_learned_is_left_out() {
        assert_eq!(decoder().decode(&[0xff, 0xff, 0, 0]), None);
        assert_eq!(decoder().decode(&[]), None);
        let mut decoder = Decoder::default();
        assert!(!decoder.add("sched/sched_switch", &Format::parse("ID: 1")));
        assert!(!decoder.add("irq/other", &Format::parse("ID: 1")));
        assert!(!decoder.add(ALL[2], &Format::default()));
        assert!(decoder.is_empty());
    }

    #[test]
    fn softirqs_have_names() {
        assert_eq!(softirq_name(3), "NET_RX");
        assert_eq!(softirq_name(10), "softirq 10");
    }

    proptest! {
        #[test]
        fn no_payload_makes_it_panic(id in 222_u16..226, rest in prop::collection::vec(any::<u8>(), 0..80)) {
            let payload = [&id.to_ne_bytes()[..], &rest].concat();
            let decoder = decoder();
            decoder.decode(&payload);
            decoder.decode(&[&372_u16.to_ne_bytes()[..], &rest].concat());
            decoder.decode(&[&535_u16.to_ne_bytes()[..], &rest].concat());
        }
    }
}
