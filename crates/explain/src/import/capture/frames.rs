//! The file of a capture: what was seen, and when.
//!
//! Of pcapng the blocks are taken as they are and the time stamps read here: their unit is the
//! interface's (`if_tsresol`, microseconds without it; draft-ietf-opsawg-pcapng §4.2), which
//! `pcap_file` leaves aside. Of pcap the packets are taken raw, because a packet longer than the
//! snapshot is not an error.

use super::super::ImportError;
use super::super::decimal::LARGEST;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgParser};
use pcap_file::{PcapError, TsResolution};
use std::borrow::Cow;

/// A captured packet.
pub struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub time: Nanos,
    /// What it begins with: a LINKTYPE number of tcpdump.org.
    pub link: u32,
    /// As much of it as was kept.
    pub data: Cow<'a, [u8]>,
}

/// A capture as read.
pub struct File<'a> {
    /// In the order of the file.
    pub frames: Vec<Frame<'a>>,
    /// What wrote it.
    pub application: Option<String>,
    /// What was not whole.
    pub warnings: Vec<String>,
}

const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const PCAP: [[u8; 4]; 4] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];

/// Does it begin as a capture does?
pub fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(&PCAPNG) || PCAP.iter().any(|magic| bytes.starts_with(magic))
}

/// Reads either kind. Packets before a break are kept.
pub fn read(bytes: &[u8]) -> Result<File<'_>, ImportError> {
    if bytes.starts_with(&PCAPNG) {
        pcapng(bytes)
    } else {
        pcap(bytes)
    }
}

fn broken(error: &PcapError) -> ImportError {
    let reason = match error {
        PcapError::IncompleteBuffer => "it is cut short within its header".to_owned(),
        other => other.to_string(),
    };
    ImportError::Capture { reason }
}

fn stopped(error: &PcapError, frames: usize) -> String {
    match error {
        PcapError::IncompleteBuffer => format!(
            "the capture is cut short within the packet after number {frames}, which was left out"
        ),
        other => format!("the capture cannot be read beyond packet {frames}: {other}"),
    }
}

fn pcap(bytes: &[u8]) -> Result<File<'_>, ImportError> {
    let (mut rest, parser) = PcapParser::new(bytes).map_err(|error| broken(&error))?;
    let header = parser.header();
    let unit = match header.ts_resolution {
        TsResolution::MicroSecond => MICROSECOND,
        TsResolution::NanoSecond => 1,
    };
    let mut file = File {
        frames: Vec::new(),
        application: None,
        warnings: Vec::new(),
    };
    while !rest.is_empty() {
        match parser.next_raw_packet(rest) {
            Ok((next, packet)) => {
                file.frames.push(Frame {
                    time: Nanos::from(packet.ts_sec) * SECOND + Nanos::from(packet.ts_frac) * unit,
                    link: header.datalink.into(),
                    data: packet.data,
                });
                rest = next;
            }
            Err(error) => {
                file.warnings.push(stopped(&error, file.frames.len()));
                break;
            }
        }
    }
    Ok(file)
}

fn pcapng(bytes: &[u8]) -> Result<File<'_>, ImportError> {
    let (mut rest, mut parser) = PcapNgParser::new(bytes).map_err(|error| broken(&error))?;
    let application = parser
        .section()
        .options
        .iter()
        .find_map(|option| match option {
            SectionHeaderOption::UserApplication(name) => Some(name.to_string()),
            _ => None,
        });
    let mut file = File {
        frames: Vec::new(),
        application,
        warnings: Vec::new(),
    };
    let mut timeless = 0_u64;
    while !rest.is_empty() {
        match parser.next_block(rest) {
            Ok((next, block)) => {
                match block {
                    Block::EnhancedPacket(packet) => {
                        let interface = parser.interfaces().get(packet.interface_id as usize);
                        let units = packet.timestamp.as_nanos();
                        match interface
                            .and_then(|interface| Some((interface, time(interface, units)?)))
                        {
                            Some((interface, time)) => file.frames.push(Frame {
                                time,
                                link: interface.linktype.into(),
                                data: packet.data,
                            }),
                            None => timeless += 1,
                        }
                    }
                    Block::SimplePacket(_) | Block::Packet(_) => timeless += 1,
                    _ => {}
                }
                rest = next;
            }
            Err(error) => {
                file.warnings.push(stopped(&error, file.frames.len()));
                break;
            }
        }
    }
    if timeless > 0 {
        file.warnings.push(format!(
            "{timeless} packets of the capture have no time that can be read, and were left out"
        ));
    }
    Ok(file)
}

/// The time of a packet that this interface saw so many units after 1970.
fn time(interface: &InterfaceDescriptionBlock, units: u128) -> Option<Nanos> {
    let mut resolution = 6;
    let mut offset = 0;
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(value) => resolution = *value,
            InterfaceDescriptionOption::IfTsOffset(seconds) => offset = seconds.cast_signed(),
            _ => {}
        }
    }
    // A power of ten, or with the highest bit set one of two.
    let per_second: u128 = match resolution {
        0..=18 => 10_u128.pow(u32::from(resolution)),
        128..=191 => 1 << (resolution - 128),
        _ => return None,
    };
    let nanos = units.checked_mul(u128::from(SECOND.unsigned_abs()))? / per_second;
    let nanos = i128::try_from(nanos).ok()? + i128::from(offset) * i128::from(SECOND);
    Nanos::try_from(nanos)
        .ok()
        .filter(|time| (0..=2 * LARGEST).contains(time))
}
