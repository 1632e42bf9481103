#![allow(clippy::unwrap_used)]

use super::*;

/// Makes a capture, in either byte order.
#[derive(Clone, Copy)]
struct Maker {
    big_endian: bool,
}

const ORDERS: [Maker; 2] = [Maker { big_endian: false }, Maker { big_endian: true }];

impl Maker {
    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u64(self, value: u64) -> [u8; 8] {
        if self.big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let length = self.u32(u32::try_from(body.len() + 12).unwrap());
        [&self.u32(kind), &length, body, &length].concat()
    }

    fn section(self) -> Vec<u8> {
        let body = [
            &self.u32(0x1a2b_3c4d)[..],
            &self.u16(1),
            &self.u16(0),
            &self.u64(u64::MAX),
            &self.option(4, b"maker 1"),
            &self.option(0, b""),
        ];
        self.block(SHB_MAGIC, &body.concat())
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len()).unwrap();
        let mut option = [&self.u16(code)[..], &self.u16(length), value].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    fn interface(self, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [&self.u16(link)[..], &[0; 6]].concat();
        for (code, value) in options {
            body.extend(self.option(*code, value));
        }
        self.block(IDB_MAGIC, &body)
    }

    fn packet(self, interface: u32, units: u64, data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap();
        let [high, low] =
            [units >> 32, units & 0xffff_ffff].map(|half| u32::try_from(half).unwrap());
        // Longer on the wire than what was kept.
        let head = [interface, high, low, length, length + 100];
        let mut body = head.map(|word| self.u32(word)).concat();
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(EPB_MAGIC, &body)
    }

    fn pcap(self, magic: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let head = [magic, 0x0002_0004, 0, 0, 64, 101];
        let mut file = head.map(|word| self.u32(word)).concat();
        for (seconds, fraction, data) in packets {
            let length = u32::try_from(data.len()).unwrap();
            let head = [*seconds, *fraction, length, length + 100];
            file.extend(head.map(|word| self.u32(word)).concat());
            file.extend(*data);
        }
        file
    }
}

fn frames(file: &File) -> Vec<(Nanos, u32, Vec<u8>)> {
    let frames = file.frames.iter();
    frames
        .map(|frame| (frame.time, frame.link, frame.data.to_vec()))
        .collect()
}

#[test]
fn pcap_is_read_in_both_byte_orders_and_both_units() {
    for maker in ORDERS {
        for (magic, unit) in [(0xa1b2_c3d4, MICROSECOND), (0xa1b2_3c4d, 1)] {
            let bytes = maker.pcap(magic, &[(7, 8, b"abcde"), (u32::MAX, 9, b"")]);
            assert!(is(&bytes));
            let file = read(&bytes).unwrap();
            let (first, second) = (7 * SECOND + 8 * unit, 4_294_967_295 * SECOND + 9 * unit);
            assert_eq!(
                frames(&file),
                [(first, 101, b"abcde".to_vec()), (second, 101, Vec::new())]
            );
            assert!(file.warnings.is_empty());
        }
    }
}

#[test]
fn pcapng_is_read_in_both_byte_orders_and_in_the_unit_of_each_interface() {
    for maker in ORDERS {
        let offset = maker.u64(1_000);
        let bytes = [
            maker.section(),
            maker.interface(1, &[]),
            maker.interface(101, &[(9, &[9]), (14, &offset), (0, b"")]),
            maker.interface(113, &[(9, &[0x80 + 10])]),
            maker.packet(0, 3_000_005, b"abcde"),
            maker.packet(1, 0x0000_0002_0000_0001, b"f"),
            maker.packet(2, 1_024 + 512, b""),
        ]
        .concat();
        assert!(is(&bytes));
        let file = read(&bytes).unwrap();
        assert_eq!(
            frames(&file),
            [
                (3 * SECOND + 5 * MICROSECOND, 1, b"abcde".to_vec()),
                (1_000 * SECOND + 0x2_0000_0001, 101, b"f".to_vec()),
                (SECOND + SECOND / 2, 113, Vec::new()),
            ]
        );
        assert_eq!(file.application.as_deref(), Some("maker 1"));
        assert!(file.warnings.is_empty(), "{:?}", file.warnings);
    }
}

#[test]
fn a_section_has_its_own_byte_order_and_interfaces() {
    let [little, big] = ORDERS;
    let bytes = [
        little.section(),
        little.interface(1, &[]),
        little.interface(1, &[]),
        little.packet(1, 1, b"a"),
        big.section(),
        big.interface(101, &[]),
        big.packet(0, 2, b"b"),
        // The section before had a second interface.
        big.packet(1, 3, b"c"),
    ]
    .concat();
    let file = read(&bytes).unwrap();
    assert_eq!(
        frames(&file),
        [
            (MICROSECOND, 1, b"a".to_vec()),
            (2 * MICROSECOND, 101, b"b".to_vec())
        ]
    );
    let interfaces: Vec<_> = file.frames.iter().map(|frame| frame.interface).collect();
    assert_eq!(interfaces, [1, 2]);
    assert_eq!(
        file.warnings,
        ["1 packets of the capture have no time that can be read, and were left out"]
    );
}

/// A list of names, statistics, a process, a block of somebody's own: none has to be whole.
#[test]
fn blocks_that_are_not_needed_are_skipped_whatever_they_hold() {
    for maker in ORDERS {
        let mut bytes = [maker.section(), maker.interface(1, &[])].concat();
        for kind in [4, 5, 9, 0xa, 0xbad, 0x4000_0bad, 0x8000_0001, 0x1234_5678] {
            for body in [&b""[..], &[0xff; 4], &[0xff; 28]] {
                bytes.extend(maker.block(kind, body));
            }
        }
        bytes.extend(maker.packet(0, 1, b"a"));
        let file = read(&bytes).unwrap();
        assert_eq!(frames(&file), [(MICROSECOND, 1, b"a".to_vec())]);
        assert!(file.warnings.is_empty(), "{:?}", file.warnings);
    }
}

#[test]
fn packets_without_a_time_are_counted() {
    for maker in ORDERS {
        let bytes = [
            maker.section(),
            maker.interface(1, &[(9, &[77])]),
            maker.packet(0, 1, b"a unit that is none"),
            maker.packet(1, 1, b"an interface that is none"),
            maker.block(SPB_MAGIC, &[0; 8]),
            maker.block(2, &[0; 20]),
        ]
        .concat();
        let file = read(&bytes).unwrap();
        assert!(file.frames.is_empty());
        assert_eq!(
            file.warnings,
            ["4 packets of the capture have no time that can be read, and were left out"]
        );
    }
}

#[test]
fn packets_before_a_break_are_kept() {
    for maker in ORDERS {
        let whole = [
            maker.section(),
            maker.interface(1, &[]),
            maker.packet(0, 1, b"a"),
        ]
        .concat();
        let mut too_long = maker.packet(0, 2, b"b");
        too_long[20..24].copy_from_slice(&maker.u32(999));
        let mut too_short = maker.packet(0, 2, &[0xff; 40]);
        too_short[20..24].copy_from_slice(&maker.u32(4));
        let mut two_lengths = maker.packet(0, 2, b"b");
        *two_lengths.last_mut().unwrap() ^= 0x40;
        let half_an_option = maker.block(IDB_MAGIC, &[&[0; 8][..], &[0xff; 4]].concat());
        let mut no_order = maker.section();
        no_order[8] = 0;
        let cut = maker.packet(0, 2, b"b");
        let breaks: [(&[u8], &str); 9] = [
            (
                &cut[..cut.len() - 1],
                "the capture is cut short within the packet after number 1, which was left out",
            ),
            (
                &cut[..1],
                "the capture is cut short within the packet after number 1, which was left out",
            ),
            (
                &too_long,
                "the capture cannot be read beyond packet 1: the next packet does not fit its block",
            ),
            (
                &too_short,
                "the capture cannot be read beyond packet 1: the next packet does not fit its block",
            ),
            (
                &half_an_option,
                "the capture cannot be read beyond packet 1: the next block describes no interface",
            ),
            (
                &two_lengths,
                "the capture cannot be read beyond packet 1: the length of the next block is wrong",
            ),
            (
                &[0; 12],
                "the capture cannot be read beyond packet 1: the length of the next block is wrong",
            ),
            (
                &maker.block(IDB_MAGIC, b""),
                "the capture cannot be read beyond packet 1: the next block describes no interface",
            ),
            (
                &no_order,
                "the capture cannot be read beyond packet 1: a section header has no byte order",
            ),
        ];
        for (rest, said) in breaks {
            let bytes = [&whole, rest].concat();
            let file = read(&bytes).unwrap();
            assert_eq!(frames(&file), [(MICROSECOND, 1, b"a".to_vec())]);
            assert_eq!(file.warnings, [said]);
        }
    }
}

#[test]
fn a_header_that_is_none_is_an_error() {
    let maker = ORDERS[0];
    let pcap = maker.pcap(0xa1b2_c3d4, &[]);
    let mut pcapng = maker.section();
    *pcapng.last_mut().unwrap() = 1;
    let broken: [(&[u8], &str); 5] = [
        (
            b"PING 10.77.2.1",
            "it begins neither as pcap nor as pcapng does",
        ),
        // The format of a kernel of 1999, with 24 bytes in front of each packet.
        (
            &maker.pcap(0xa1b2_cd34, &[]),
            "it begins neither as pcap nor as pcapng does",
        ),
        (&pcap[..23], "it is cut short within its header"),
        (&maker.section()[..11], "it is cut short within its header"),
        (&pcapng, "the length of the next block is wrong"),
    ];
    for (bytes, said) in broken {
        let error = read(bytes).err().unwrap();
        assert_eq!(
            error,
            ImportError::Capture {
                reason: said.to_owned()
            }
        );
    }
}
