//! Files that the peers wrote: exact samples, counts and figures of each.

use delaylab_explain::import::{
    self, Clock, Delay, Figure, Format, ImportError, Imported, ImportedStream, Input, Options,
    Statistic, check,
};
use delaylab_model::method::Method;
use delaylab_model::record::{Outcome, Record};
use delaylab_model::trial::{ReflectorClock, Residence};
use delaylab_model::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use serde_json::json;
use std::path::PathBuf;

fn bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/import")
        .join(name);
    std::fs::read(path).unwrap()
}

/// With the unit that a table without names does not say.
fn options(name: &str) -> Options {
    let unit = match name {
        "numbers.txt" => Some(SECOND),
        "table-decimal-comma.csv" => Some(MILLISECOND),
        _ => None,
    };
    Options {
        unit,
        ..Options::default()
    }
}

fn sample(name: &str) -> Imported {
    let bytes = bytes(name);
    let input = Input::new(&bytes[..]).unwrap();
    import::read_from(input, &options(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(text: &str) -> Imported {
    import::read(text.as_bytes(), None).unwrap()
}

/// Round trips in µs, `None` for what has none.
fn round_trips(stream: &ImportedStream) -> Vec<Option<Nanos>> {
    let micros = |record: Record| record.round_trip().map(|nanos| nanos / MICROSECOND);
    stream.records.iter().map(micros).collect()
}

fn outcomes(stream: &ImportedStream) -> Vec<Outcome> {
    stream.records.iter().map(|record| record.outcome).collect()
}

fn said(imported: &Imported, stream: usize, what: Figure) -> Option<f64> {
    let found = imported
        .said
        .iter()
        .find(|said| said.stream == stream && said.what == what);
    found.map(|said| said.value)
}

const fn trip(statistic: Statistic) -> Figure {
    Figure::Of(Delay::RoundTrip, statistic)
}

/// A file, what it is, of each of its streams how many packets there are and were answered, and how
/// many figures the peer said.
type Sample = (&'static str, &'static str, &'static [(usize, usize)], usize);

const SAMPLES: &[Sample] = &[
    ("fping-c.txt", "fping", &[(20, 20), (20, 15)], 12),
    ("fping-C.txt", "fping", &[(20, 20), (20, 3)], 0),
    ("fping-C-q.txt", "fping", &[(20, 20), (20, 17)], 0),
    ("fping-D.txt", "fping", &[(5, 5), (5, 0)], 9),
    ("fping-l.txt", "fping", &[(10, 10)], 6),
    ("fping-unreachable.txt", "fping", &[(2, 0), (2, 0)], 6),
    ("icmp-any.pcap", "capture", &[(5, 5)], 0),
    ("icmp.pcap", "capture", &[(8, 2), (1, 0), (2, 0)], 0),
    ("icmp.pcapng", "capture", &[(8, 2), (1, 0), (2, 0)], 0),
    ("iperf3-stream.ndjson", "iperf3", &[(2, 2), (2, 2)], 12),
    ("iperf3-tcp.json", "iperf3", &[(2, 2), (2, 2)], 12),
    ("iperf3-udp-reverse.json", "iperf3", &[(0, 0)], 7),
    ("iperf3-udp.json", "iperf3", &[(0, 0)], 7),
    ("irtt-monotonic.json", "irtt", &[(5, 5)], 19),
    ("irtt-no-stamps.json", "irtt", &[(5, 5)], 15),
    ("irtt.json", "irtt", &[(12, 8)], 29),
    ("irtt-quiet.txt", "irtt text", &[(0, 0)], 13),
    ("irtt-ramp.txt", "irtt text", &[(20, 20)], 27),
    ("irtt.txt", "irtt text", &[(12, 8)], 27),
    (
        "mtr-raw.txt",
        "mtr --raw",
        &[(10, 7), (10, 10), (1, 1), (1, 1)],
        0,
    ),
    ("mtr-report.txt", "mtr --report", &[(0, 0), (0, 0)], 14),
    ("mtr-wide.txt", "mtr --report", &[(0, 0), (0, 0)], 14),
    ("mtr.csv", "mtr --csv", &[(0, 0), (0, 0)], 14),
    ("mtr.json", "mtr --json", &[(0, 0), (0, 0)], 14),
    ("ping-D-O-loss.txt", "ping", &[(20, 9)], 8),
    ("ping-O-no-answer.txt", "ping", &[(4, 0)], 4),
    ("ping-broadcast.txt", "ping", &[(5, 5)], 9),
    ("ping-busybox.txt", "ping", &[(4, 2)], 6),
    ("ping-filtered.txt", "ping", &[(3, 0)], 5),
    ("ping-ipv6.txt", "ping", &[(3, 3)], 8),
    ("ping-no-times.txt", "ping", &[(3, 3)], 4),
    ("ping-quiet.txt", "ping", &[(0, 0)], 8),
    ("ping-unreachable.txt", "ping", &[(4, 0)], 5),
    ("ping.txt", "ping", &[(50, 50)], 8),
    ("sockperf-loss.csv", "sockperf", &[(55, 38)], 17),
    ("sockperf-tcp.txt", "sockperf", &[(0, 0)], 17),
    ("sockperf.csv", "sockperf", &[(22, 22)], 17),
    ("sockperf.txt", "sockperf", &[(0, 0)], 17),
    ("tcp.pcap", "capture", &[(11, 11)], 0),
    ("atlas-ping.ndjson", "RIPE Atlas", &[(6, 4), (3, 3)], 0),
    (
        "atlas-traceroute.json",
        "RIPE Atlas",
        &[(3, 3), (3, 0), (3, 2)],
        0,
    ),
    ("delaylab-ping.csv", "delaylab ping", &[(5, 5)], 0),
    ("delaylab-ping.json", "delaylab ping", &[(5, 5)], 0),
    ("delaylab-ping-stream.ndjson", "delaylab ping", &[(5, 5)], 0),
    ("fping.json", "fping --json", &[(4, 3)], 5),
    ("hping3-icmp.txt", "hping3", &[(10, 7)], 4),
    ("hping3-syn.txt", "hping3", &[(10, 5)], 4),
    ("hping3-udp.txt", "hping3", &[(6, 0)], 1),
    ("nping-icmp.txt", "nping", &[(10, 6)], 6),
    ("nping-tcp.txt", "nping", &[(6, 6)], 6),
    ("numbers.txt", "table", &[(3, 3)], 0),
    ("paris-traceroute.txt", "traceroute", &[(0, 0), (0, 0)], 8),
    ("ping-inetutils.txt", "ping", &[(4, 4)], 7),
    ("ping.txt.gz", "ping", &[(50, 50)], 8),
    ("ping.txt.xz", "ping", &[(50, 50)], 8),
    ("ping.txt.zst", "ping", &[(50, 50)], 8),
    ("table.csv", "table", &[(4, 3), (1, 1)], 0),
    ("table-decimal-comma.csv", "table", &[(3, 2)], 0),
    ("table-pandas.parquet", "table", &[(60, 58)], 0),
    ("traceroute.txt", "traceroute", &[(3, 3), (3, 3)], 0),
    ("traceroute-icmp.txt", "traceroute", &[(5, 5), (5, 4)], 0),
    (
        "traceroute-windows.txt",
        "traceroute",
        &[(3, 3), (3, 0), (3, 3)],
        0,
    ),
    ("windows-de.txt", "ping of Windows", &[(4, 3)], 6),
    ("windows-en.txt", "ping of Windows", &[(5, 3)], 6),
    ("windows-fr.txt", "ping of Windows", &[(4, 3)], 6),
    ("windows-ja-cp932.txt", "ping of Windows", &[(4, 3)], 6),
    ("windows-ru-cp866.txt", "ping of Windows", &[(4, 3)], 6),
    ("windows-ru-utf16.txt", "ping of Windows", &[(4, 3)], 6),
    ("cisco.txt", "ping of Cisco", &[(5, 3)], 5),
    ("cisco-verbose.txt", "ping of Cisco", &[(4, 3)], 5),
    ("flowmon.xml", "ns-3 FlowMonitor", &[(0, 0)], 7),
    ("iperf3-tcp.txt", "iperf3 text", &[(0, 0)], 3),
    ("iperf3-udp-reverse.txt", "iperf3 text", &[(0, 0)], 5),
    ("iperf3-udp.txt", "iperf3 text", &[(0, 0)], 5),
    ("mikrotik.txt", "ping of MikroTik", &[(5, 3)], 6),
    ("mtr.xml", "mtr --xml", &[(0, 0), (0, 0)], 14),
    ("omnet.vec", "OMNeT++ vectors", &[(3, 3)], 0),
    ("owping-raw.txt", "owping", &[(4, 3)], 0),
    ("owping.txt", "owping", &[(4, 3)], 5),
    ("ping-fr.txt", "ping", &[(4, 3)], 8),
    ("ping-ns3.txt", "ping", &[(4, 3)], 8),
    ("pscheduler-histogram.json", "pscheduler", &[(4, 3)], 3),
    ("pscheduler-latency.json", "pscheduler", &[(4, 3)], 3),
    ("pscheduler-rtt.json", "pscheduler", &[(5, 4)], 6),
    (
        "pscheduler-trace.json",
        "pscheduler",
        &[(1, 1), (1, 0), (1, 1)],
        0,
    ),
    ("rrd-dump.xml", "SmokePing RRD", &[(40, 39)], 0),
    ("rrd-fetch.txt", "SmokePing RRD", &[(40, 39)], 0),
    ("rrd-xport.json", "SmokePing RRD", &[(40, 39)], 0),
    ("rrd-xport.xml", "SmokePing RRD", &[(40, 39)], 0),
    ("rrul.flent.gz", "flent", &[(10, 9), (10, 9)], 0),
    ("twping.txt", "owping", &[(0, 0)], 11),
    ("udp.pcap", "capture", &[(11, 11), (8, 6)], 0),
];

/// Not as one of a table: its columns of times are not times since 1970, nor streams.
#[test]
fn our_own_csv_has_the_packets_of_our_own_json() {
    let [csv, json] = ["delaylab-ping.csv", "delaylab-ping.json"].map(sample);
    let packets = |imported: &Imported| imported.streams[0].records.iter().collect::<Vec<_>>();
    assert_eq!(csv.streams.len(), 1);
    assert_eq!(packets(&csv), packets(&json));
    let cut = String::from_utf8(bytes("delaylab-ping.csv")).unwrap();
    let [first, rest] = cut.split_once('\n').map(|(a, b)| [a, b]).unwrap();
    let shorter = text(&format!("{first}\n1,2\n{rest}"));
    assert_eq!(packets(&shorter), packets(&json));
}

#[test]
fn every_sample_is_recognised_and_counted() {
    for (name, format, streams, figures) in SAMPLES {
        let imported = sample(name);
        assert_eq!(imported.format.name, *format, "{name}");
        let counts: Vec<_> = imported
            .streams
            .iter()
            .map(|stream| {
                (
                    stream.records.len(),
                    stream.records.iter().filter(Record::answered).count(),
                )
            })
            .collect();
        assert_eq!(counts, *streams, "{name}");
        assert_eq!(imported.said.len(), *figures, "{name}");
        let hinted = Options {
            format: Format::named(format),
            ..options(name)
        };
        let bytes = bytes(name);
        let again = import::read_from(Input::new(&bytes[..]).unwrap(), &hinted);
        assert_eq!(again.unwrap(), imported, "{name}");
    }
    for format in Format::all() {
        assert!(
            SAMPLES.iter().any(|(_, of, ..)| *of == format.name),
            "{format} has no sample"
        );
    }
}

#[test]
fn every_summary_agrees_with_its_samples() {
    for (name, ..) in SAMPLES {
        let sentences: Vec<_> = check(&sample(name))
            .into_iter()
            .map(|found| found.sentence)
            .collect();
        // inetutils 2.4 prints 0.000 for whatever deviation there was.
        let wrong = usize::from(*name == "ping-inetutils.txt");
        assert_eq!(sentences.len(), wrong, "{name}: {sentences:?}");
    }
}

/// A figure that was changed by a little more than its samples allow is found, whoever said it.
#[test]
fn a_summary_that_was_changed_is_found() {
    let planted = [
        (
            "ping.txt",
            "5.557/20.489/25.049/4.880",
            "5.557/20.489/25.049/4.780",
            "standard deviation of the round trip",
        ),
        (
            "ping.txt",
            "5.557/20.489/25.049/4.880",
            "5.557/20.589/25.049/4.880",
            "mean round trip",
        ),
        (
            "ping.txt",
            "50 packets transmitted",
            "51 packets transmitted",
            "share lost",
        ),
        (
            "ping-broadcast.txt",
            "0.081/0.098/0.139/0.017",
            "0.081/0.094/0.139/0.017",
            "mean round trip",
        ),
        (
            "ping-broadcast.txt",
            "+4 duplicates",
            "+3 duplicates",
            "copies",
        ),
        (
            "fping-c.txt",
            "22.5/24.3/46.2",
            "22.5/24.5/46.2",
            "mean round trip",
        ),
        (
            "irtt.json",
            "\"mean\": 23881008",
            "\"mean\": 23881010",
            "mean round trip without the server's time",
        ),
        (
            "irtt.json",
            "\"stddev\": 95894",
            "\"stddev\": 89700",
            "standard deviation of the round trip without the server's time",
        ),
        (
            "irtt.json",
            "\"median\": 160190",
            "\"median\": 144000",
            "median delay variation",
        ),
        (
            "irtt.txt",
            "23.86ms  24.04ms",
            "23.89ms  24.04ms",
            "median round trip without the server's time",
        ),
        (
            "sockperf.csv",
            "percentile 75.000 =   91.000",
            "percentile 75.000 =   92.000",
            "p75 half round trip",
        ),
        (
            "sockperf.csv",
            "std-dev=19.161",
            "std-dev=18.720",
            "standard deviation of the half round trip",
        ),
        (
            "iperf3-tcp.json",
            "\"mean_rtt\":\t20201",
            "\"mean_rtt\":\t20203",
            "mean round trip",
        ),
    ];
    for (name, before, after, what) in planted {
        let original = String::from_utf8(bytes(name)).unwrap();
        assert!(original.contains(before), "{name}: {before}");
        let changed = text(&original.replace(before, after));
        let found: Vec<_> = check(&changed)
            .iter()
            .map(|found| found.what.to_string())
            .collect();
        assert!(
            found.iter().any(|found| found == what),
            "{name}: {what}: {found:?}"
        );
    }
    let changed = String::from_utf8(bytes("ping.txt"))
        .unwrap()
        .replace("20.489", "30.489");
    assert_eq!(
        check(&text(&changed))[0].sentence,
        "ping says that mean round trip of 10.77.2.1 is 30.5 ms, and the samples in its file give 20.5 ms"
    );
}

#[test]
fn ping_with_stamps_and_losses() {
    let imported = sample("ping-D-O-loss.txt");
    let stream = &imported.streams[0];
    assert_eq!(
        (stream.name.as_str(), stream.method, stream.size),
        ("10.77.2.1", Method::Icmp, Some(1228))
    );
    assert_eq!((stream.clock, stream.step), (Clock::RealTime, 100_000));
    assert_eq!(
        round_trips(stream)[..6],
        [Some(23_800), None, Some(23_600), None, Some(23_300), None]
    );
    let first = stream.records.get(0).unwrap();
    assert_eq!(first.t_recv, Some(1_795_306_027_232_112_000));
    assert_eq!(first.t_send, Some(1_795_306_027_208_312_000));
    assert_eq!(first.reply_ttl, Some(63));
    // Lost between two that have stamps: half way between them.
    let lost = stream.records.get(1).unwrap();
    assert_eq!(
        (lost.outcome, lost.t_send, lost.t_recv),
        (Outcome::Lost, None, None)
    );
    assert_eq!(
        lost.t_intended,
        (1_795_306_027_208_312_000 + 1_795_306_027_416_106_000) / 2
    );
    assert_eq!(said(&imported, 0, Figure::Sent), Some(20.0));
    assert_eq!(said(&imported, 0, Figure::LossShare), Some(0.55));
    assert_eq!(
        said(&imported, 0, trip(Statistic::Deviation)),
        Some(435_000.0)
    );
    assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
}

#[test]
fn ping_that_was_refused() {
    let unreachable = sample("ping-unreachable.txt");
    assert_eq!(outcomes(&unreachable.streams[0]), [Outcome::Refused; 4]);
    assert_eq!(
        unreachable.streams[0].records.get(0).unwrap().refused_by,
        "10.77.1.1".parse().ok()
    );
    assert_eq!(said(&unreachable, 0, Figure::Errors), Some(4.0));
    let filtered = sample("ping-filtered.txt");
    assert_eq!(
        outcomes(&filtered.streams[0]),
        [Outcome::Refused, Outcome::Lost, Outcome::Lost]
    );
}

#[test]
fn ping_of_many_at_once_has_copies() {
    let stream = &sample("ping-broadcast.txt").streams[0];
    let copies: Vec<_> = stream.records.iter().map(|record| record.copies).collect();
    assert_eq!(copies, [1, 1, 1, 1, 0]);
    assert_eq!(stream.repeats, [139_000, 99_000, 92_000, 97_000]);
}

#[test]
fn ping_without_lines_has_no_packets_that_were_lost() {
    let quiet = sample("ping-quiet.txt");
    assert!(quiet.streams[0].records.is_empty());
    assert!(
        quiet.warnings[0].contains("only ping's summary, for 5 replies"),
        "{:?}",
        quiet.warnings
    );
}

#[test]
fn ping_of_bsd_and_macos() {
    let imported = text(
        "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n\
         64 bytes from 192.0.2.1: icmp_seq=0 ttl=56 time=10.123 ms\n\
         Request timeout for icmp_seq 1\n\
         64 bytes from 192.0.2.1: icmp_seq=1 ttl=56 time=1200.500 ms\n\
         Request timeout for icmp_seq 2\n\
         64 bytes from 192.0.2.1: icmp_seq=4 ttl=56 time=9.000 ms\n\
         64 bytes from 192.0.2.1: icmp_seq=3 ttl=56 time=1011.000 ms\n\
         64 bytes from 192.0.2.1: icmp_seq=4 ttl=56 time=9.500 ms (DUP!)\n\
         92 bytes from 192.0.2.9: Destination Host Unreachable\n\
         Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src      Dst\n \
         4  5  00 5400 0000   0 0000  40  01 0000 192.0.2.2  192.0.2.1\n\
         \n\
         --- 192.0.2.1 ping statistics ---\n\
         5 packets transmitted, 4 packets received, +1 duplicates, 20.0% packet loss\n\
         round-trip min/avg/max/stddev = 9.000/448.025/1200.500/540.364 ms\n",
    );
    let stream = &imported.streams[0];
    assert_eq!(
        round_trips(stream),
        [
            Some(10_123),
            Some(1_200_500),
            None,
            Some(1_011_000),
            Some(9_000)
        ]
    );
    assert_eq!(stream.records.get(4).unwrap().copies, 1);
    assert_eq!(stream.records.get(3).unwrap().reorder_extent, 1);
    assert_eq!(stream.size, Some(84));
    assert_eq!(check(&imported), []);
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.starts_with("1 line names no packet"))
    );
    let six = text(
        "PING6(56=40+8+8 bytes) ::1 --> ::1\n\
         16 bytes from ::1, icmp_seq=0 hlim=64 time=0.120 ms\n\
         \n\
         --- ::1 ping6 statistics ---\n\
         1 packets transmitted, 1 packets received, 0.0% packet loss\n\
         round-trip min/avg/max/std-dev = 0.120/0.120/0.120/0.000 ms\n",
    );
    assert_eq!(
        (
            six.streams[0].size,
            six.streams[0].records.get(0).unwrap().reply_ttl
        ),
        (Some(56), Some(64))
    );
}

#[test]
fn ping_numbers_go_on_where_they_wrap_and_corrupt_replies_are_told() {
    let imported = text(
        "64 bytes from 10.0.0.1: icmp_seq=65535 ttl=64 time=1.00 ms\n\
         64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=2.00 ms\n\
         wrong data byte #16 should be 0x10 but was 0x0\n",
    );
    let stream = &imported.streams[0];
    assert_eq!(
        outcomes(stream),
        [Outcome::Ok, Outcome::Lost, Outcome::Corrupt]
    );
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("summary is missing"))
    );
}

#[test]
fn two_pings_in_one_file_are_two_streams() {
    let mut both = bytes("ping.txt");
    both.extend(bytes("ping-busybox.txt"));
    let imported = import::read(&both, None).unwrap();
    assert_eq!(
        (imported.streams.len(), imported.streams[1].records.len()),
        (2, 4)
    );
    assert_eq!(imported.streams[1].records.get(0).unwrap().probe, 1);
    assert_eq!(check(&imported), []);
}

#[test]
fn a_ping_that_lacks_lines_does_not_count_them_as_lost() {
    let whole = String::from_utf8(bytes("ping.txt")).unwrap();
    let without: Vec<_> = whole
        .lines()
        .filter(|line| !line.contains("icmp_seq=7 "))
        .collect();
    let imported = text(&(without.join("\n") + "\n"));
    assert_eq!(imported.streams[0].records.len(), 49);
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("has lines for 49"))
    );
    // The mean of half a file is not judged, its counts are.
    let found: Vec<_> = check(&imported)
        .into_iter()
        .map(|found| found.what)
        .collect();
    assert_eq!(found, [Figure::Sent, Figure::Received]);
}

#[test]
fn fping_lines_lists_and_stamps() {
    let lines = sample("fping-C.txt");
    assert_eq!(
        round_trips(&lines.streams[1])[4..8],
        [None, Some(23_000), None, Some(23_100)]
    );
    let list = sample("fping-C-q.txt");
    assert_eq!(
        round_trips(&list.streams[1])[..4],
        [None, Some(22_500), None, Some(22_400)]
    );
    let stamped = sample("fping-D.txt");
    let first = stamped.streams[0].records.get(0).unwrap();
    assert_eq!(first.t_recv, Some(1_795_305_885_692_650_000));
    assert_eq!(first.round_trip(), Some(90_000));
    let alive = text("10.0.0.1 is alive (0.082 ms)\n10.0.0.2 is unreachable\n");
    assert_eq!(
        alive.streams[0].records.get(0).unwrap().round_trip(),
        Some(82_000)
    );
    assert_eq!(outcomes(&alive.streams[1]), [Outcome::Lost]);
    let copy = text(
        "10.0.0.1 : [0], 64 bytes, 0.10 ms (0.10 avg, 0% loss)\n\
         10.0.0.1 : duplicate for [0], 64 bytes, 0.12 ms\n",
    );
    assert_eq!(copy.streams[0].records.get(0).unwrap().copies, 1);
}

#[test]
fn irtt_keeps_every_stamp_and_its_own_delays() {
    let imported = sample("irtt.json");
    assert_eq!(imported.version.as_deref(), Some("0.9.0"));
    let stream = &imported.streams[0];
    assert_eq!((stream.method, stream.size), (Method::Udp, Some(1228)));
    assert_eq!(stream.facts.reflector_clock, ReflectorClock::Unrelated);
    assert_eq!(stream.facts.residence, Residence::ToUser);
    let first = stream.records.get(0).unwrap();
    assert_eq!(
        (first.t_send, first.t_recv),
        (Some(32_727_872), Some(56_583_372))
    );
    assert_eq!(first.r_rx.unwrap() - 32_727_872, 23_768_719);
    assert_eq!(first.r_user.unwrap() - first.r_rx.unwrap(), 11_838);
    assert_eq!(first.round_trip().unwrap() - 11_838, 23_843_662);
    let lost = stream.records.get(1).unwrap();
    assert_eq!(
        (lost.outcome, lost.t_send, lost.t_recv),
        (Outcome::Lost, Some(133_090_475), None)
    );
    let plain = sample("irtt-no-stamps.json");
    assert_eq!(plain.streams[0].facts, Default::default());
    assert_eq!(
        plain.streams[0].records.get(0).unwrap().round_trip(),
        Some(155_063)
    );
}

/// What irtt calls its DSCP is the whole byte.
#[test]
fn irtt_has_the_class_that_it_was_given() {
    let imported = sample("irtt-ef.json");
    let records = &imported.streams[0].records;
    assert!(records.iter().all(|record| record.dscp == 46));
}

#[test]
fn irtt_text_over_ipv6_has_its_headers() {
    let imported = text(
        "[[::1]:2112] [Connected] connection established\n\
         seq=0 rtt=23.84ms rd=74.9µs sd=23.77ms ipdv=n/a\n\
         \x20               packet length: 60 bytes\n",
    );
    assert_eq!(imported.streams[0].size, Some(60 + 48));
}

/// With copies it says the share that returned; an outage stands before the times.
#[test]
fn fping_totals_are_what_their_head_says() {
    let imported = text(
        "10.0.0.1 : [0], 64 bytes, 0.10 ms (0.10 avg, 0% loss)\n\
         10.0.0.2 : [0], 64 bytes, 22.5 ms (22.5 avg, 0% loss)\n\
         \n\
         10.0.0.1 : xmt/rcv/%return = 5/9/180%, min/avg/max = 0.10/0.20/0.30\n\
         10.0.0.2 : xmt/rcv/%loss = 20/15/25%, outage(ms) = 500, min/avg/max = 22.5/24.3/46.2\n",
    );
    assert_eq!(said(&imported, 0, Figure::LossShare), None);
    assert_eq!(said(&imported, 0, Figure::Received), Some(9.0));
    assert_eq!(said(&imported, 1, Figure::LossShare), Some(0.25));
    assert_eq!(said(&imported, 1, trip(Statistic::Max)), Some(46_200_000.0));
}

#[test]
fn irtt_text_gives_round_trips_and_losses() {
    let imported = sample("irtt.txt");
    let stream = &imported.streams[0];
    assert_eq!(stream.target, "10.77.2.1:2112");
    assert_eq!(
        round_trips(stream)[..4],
        [Some(23_840), None, Some(23_960), Some(23_810)]
    );
    assert_eq!(stream.records.get(1).unwrap().outcome, Outcome::Lost);
    let median = Figure::Of(Delay::WithoutServer, Statistic::Median);
    assert_eq!(said(&imported, 0, median), Some(23_860_000.0));
    assert_eq!(imported.round_trip, Some("without the server's time"));
}

#[test]
fn sockperf_log_has_times_and_empty_slots() {
    let imported = sample("sockperf-loss.csv");
    let stream = &imported.streams[0];
    assert_eq!(stream.records.len(), 55);
    let last = stream
        .records
        .iter()
        .filter(Record::answered)
        .last()
        .unwrap();
    assert_eq!(last.t_send, Some(2_950_970_885));
    assert_eq!(last.round_trip(), Some(150_055));
    let latency = Figure::Of(Delay::HalfRoundTrip, Statistic::Quantile(0.9));
    assert_eq!(said(&imported, 0, latency), Some(1_757_251.0));
    assert_eq!(said(&imported, 0, Figure::Lost), Some(17.0));
    let text = sample("sockperf-tcp.txt");
    assert_eq!(
        (text.streams[0].method, text.streams[0].target.as_str()),
        (Method::Tcp, "10.77.2.1:11112")
    );
    assert_eq!(text.version.as_deref(), Some("3.7-no.git"));
}

/// With `--full-rtt` it speaks of whole round trips, and agrees with its log.
#[test]
fn sockperf_says_whether_it_means_half() {
    let imported = sample("sockperf-rtt.csv");
    let most = Figure::Of(Delay::RoundTrip, Statistic::Max);
    assert_eq!(said(&imported, 0, most), Some(157_926.0));
    assert_eq!(said(&imported, 0, trip(Statistic::Mean)), Some(104_915.0));
    assert_eq!(check(&imported), []);
}

#[test]
fn sockperf_rows_that_share_a_slot_are_numbered_as_they_come() {
    let imported = text(
        "test was performed using the following parameters: --mps=100 --msg-size=14\n\
         sockperf: [Valid Duration] RunTime=0.540 sec; SentMessages=4; ReceivedMessages=2\n\
         sockperf: # dropped messages = 2; # duplicated messages = 0; # out-of-order messages = 0\n\
         packet, txTime(sec), rxTime(sec), latency(usec)\n\
         0, 2.400000000, 2.400100000, 50.000\n\
         1, 2.400000000, 2.400300000, 150.000\n\
         ------------------------------\n",
    );
    let seqs: Vec<_> = imported.streams[0]
        .records
        .iter()
        .map(|record| record.seq)
        .collect();
    assert_eq!(seqs, [0, 1]);
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("lost 2 messages"))
    );
}

#[test]
fn mtr_raw_is_a_stream_a_hop() {
    let imported = sample("mtr-raw.txt");
    let names: Vec<_> = imported
        .streams
        .iter()
        .map(|stream| (stream.name.as_str(), stream.target.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("hop 1", "10.77.1.254"),
            ("hop 2", "10.77.2.1"),
            ("hop 3", "10.77.2.1"),
            ("hop 4", "10.77.2.1")
        ]
    );
    assert_eq!(
        round_trips(&imported.streams[0])[5..],
        [Some(65), Some(65), None, None, None]
    );
    assert_eq!(
        round_trips(&imported.streams[1])[..2],
        [Some(20_436), Some(22_478)]
    );
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("hops after 2"))
    );
}

#[test]
fn mtr_reports_say_the_same_in_three_forms() {
    for name in ["mtr.json", "mtr.csv", "mtr-report.txt", "mtr-wide.txt"] {
        let imported = sample(name);
        assert_eq!(imported.streams[1].target, "10.77.2.1", "{name}");
        assert_eq!(said(&imported, 1, Figure::LossShare), Some(0.0), "{name}");
        assert!(
            said(&imported, 1, trip(Statistic::Mean)).is_some(),
            "{name}"
        );
    }
    let report = sample("mtr-report.txt");
    assert_eq!(said(&report, 0, Figure::LossShare), Some(0.3));
    assert_eq!(said(&report, 1, trip(Statistic::Max)), Some(23_500_000.0));
    assert_eq!(said(&sample("mtr-wide.txt"), 0, Figure::Lost), Some(3.0));
    assert_eq!(sample("mtr.csv").version.as_deref(), Some("0.95"));
}

#[test]
fn iperf3_gives_samples_of_the_smoothed_round_trip_and_series() {
    let imported = sample("iperf3-tcp.json");
    let stream = &imported.streams[0];
    assert_eq!(round_trips(stream), [Some(20_297), Some(20_105)]);
    assert_eq!(stream.records.get(0).unwrap().retransmits, Some(90));
    let names: Vec<_> = imported
        .series
        .iter()
        .take(4)
        .map(|point| point.series.as_ref())
        .collect();
    assert_eq!(names, ["sent_rate", "load_retransmits", "cwnd", "srtt"]);
    let udp = sample("iperf3-udp.json");
    assert_eq!(said(&udp, 0, Figure::Lost), Some(379.0));
    assert!((said(&udp, 0, Figure::Jitter).unwrap() - 366_988.98).abs() < 0.01);
    let error = import::read(&bytes("iperf3-failed.json"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "iperf3 did not measure: unable to connect to server: Connection refused"
    );
}

/// Of the same kind of test, with what was sent beside it.
#[test]
fn what_iperf3_carried_is_what_arrived() {
    let near = |value: Option<f64>, expected: f64| {
        let value = value.unwrap();
        assert!((value / expected - 1.0).abs() < 0.001, "{value}");
    };
    for (name, stream, bytes, rate) in [
        ("iperf3-tcp.json", 0, 483_632.0, 3_795_469.0),
        ("iperf3-tcp.json", 1, 735_584.0, 5_772_750.0),
        ("iperf3-udp.json", 0, 2_450_016.0, 9_689_387.0),
        ("iperf3-udp-reverse.json", 0, 250_504.0, 2_003_579.0),
        ("iperf3-udp.txt", 0, 63.6 * 1024.0, 174_000.0),
        ("iperf3-udp-reverse.txt", 0, 43.8 * 1024.0, 180_000.0),
    ] {
        let imported = sample(name);
        near(said(&imported, stream, Figure::Bytes), bytes);
        near(said(&imported, stream, Figure::Throughput), rate);
        let is_sent = |of: &str| imported.series.iter().any(|point| &*point.series == of);
        let [sent, received] = ["sent_rate", "goodput"].map(is_sent);
        assert_eq!(
            [sent, received],
            match name.contains("reverse") {
                true => [false, true],
                false => [true, false],
            },
            "{name}"
        );
    }
    // Of several streams the sum of what arrived is one.
    let text = String::from_utf8(bytes("iperf3-udp.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut two = document.clone();
    two["end"]["streams"] = json!([document["end"]["streams"][0], document["end"]["streams"][0]]);
    let two = import::read(two.to_string().as_bytes(), None).unwrap();
    near(said(&two, 0, Figure::Bytes), 2_998_808.0 * 1692.0 / 2071.0);
}

/// Times between request and reply in µs.
fn network(stream: &ImportedStream) -> Vec<Option<Nanos>> {
    let micros = |record: Record| Some((record.t_rx? - record.t_tx?) / MICROSECOND);
    stream.records.iter().map(micros).collect()
}

#[test]
fn icmp_of_a_capture_is_matched() {
    let imported = sample("icmp.pcap");
    let stream = &imported.streams[0];
    assert_eq!(
        network(stream),
        [
            None,
            None,
            Some(23_257),
            None,
            None,
            None,
            Some(23_759),
            None
        ]
    );
    assert_eq!(stream.records.get(2).unwrap().t_send, None);
    assert_eq!(
        (stream.records.get(2).unwrap().reply_ttl, stream.size),
        (Some(63), Some(1228))
    );
    assert_eq!(outcomes(&imported.streams[1]), [Outcome::Refused]);
    assert_eq!(outcomes(&imported.streams[2]), [Outcome::Refused; 2]);
    assert_eq!(
        imported.streams[2].records.get(0).unwrap().refused_by,
        "10.77.1.254".parse().ok()
    );
}

#[test]
fn pcapng_says_the_same_as_pcap() {
    let (old, new) = (sample("icmp.pcap"), sample("icmp.pcapng"));
    assert_eq!(old.streams, new.streams);
    assert!(new.version.unwrap().starts_with("Editcap"));
    // Nanoseconds, and the header of `-i any`.
    let any = sample("icmp-any.pcap");
    assert_eq!(
        network(&any.streams[0]),
        [Some(62), Some(62), Some(65), Some(66), Some(73)]
    );
    assert_ne!(
        any.streams[0].records.get(0).unwrap().t_tx.unwrap() % MICROSECOND,
        0
    );
}

#[test]
fn udp_of_a_capture_is_matched_by_what_it_carries() {
    let imported = sample("udp.pcap");
    let irtt = &imported.streams[1];
    assert_eq!(irtt.target, "10.77.2.1:2112");
    assert_eq!(
        irtt.records
            .iter()
            .filter(|record| record.outcome == Outcome::Lost)
            .count(),
        2
    );
    assert!(
        network(irtt)
            .into_iter()
            .flatten()
            .all(|micros| (22_000..25_000).contains(&micros))
    );
    assert!(
        !imported
            .warnings
            .iter()
            .any(|warning| warning.contains("by order")),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn tcp_of_a_capture_is_matched_by_acknowledgements() {
    let stream = &sample("tcp.pcap").streams[0];
    assert_eq!(
        (stream.method, stream.target.as_str()),
        (Method::Tcp, "10.77.2.1:11112")
    );
    assert_eq!(network(stream)[..3], [Some(228), Some(207), Some(188)]);
    assert_eq!(stream.records.get(0).unwrap().retransmits, Some(0));
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    assert_eq!(import::read(b"", None), Err(ImportError::Empty));
    assert_eq!(import::read(b" \n\n", None), Err(ImportError::Empty));
    let unknown = import::read(b"hello, world\n", None)
        .unwrap_err()
        .to_string();
    for format in Format::all() {
        assert!(
            unknown.contains(format.name) && unknown.contains(format.command),
            "{unknown}"
        );
    }
    let irtt = bytes("irtt.json");
    let cut = import::read(&irtt[..irtt.len() / 2], None).unwrap_err();
    let line = irtt[..irtt.len() / 2].split(|&byte| byte == b'\n').count();
    assert_eq!(
        cut,
        ImportError::CutShortJson {
            format: Format::named("irtt"),
            line
        }
    );
    assert_eq!(
        import::read(b"{\n \"version\":\n", None),
        Err(ImportError::CutShortJson {
            format: None,
            line: 2
        })
    );
    let wrong = import::read(b"{\n \"irtt\": 7,\n \"version\": 1 }", None)
        .unwrap_err()
        .to_string();
    assert!(
        wrong.starts_with("line 3 is not what irtt writes"),
        "{wrong}"
    );
    assert!(matches!(
        import::read(&bytes("ping.txt"), Format::named("capture")),
        Err(ImportError::Capture { .. })
    ));
    assert!(matches!(
        import::read(b"hello\n", Format::named("ping")),
        Err(ImportError::NotUnderstood { .. })
    ));
}

/// Exports often have the newest row first: nothing was reordered, and a step up is no step down.
#[test]
fn a_table_that_is_newest_first_is_read_from_its_end() {
    let old = text("time_s,seq,rtt_ms\n100.0,1,10\n101.0,2,11\n102.0,3,12\n103.0,4,-\n");
    let new = text("time_s,seq,rtt_ms\n103.0,4,-\n102.0,3,12\n101.0,2,11\n100.0,1,10\n");
    assert_eq!(new.streams[0].records, old.streams[0].records);
    assert!(
        new.warnings.iter().any(|it| it.contains("newest")),
        "{:?}",
        new.warnings
    );
    let unnumbered = text("time_s,rtt_ms\n102.0,12\n101.0,11\n100.0,10\n");
    let delays = round_trips(&unnumbered.streams[0]);
    assert_eq!(delays, [10_000, 11_000, 12_000].map(Some));
    assert!(
        unnumbered.streams[0]
            .records
            .iter()
            .all(|record| record.reorder_extent == 0)
    );
}

/// A table may have packets of many sizes, and the size of one that was lost.
#[test]
fn a_table_has_a_size_for_each_packet() {
    let table = text("size,delay_ms\n44,1.5\n188,2.5\n92,-\n");
    let sizes = table.streams[0].records.iter();
    let sizes: Vec<_> = sizes.map(|record| record.ip_size).collect();
    assert_eq!(sizes, [Some(44), Some(188), Some(92)]);
    assert!(table.warnings.iter().all(|it| !it.contains("not read")));
}
