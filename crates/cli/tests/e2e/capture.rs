//! The stamps and the packets agree with an independent capture on the prober's veth.

use crate::harness::median;
use crate::harness::netns::{B4, Namespace, Pair, VETH};
use crate::harness::process::{Process, Reflector, measure};
use crate::harness::scratch::Scratch;
use crate::or_skip;
use delaylab_model::SECOND;
use nix::sys::signal::Signal;
use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const PROBES: usize = 10_000;

/// What of a captured packet is compared.
struct Captured {
    /// CLOCK_REALTIME, ns.
    at: i64,
    tos: u8,
    length: u16,
    ttl: u8,
}

/// tcpdump on the interface of a namespace.
struct Tcpdump {
    process: Process,
    file: PathBuf,
}

impl Tcpdump {
    fn start(inside: &Namespace, file: PathBuf, filter: &str) -> Result<Self, String> {
        // Not in immediate mode: to wake tcpdump up for each packet takes long, and happens between
        // its stamp and the driver's.
        let words = format!(
            "-i {VETH} --time-stamp-precision=nano -s 64 -U -B 8192 -Z root -c {PROBES} -w"
        );
        let mut command = inside.command("tcpdump");
        command.args(words.split(' ')).arg(&file);
        command.args(filter.split(' ')).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut said = String::new();
        let mut stderr = BufReader::new(process.child.stderr.take().unwrap());
        while !said.contains("listening on") {
            if stderr.read_line(&mut said).unwrap() == 0 {
                return Err(format!("tcpdump does not capture: {said}"));
            }
        }
        Ok(Self { process, file })
    }

    /// It ends by itself once it has them all; if it lost some, it is ended.
    fn stop(mut self) -> PathBuf {
        for _ in 0..500 {
            if self.process.child.try_wait().unwrap().is_some() {
                return self.file;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.process.signal(Signal::SIGINT);
        self.process.child.wait().unwrap();
        self.file
    }
}

/// Our udp packets over IPv4 by their number.
fn read(file: &Path) -> BTreeMap<u64, Captured> {
    const IP: usize = 14;
    const SEQ: usize = IP + 20 + 8 + 4;
    let bytes = fs::read(file).unwrap();
    let (mut rest, header) = parse_pcap_header(&bytes).unwrap();
    let next_packet = if header.is_bigendian() {
        parse_pcap_frame_be
    } else {
        parse_pcap_frame
    };
    let mut captured = BTreeMap::new();
    while !rest.is_empty() {
        let (after, packet) = next_packet(rest).unwrap();
        rest = after;
        let data = packet.data;
        let seq = u32::from_be_bytes(data[SEQ..SEQ + 4].try_into().unwrap());
        let found = Captured {
            // Nanoseconds, whatever the library calls them: see the options of tcpdump.
            at: i64::from(packet.ts_sec) * SECOND + i64::from(packet.ts_usec),
            tos: data[IP + 1],
            length: u16::from_be_bytes([data[IP + 2], data[IP + 3]]),
            ttl: data[IP + 8],
        };
        captured.insert(seq.into(), found);
    }
    captured
}

/// The median of |t_tx − tcpdump's stamp|, in ns.
fn difference(pair: &Pair) -> Result<i64, String> {
    let scratch = Scratch::new();
    let filter = format!("udp and dst host {B4} and ip[2:2] = 300");
    let tcpdump = Tcpdump::start(&pair.a, scratch.path("pcap"), &filter)?;
    // Back to back and spinning: on a virtual CPU that has slept, the kernel's few hundred
    // instructions between the two stamps take twice as long.
    let words = format!(
        "{B4} --method udp --ip-size 300B --tos 0xb9 -t 9 --wait 0s --wait-mode spin -c {PROBES} --allow-load"
    );
    let run = measure(Some(&pair.a), &words);
    assert_eq!(run.count("sent"), PROBES as u64);
    let captured = read(&tcpdump.stop());
    let offset = &run.document["facts"]["realtime_offset_ns"];
    let offset = offset.as_i64().unwrap();
    let both = run.records.iter().filter_map(|record| {
        let packet = captured.get(&record.seq)?;
        assert_eq!((packet.tos, packet.length, packet.ttl), (0xb9, 300, 9));
        Some((packet.at - offset - record.t_tx_ns?).abs())
    });
    let differences: Vec<i64> = both.collect();
    // The capture may lose a few on a busy machine; the comparison must not become one of a few.
    let compared = differences.len();
    assert!(
        compared >= PROBES * 99 / 100,
        "{compared} of {PROBES} packets are in both"
    );
    Ok(median(differences))
}

/// Tests that measure microseconds: the machine is theirs alone.
mod alone {
    use super::*;

    /// Three tries, for a machine that does something else meanwhile.
    #[test]
    fn departures_and_packets_are_what_tcpdump_sees() {
        const BOUND: i64 = 2_000;
        let pair = or_skip!(Pair::new(1500));
        let _reflector = Reflector::inside(&pair.b);
        for attempt in 1..=3 {
            let found = or_skip!(difference(&pair));
            println!(
                "try {attempt}: median |t_tx - tcpdump's stamp| of {PROBES} packets: {found} ns"
            );
            if found < BOUND {
                return;
            }
        }
        panic!("not under {BOUND} ns in any try");
    }
}
