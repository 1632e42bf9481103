#![allow(clippy::unwrap_used)]

use crate::import::{self, ImportError, Imported};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};

/// A capture of Ethernet, whose header says this of the link.
fn with_link(link: u32) -> Vec<u8> {
    let mut bytes = include_bytes!("../../../tests/data/import/icmp.pcap").to_vec();
    bytes[20..24].copy_from_slice(&link.to_le_bytes());
    bytes
}

#[test]
fn a_link_that_is_not_read_is_named() {
    let error = import::read(&with_link(127), None).unwrap_err().to_string();
    assert!(
        error.contains("are of link type 127, which is not read"),
        "{error}"
    );
}

#[test]
fn how_long_checksums_are_is_no_part_of_the_link() {
    let [plain, with_checksums] =
        [1, 0x2400_0001].map(|link| import::read(&with_link(link), None).unwrap());
    assert_eq!(with_checksums, plain);
}

/// An echo from host 1 to host 2, or its reply.
#[derive(Clone, Copy)]
struct Echo {
    at: Nanos,
    interface: u32,
    ttl: u8,
    is_reply: bool,
    seq: u16,
}

impl Echo {
    fn packet(self) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 36, 0, 0, 0, 0, self.ttl, 1, 0, 0];
        let (from, to) = if self.is_reply { (2, 1) } else { (1, 2) };
        packet.extend([10, 0, 0, from, 10, 0, 0, to]);
        packet.extend([if self.is_reply { 0 } else { 8 }, 0, 0, 0, 0, 77]);
        packet.extend(self.seq.to_be_bytes());
        packet.extend([b'x'; 8]);
        packet
    }

    /// With the header of `-i any`.
    fn of_any(self) -> Vec<u8> {
        let mut packet = vec![8, 0, 0, 0];
        packet.extend(self.interface.to_be_bytes());
        packet.extend([0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(self.packet());
        packet
    }
}

const RAW: u32 = 101;
const ANY: u32 = 276;

/// A capture of these, in the order of their times, with nanoseconds.
fn capture(link: u32, mut echoes: Vec<Echo>) -> Result<Imported, ImportError> {
    echoes.sort_by_key(|echo| echo.at);
    let head = [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link];
    let mut bytes = head.map(u32::to_le_bytes).concat();
    for echo in echoes {
        let packet = if link == ANY {
            echo.of_any()
        } else {
            echo.packet()
        };
        let at = 1_700_000_000 * SECOND + echo.at;
        let [seconds, fraction] = [at / SECOND, at % SECOND].map(|it| u32::try_from(it).unwrap());
        let length = u32::try_from(packet.len()).unwrap();
        bytes.extend(
            [seconds, fraction, length, length]
                .map(u32::to_le_bytes)
                .concat(),
        );
        bytes.extend(packet);
    }
    import::read(&bytes, None)
}

/// A request that is sent at this number of ms, and its reply: of each place the interface, the hop limits, and how many µs later they
/// are there.
fn passing(seq: u16, ms: i64, places: &[(u32, [u8; 2], [i64; 2])]) -> Vec<Echo> {
    let mut echoes = Vec::new();
    for &(interface, ttls, times) in places {
        for (is_reply, (ttl, after)) in [false, true].into_iter().zip(ttls.into_iter().zip(times)) {
            echoes.push(Echo {
                at: ms * MILLISECOND + after * MICROSECOND,
                interface,
                ttl,
                is_reply,
                seq,
            });
        }
    }
    echoes
}

/// Of each stream, in µs, and how many copies.
fn trips(imported: &Imported) -> (Vec<Vec<Option<i64>>>, u64) {
    let streams = imported.streams.iter();
    let trips = streams.map(|stream| {
        let records = stream.records.iter();
        records
            .map(|it| Some((it.t_rx? - it.t_tx?) / MICROSECOND))
            .collect()
    });
    let copies = imported
        .streams
        .iter()
        .map(|it| it.records.counts().duplicate);
    (trips.collect(), copies.sum())
}

const HOPS: [u8; 2] = [64, 64];

/// Each third reply waits for 80 ms between two interfaces of a router.
#[test]
fn the_queue_of_a_router_is_in_round_trips_at_the_interface_of_who_asks() {
    let trip = |seq: u16| if seq.is_multiple_of(3) { 85_030 } else { 5_030 };
    let seen = |seq: u16| {
        let places = [(2, HOPS, [0, trip(seq)]), (3, HOPS, [30, 5_000])];
        passing(seq, 100 * i64::from(seq), &places)
    };
    let expected: Vec<_> = (0..20).map(|seq| Some(trip(seq))).collect();
    for (link, place) in [(ANY, "interface 3"), (RAW, "a second place")] {
        let imported = capture(link, (0..20).flat_map(seen).collect()).unwrap();
        assert_eq!(trips(&imported), (vec![expected.clone()], 0), "{link}");
        let said = format!(
            "20 requests are in the capture again, at {place} (20 answered, their round trip there 4.97 ms at the median)"
        );
        let warning = &imported.warnings[0];
        assert!(warning.starts_with(&said), "{warning}");
    }
}

/// The round trip is 22 ms at the sender and 2 ms at the other end, whose clock is ahead.
#[test]
fn the_clocks_of_two_captures_are_not_mixed() {
    for ahead in [-4, 3, 100] {
        let far = [(10 + ahead) * 1_000, (12 + ahead) * 1_000];
        let seen = |seq: u16| {
            let places = [(0, [64, 63], [0, 22_000]), (0, [63, 64], far)];
            passing(seq, 20 * i64::from(seq), &places)
        };
        let imported = capture(RAW, (0..200).flat_map(seen).collect()).unwrap();
        assert_eq!(
            trips(&imported),
            (vec![vec![Some(22_000); 200]], 0),
            "{ahead}"
        );
        let warning = &imported.warnings[0];
        assert!(warning.starts_with("200 requests are in the capture again, at a second place (200 answered, their round trip there 2.00 ms"), "{warning}");
    }
}

/// It seems to have the request before it is sent, and the reply while the sender has none.
#[test]
fn clocks_that_contradict_the_hop_limits_give_no_figures() {
    let seen = |seq: u16| {
        let places = [(0, [64, 63], [0, 22_000]), (0, [63, 64], [-1_000, 1_000])];
        passing(seq, 100 + 100 * i64::from(seq), &places)
    };
    let error = capture(RAW, (0..20).flat_map(seen).collect()).unwrap_err();
    let error = error.to_string();
    let said =
        "10.0.0.1 to 10.0.0.2 id 77 was seen at two places whose clocks differ, and was left out";
    assert!(error.contains(said), "{error}");
}

/// Requests leave by one interface, and replies come in by another.
#[test]
fn a_way_back_by_another_interface_is_of_the_same_flow() {
    let seen = |seq: u16| {
        let echoes = passing(seq, 100 * i64::from(seq), &[(2, HOPS, [0, 5_000])]);
        let back = |echo: Echo| Echo {
            interface: if echo.is_reply { 3 } else { 2 },
            ..echo
        };
        echoes.into_iter().map(back).collect::<Vec<_>>()
    };
    let imported = capture(ANY, (0..5).flat_map(seen).collect()).unwrap();
    assert_eq!(trips(&imported), (vec![vec![Some(5_000); 5]], 0));
}

/// They are as many as were sent, not twice as many.
#[test]
fn what_is_lost_behind_two_interfaces_is_lost_once() {
    let seen = |seq: u16| {
        let places = [(2, HOPS, [0, 5_000]), (3, HOPS, [30, 4_000])];
        let echoes = passing(seq, 100 * i64::from(seq), &places);
        let is_there = |echo: &Echo| !echo.is_reply || !seq.is_multiple_of(2);
        echoes.into_iter().filter(is_there).collect::<Vec<_>>()
    };
    let expected: Vec<_> = (0..6).map(|seq| (seq % 2 == 1).then_some(5_000)).collect();
    for link in [ANY, RAW] {
        let imported = capture(link, (0..6).flat_map(seen).collect()).unwrap();
        assert_eq!(trips(&imported), (vec![expected.clone()], 0), "{link}");
    }
}

/// All replies come again, 1 ms later and before they are at the sender, where both places have them, or one.
#[test]
fn a_copy_of_a_reply_is_one_at_two_places() {
    const COPY: i64 = 1_000;
    let places = [(0, [64, 63], [0, 22_000]), (0, [63, 64], [10_000, 12_000])];
    for [at_sender, at_other] in [[true, true], [true, false], [false, true]] {
        let seen = |seq: u16| {
            let echoes = passing(seq, 100 * i64::from(seq), &places);
            let copy = |echo: &Echo| Echo {
                at: echo.at + COPY * MICROSECOND,
                ..*echo
            };
            let is_copied = |echo: &&Echo| {
                let is_there = if echo.ttl == 63 { at_sender } else { at_other };
                echo.is_reply && is_there
            };
            let copies: Vec<Echo> = echoes.iter().filter(is_copied).map(copy).collect();
            [echoes, copies].concat()
        };
        let imported = capture(RAW, (0..20).flat_map(seen).collect()).unwrap();
        let expected = vec![vec![Some(22_000); 20]];
        assert_eq!(trips(&imported), (expected, 20), "{at_sender} {at_other}");
    }
}
