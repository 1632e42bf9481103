//! The file of a capture: what was seen, and when.
//!
//! Of pcapng the section headers, the interfaces and the packets are read; blocks of another kind are skipped by their
//! length, whatever they hold. Time stamps are read here: their unit is the interface's (`if_tsresol`,
//! microseconds without it; draft-ietf-opsawg-pcapng §4.2). A packet longer than the snapshot is not an error.

use crate::import::ImportError;
use crate::import::decimal::LARGEST;
use delaylab_model::{MICROSECOND, Nanos, SECOND};
use pcap_parser::{
    EPB_MAGIC, EnhancedPacketBlock, IDB_MAGIC, InterfaceDescriptionBlock, OptionCode, PcapNGOption,
    SHB_MAGIC, SPB_MAGIC, parse_enhancedpacketblock_be, parse_enhancedpacketblock_le,
    parse_interfacedescriptionblock_be, parse_interfacedescriptionblock_le, parse_pcap_frame,
    parse_pcap_frame_be, parse_pcap_header, parse_sectionheaderblock, parse_unknownblock_be,
    parse_unknownblock_le,
};

/// A captured packet.
pub struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub time: Nanos,
    /// Which of the file's interfaces saw it.
    pub interface: u32,
    /// What it begins with: a LINKTYPE number of tcpdump.org.
    pub link: u32,
    /// As much of it as was kept.
    pub data: &'a [u8],
}

/// A capture as read.
#[derive(Default)]
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
    } else if is(bytes) {
        pcap(bytes)
    } else {
        Err(Break::Damaged("it begins neither as pcap nor as pcapng does").in_header())
    }
}

/// Why a capture cannot be read any further.
enum Break {
    CutShort,
    Damaged(&'static str),
}

impl Break {
    fn in_header(self) -> ImportError {
        let reason = match self {
            Self::CutShort => "it is cut short within its header",
            Self::Damaged(reason) => reason,
        };
        let reason = reason.to_owned();
        ImportError::Capture { reason }
    }

    fn after(self, frames: usize) -> String {
        match self {
            Self::CutShort => format!(
                "the capture is cut short within the packet after number {frames}, which was left out"
            ),
            Self::Damaged(reason) => {
                format!("the capture cannot be read beyond packet {frames}: {reason}")
            }
        }
    }
}

fn pcap(bytes: &[u8]) -> Result<File<'_>, ImportError> {
    let (mut rest, header) = parse_pcap_header(bytes).map_err(|_| Break::CutShort.in_header())?;
    let (unit, next_packet) = (
        if header.is_nanosecond_precision() {
            1
        } else {
            MICROSECOND
        },
        if header.is_bigendian() {
            parse_pcap_frame_be
        } else {
            parse_pcap_frame
        },
    );
    let mut file = File::default();
    while !rest.is_empty() {
        // Any lengths are allowed, so a packet that is not whole is the only error.
        let Ok((after, packet)) = next_packet(rest) else {
            file.warnings.push(Break::CutShort.after(file.frames.len()));
            break;
        };
        file.frames.push(Frame {
            time: Nanos::from(packet.ts_sec) * SECOND + Nanos::from(packet.ts_usec) * unit,
            interface: 0,
            // Above it stands how long each frame's checksum is (draft-ietf-opsawg-pcap §4).
            link: header.network.0.cast_unsigned() & 0xffff,
            data: packet.data,
        });
        rest = after;
    }
    Ok(file)
}

fn pcapng(bytes: &[u8]) -> Result<File<'_>, ImportError> {
    let (header, mut rest) = Block::split(bytes, false).map_err(Break::in_header)?;
    let mut file = File {
        application: header.application(),
        ..File::default()
    };
    let mut section = Section::new(&header, 0);
    let mut timeless = 0_u64;
    while !rest.is_empty() {
        let next = Block::split(rest, section.big_endian)
            .and_then(|(block, after)| Ok((section.take(&block)?, after)));
        match next {
            Ok((seen, after)) => {
                match seen {
                    BlockContent::Packet(frame) => file.frames.push(frame),
                    BlockContent::Timeless => timeless += 1,
                    BlockContent::Other => {}
                }
                rest = after;
            }
            Err(stop) => {
                file.warnings.push(stop.after(file.frames.len()));
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

/// A block of pcapng, of which only the frame has been read: its kind, and its length at both ends.
struct Block<'a> {
    kind: u32,
    big_endian: bool,
    /// All of it.
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// Takes the next block off. A section header has a byte order of its own.
    fn split(bytes: &'a [u8], big_endian: bool) -> Result<(Self, &'a [u8]), Break> {
        let big_endian = if bytes.starts_with(&PCAPNG) {
            match bytes.get(8..12).ok_or(Break::CutShort)? {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return Err(Break::Damaged("a section header has no byte order")),
            }
        } else {
            big_endian
        };
        let read = if big_endian {
            parse_unknownblock_be
        } else {
            parse_unknownblock_le
        };
        let wrong_length = Break::Damaged("the length of the next block is wrong");
        let (after, frame) = match read(bytes) {
            Ok(read) => read,
            Err(error) if error.is_incomplete() => return Err(Break::CutShort),
            Err(_) => return Err(wrong_length),
        };
        if frame.block_len1 != frame.block_len2 || frame.block_len1 % 4 != 0 {
            return Err(wrong_length);
        }
        let block = Self {
            // The library leaves the kind as if it were little-endian.
            kind: if big_endian {
                frame.block_type.swap_bytes()
            } else {
                frame.block_type
            },
            big_endian,
            bytes: &bytes[..bytes.len() - after.len()],
        };
        Ok((block, after))
    }

    /// Of a section header: what wrote the section.
    fn application(&self) -> Option<String> {
        let (_, section) = parse_sectionheaderblock(self.bytes).ok()?;
        Some(section.shb_userappl()?.ok()?.to_owned())
    }

    fn interface(&self) -> Option<Interface> {
        let read = if self.big_endian {
            parse_interfacedescriptionblock_be
        } else {
            parse_interfacedescriptionblock_le
        };
        let (_, block) = read(self.bytes).ok()?;
        fit(&block.options, self.bytes.len() - 20).then(|| Interface::new(&block, self.big_endian))
    }

    fn packet(&self) -> Option<EnhancedPacketBlock<'a>> {
        let read = if self.big_endian {
            parse_enhancedpacketblock_be
        } else {
            parse_enhancedpacketblock_le
        };
        let (_, block) = read(self.bytes).ok()?;
        fit(&block.options, self.bytes.len() - 32 - block.data.len()).then_some(block)
    }
}

/// Do these options fill so many bytes, or end before? The library leaves out what is no option: then a length in front
/// of it is wrong.
fn fit(options: &[PcapNGOption], room: usize) -> bool {
    let filled: usize = options.iter().map(|option| 4 + option.value.len()).sum();
    filled == room
        || options
            .iter()
            .any(|option| option.code == OptionCode::EndOfOpt)
}

/// What a block adds to a file.
enum BlockContent<'a> {
    Packet(Frame<'a>),
    /// A packet whose time is not there or out of range.
    Timeless,
    Other,
}

/// A section of pcapng, as far as read.
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before it.
    before: usize,
}

impl Section {
    fn new(header: &Block, before: usize) -> Self {
        Self {
            big_endian: header.big_endian,
            interfaces: Vec::new(),
            before,
        }
    }

    fn take<'a>(&mut self, block: &Block<'a>) -> Result<BlockContent<'a>, Break> {
        /// The packets of old files, which the library does not know.
        const PACKET_BLOCK: u32 = 2;
        match block.kind {
            SHB_MAGIC => *self = Self::new(block, self.before + self.interfaces.len()),
            IDB_MAGIC => {
                let interface = block.interface();
                let damaged = Break::Damaged("the next block describes no interface");
                self.interfaces.push(interface.ok_or(damaged)?);
            }
            EPB_MAGIC => {
                let damaged = Break::Damaged("the next packet does not fit its block");
                let packet = block.packet().ok_or(damaged)?;
                return Ok(self
                    .frame(&packet)
                    .map_or(BlockContent::Timeless, BlockContent::Packet));
            }
            SPB_MAGIC | PACKET_BLOCK => return Ok(BlockContent::Timeless),
            _ => {}
        }
        Ok(BlockContent::Other)
    }

    fn frame<'a>(&self, packet: &EnhancedPacketBlock<'a>) -> Option<Frame<'a>> {
        let at = usize::try_from(packet.if_id).ok()?;
        let interface = self.interfaces.get(at)?;
        let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        Some(Frame {
            time: interface.time(units)?,
            interface: u32::try_from(self.before + at).ok()?,
            link: interface.link,
            // Behind the packet is what fills it up to a multiple of four bytes.
            data: packet.data.get(..usize::try_from(packet.caplen).ok()?)?,
        })
    }
}

/// An interface that packets were seen on.
struct Interface {
    link: u32,
    /// `if_tsresol`: a power of ten, or with the highest bit set one of two.
    resolution: u8,
    /// `if_tsoffset`, seconds.
    offset: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock, big_endian: bool) -> Self {
        Self {
            link: block.linktype.0.cast_unsigned(),
            resolution: block.if_tsresol,
            // The library reads the offset as if it were little-endian.
            offset: if big_endian {
                block.if_tsoffset.swap_bytes()
            } else {
                block.if_tsoffset
            },
        }
    }

    /// The time so many units after 1970.
    fn time(&self, units: u64) -> Option<Nanos> {
        let per_second: u128 = match self.resolution {
            0..=18 => 10_u128.pow(u32::from(self.resolution)),
            128..=191 => 1 << (self.resolution - 128),
            _ => return None,
        };
        let nanos = u128::from(units) * u128::from(SECOND.unsigned_abs()) / per_second;
        let nanos = i128::try_from(nanos).ok()? + i128::from(self.offset) * i128::from(SECOND);
        Nanos::try_from(nanos)
            .ok()
            .filter(|time| (0..=2 * LARGEST).contains(time))
    }
}

#[cfg(test)]
mod tests;
