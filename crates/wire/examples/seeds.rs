//! Writes valid packets of every format to `DIR/<fuzz target>/`: where the fuzz targets begin.
//!
//! `cargo run --package delaylab-wire --example seeds -- DIR`

use delaylab_model::frames::Frames;
use delaylab_model::probe::Family;
use delaylab_wire::EmitError;
use delaylab_wire::control::{
    Accept, Challenge, ClockFacts, Collected, Control, Hello, LoadHello, Reason, Refuse, SIZE,
};
use delaylab_wire::echo::{FollowUp, Header, Mode, Stamps};
use delaylab_wire::ntp::ErrorEstimate;
use delaylab_wire::path_probe::{Flow, Mark, Transport};
use delaylab_wire::stamp::{Echoed, Form, Reflector, Sender};
use delaylab_wire::stamp_tlv::{Writer, kind};
use delaylab_wire::test_frame::{Ends, Template};
use delaylab_wire::{auth, icmp_error, icmp_extension, iperf3, mpls, tcp};
use std::error::Error;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("say which folder")?;
    let write = |target: &str, seeds: &[Vec<u8>]| write_all(&Path::new(&dir).join(target), seeds);
    let controls = controls()?;
    let tlvs = tlvs()?;
    let request = request()?;
    let stamp = [stamp_sender()?, stamp_reflector()?].concat();
    // The control target gives magic and version itself.
    let bodies: Vec<_> = controls.iter().map(|packet| packet[9..].to_vec()).collect();
    write("control", &bodies)?;
    write("echo", &[echo_reply()?])?;
    let mut packets = [stamp.as_slice(), &controls].concat();
    packets.extend([tlvs.clone(), echo_reply()?]);
    write("reflector", &sequences(&packets))?;
    write("prober", &[&stamp[..], &[echo_reply()?]].concat())?;
    write("load", &load()?)?;
    write("path_trace", &path_trace()?)?;
    write("test_frame", &test_frames()?)?;
    write("stamp", &stamp)?;
    write("stamp_tlv", &[[&[44], tlvs.as_slice()].concat()])?;
    let stream = [&request, &controls[0], &request]
        .map(Vec::as_slice)
        .concat();
    write("tcp", &[[&[9], stream.as_slice()].concat()])?;
    let quantities = ["20ms", "1.5 s", "64B", "10 Mbit/s", "9KiB", "3min"];
    write("units", &quantities.map(|text| text.as_bytes().to_vec()))?;
    Ok(())
}

fn write_all(dir: &Path, seeds: &[Vec<u8>]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    for (index, seed) in seeds.iter().enumerate() {
        fs::write(dir.join(format!("seed-{index:02}")), seed)?;
    }
    Ok(())
}

/// Control packets of loads as the load target takes them: kind and body, in 32 bytes each. And JSON.
fn load() -> Result<Vec<Vec<u8>>, EmitError> {
    let hello = |transport| {
        Control::LoadHello(LoadHello {
            nonce: 1,
            transport,
            window: 65_536,
        })
    };
    let session = |transport| {
        [
            hello(transport),
            Control::Count { token: 0 },
            Control::Attach { token: 0 },
        ]
    };
    let mut seeds = Vec::new();
    for transport in [auth::Transport::Udp, auth::Transport::Tcp] {
        let mut seed = Vec::new();
        for control in session(transport) {
            let mut packet = [0; SIZE];
            control.emit(None, &mut packet)?;
            seed.extend_from_slice(&packet[9..41]);
        }
        seeds.push(seed);
    }
    let streams = vec![iperf3::StreamResult::default(); 2];
    seeds.push(iperf3::Results { streams }.frame(1.0)[4..].to_vec());
    Ok(seeds)
}

/// A frame of each kind, behind its token.
fn test_frames() -> Result<Vec<Vec<u8>>, EmitError> {
    let ends = Ends {
        from: [2, 0, 0, 0, 0, 1],
        to: [2, 0, 0, 0, 0, 2],
        token: 50_000,
    };
    let kinds = [
        (Family::V4, None),
        (Family::V4, Some(7)),
        (Family::V6, None),
    ];
    let seed = |(family, vlan)| {
        let frames = Frames {
            family,
            vlan,
            ..Frames::new(88)
        };
        let mut template = Template::new(&frames, ends, 1, 0)?;
        Ok([&ends.token.to_be_bytes(), template.sign(7, 1 << 40)].concat())
    };
    kinds.into_iter().map(seed).collect()
}

/// Each packet as an input of the reflector's target, which reads its length first.
fn sequences(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let sequence = |packet: &Vec<u8>| [&[packet.len().min(255) as u8], packet.as_slice()].concat();
    packets.iter().map(sequence).collect()
}

/// What a router and a target say to a packet of each kind, behind the byte that says which kind.
fn path_trace() -> Result<Vec<Vec<u8>>, EmitError> {
    let label = mpls::Entry::from_bits(0x05dc_1101);
    let extension = icmp_extension::with_label_stack(&[label]);
    let mark = Mark {
        number: 3,
        traffic_class: 0xb8,
        ttl: 1,
    };
    let mut seeds = Vec::new();
    for how in 0..6_u8 {
        let v6 = how & 1 != 0;
        let [source, destination] = if v6 {
            [1, 2].map(|last| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, last]))
        } else {
            [1, 2].map(|last| IpAddr::from([10, 0, 0, last]))
        };
        let (ours, id) = (40_000, 7);
        let flow = Flow {
            source,
            destination,
            transport: match how >> 1 {
                0 => Transport::Udp {
                    source: ours,
                    port: 33_434,
                },
                1 => Transport::Icmp { id },
                _ => Transport::Tcp {
                    source: ours,
                    port: 80,
                },
            },
            token: 9,
        };
        let mut packet = vec![0; flow.packet_size(6)];
        flow.emit(mark, &mut packet)?;
        let kind = if v6 { [3, 0] } else { [11, 0] };
        for old in [false, true] {
            let message = icmp_error::compose(kind, v6, &packet, &extension, old);
            seeds.push([&[how], message.as_slice()].concat());
        }
        seeds.push([&[how], packet.as_slice()].concat());
    }
    seeds.push([&[0], extension.as_slice()].concat());
    Ok(seeds)
}

fn controls() -> Result<Vec<Vec<u8>>, EmitError> {
    let cookie = [7; 16];
    let follow_ups = vec![FollowUp { seq: 1, r_tx: 2 }; 3];
    let controls = [
        Control::Hello(Hello {
            nonce: 1,
            mode: Mode::Stamped,
            payload: 64,
            cookie,
        }),
        Control::Challenge(Challenge { nonce: 1, cookie }),
        Control::Accept(accept()),
        Control::Refuse(Refuse {
            nonce: 1,
            reason: Reason::TooSmall,
            text: "use at least 24B".to_owned(),
        }),
        Control::Collect { token: 1 },
        Control::Collected(Collected {
            token: 1,
            received: 2,
            follow_ups,
        }),
        Control::Bye { token: 1 },
    ];
    controls.iter().map(emit_control).collect()
}

fn accept() -> Accept {
    Accept {
        nonce: 1,
        salt: 2,
        token: 3,
        mode: Mode::Plain,
        clock: ClockFacts {
            id: 4,
            synchronised: true,
            error_bound: 5,
        },
        realtime_offset: 6,
        max_duration_s: 7,
    }
}

fn emit_control(control: &Control) -> Result<Vec<u8>, EmitError> {
    let mut packet = vec![0; SIZE];
    control.emit(None, &mut packet)?;
    Ok(packet)
}

/// Its token is the one that the reflector's target replaces.
fn echo_reply() -> Result<Vec<u8>, EmitError> {
    let mut packet = vec![1; 60];
    let token = u32::from_be_bytes(*b"T000");
    Header { token, seq: 2 }.emit(&mut packet)?;
    let stamps = Stamps {
        reflector_seq: 3,
        traffic_class: Some(0xb8),
        ttl: Some(64),
        r_rx: Some(4),
        r_user: 5,
        follow_up: Some(FollowUp { seq: 1, r_tx: 6 }),
    };
    stamps.emit(&mut packet)?;
    Ok(packet)
}

fn request() -> Result<Vec<u8>, EmitError> {
    let mut frame = vec![1; 64];
    let request = tcp::Request {
        len: 64,
        seq: 1,
        reply_len: 48,
    };
    request.emit(&mut frame)?;
    Ok(frame)
}

fn sender() -> Sender {
    Sender {
        seq: 1,
        timestamp: 0xe900_0000_8000_0000,
        error: ErrorEstimate::from_bits(0x8001),
        ssid: 2,
    }
}

fn stamp_sender() -> Result<Vec<Vec<u8>>, EmitError> {
    [Form::Unauthenticated, Form::Authenticated]
        .into_iter()
        .map(|form| {
            let mut packet = vec![0; form.size()];
            sender().emit(form, &mut packet)?;
            Ok(packet)
        })
        .collect()
}

fn stamp_reflector() -> Result<Vec<Vec<u8>>, EmitError> {
    let Sender {
        seq,
        timestamp,
        error,
        ssid,
    } = sender();
    let reflector = Reflector {
        seq,
        timestamp,
        error,
        ssid,
        receive: timestamp,
        sender: Echoed {
            seq,
            timestamp,
            error,
            ttl: 64,
        },
    };
    [Form::Unauthenticated, Form::Authenticated]
        .into_iter()
        .map(|form| {
            let mut packet = vec![0; form.size()];
            reflector.emit(form, &mut packet)?;
            Ok(packet)
        })
        .collect()
}

fn tlvs() -> Result<Vec<u8>, EmitError> {
    let mut packet = vec![0; 300];
    sender().emit(Form::Unauthenticated, &mut packet)?;
    let mut writer = Writer::new(&mut packet, Form::Unauthenticated.size());
    writer.push(kind::TIMESTAMP_INFORMATION, &[0; 4])?;
    writer.push(kind::CLASS_OF_SERVICE, &[0xb8, 0, 0, 0])?;
    writer.push(kind::DIRECT_MEASUREMENT, &[0; 12])?;
    writer.push(kind::FOLLOW_UP_TELEMETRY, &[0; 16])?;
    writer.push(kind::CLOCK_IDENTITY, &[0; 8])?;
    writer.push(kind::HMAC, &[0; 16])?;
    writer.pad(4)?;
    let len = writer.position();
    packet.truncate(len);
    Ok(packet)
}
