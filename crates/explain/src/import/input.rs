//! A file as it comes: unpacked, as text of UTF-8, piece by piece. Only its head is held.

mod parquet;
#[cfg(test)]
mod tests;

use super::{ImportError, Imported};
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use parquet::table_text;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// As much of a file is looked at to tell its format.
const HEAD: u64 = 65_536;
/// A file may be packed, its content again, and so on.
const LAYERS: usize = 4;

/// Bytes of a file at most, once it is unpacked: two hundred million lines of ping. A pipe may have no end.
const LONGEST: u64 = 16 << 30;
/// Bytes of a file that has to be in memory as a whole.
const LONGEST_HELD: u64 = 1 << 30;
/// Bytes of a line.
const LONGEST_LINE: u64 = 16 << 20;

type Source<'a> = Box<dyn BufRead + 'a>;

/// A file that is being read.
pub struct Input<'a> {
    head: Vec<u8>,
    rest: Source<'a>,
}

impl<'a> Input<'a> {
    /// Of what `source` gives. gzip, zstd and xz are unpacked, UTF-16 becomes UTF-8 and the table of a
    /// Parquet file text.
    ///
    /// # Errors
    ///
    /// [`ImportError::Read`], [`ImportError::Packed`]: nothing of it can be read.
    pub fn new(source: impl Read + 'a) -> Result<Self, ImportError> {
        let mut source: Source<'a> = Box::new(BufReader::with_capacity(1 << 18, source));
        for _ in 0..LAYERS {
            let (magic, whole) = peek(source, 6).map_err(read_error)?;
            source = whole;
            source = match Packing::by_magic(&magic) {
                Some(packing) => packing.unpacked(source)?,
                None => break,
            };
        }
        let (mark, whole) = peek(source, 3).map_err(read_error)?;
        source = match mark.as_slice() {
            [0xff, 0xfe, ..] => Box::new(BufReader::new(utf16(whole, u16::from_le_bytes))),
            [0xfe, 0xff, ..] => Box::new(BufReader::new(utf16(whole, u16::from_be_bytes))),
            [0xef, 0xbb, 0xbf] => {
                let mut whole = whole;
                whole.read_exact(&mut [0; 3]).map_err(read_error)?;
                whole
            }
            _ => whole,
        };
        source = Box::new(Bounded::new(source, LONGEST));
        let mut head = Vec::new();
        match (&mut source).take(HEAD).read_to_end(&mut head) {
            Err(error) if head.is_empty() => Err(read_error(error)),
            _ => Ok(Self { head, rest: source }),
        }
    }

    /// Its first 64 KiB.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// All of it, for formats that have to be whole.
    pub fn bytes(mut self) -> Result<Vec<u8>, ImportError> {
        let mut bytes = std::mem::take(&mut self.head);
        let mut rest = Bounded::new(self.rest, LONGEST_HELD);
        rest.read_to_end(&mut bytes).map_err(read_error)?;
        Ok(bytes)
    }

    /// As a stream of bytes.
    pub fn reader(self) -> impl BufRead + 'a {
        Cursor::new(self.head).chain(self.rest)
    }

    /// Line by line.
    pub fn lines(self) -> Lines<'a> {
        Lines {
            source: Cursor::new(self.head).chain(self.rest),
            line: Vec::new(),
            text: String::new(),
            number: 0,
            end: End::NotYet,
        }
    }
}

fn read_error(error: io::Error) -> ImportError {
    ImportError::Read {
        reason: error.to_string(),
    }
}

/// The first bytes, and all of it.
fn peek(mut source: Source<'_>, count: u64) -> io::Result<(Vec<u8>, Source<'_>)> {
    let mut first = Vec::new();
    (&mut source).take(count).read_to_end(&mut first)?;
    let whole = Box::new(Cursor::new(first.clone()).chain(source));
    Ok((first, whole))
}

/// How a file was packed.
#[derive(Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Parquet,
}

impl Packing {
    fn by_magic(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Self::Xz),
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Parquet => "Parquet",
        }
    }

    fn unpacked(self, source: Source<'_>) -> Result<Source<'_>, ImportError> {
        let packed = |reason| ImportError::Packed {
            packing: self.name(),
            reason,
        };
        let reader: Box<dyn Read> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(source)),
            Self::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(source).map_err(read_error)?)
            }
            Self::Xz => Box::new(XzReader::new(source, true)),
            Self::Parquet => {
                let mut file = Vec::new();
                let mut source = Bounded::new(source, LONGEST_HELD);
                source.read_to_end(&mut file).map_err(read_error)?;
                Box::new(table_text(file).map_err(packed)?)
            }
        };
        let mut source = BufReader::with_capacity(1 << 16, reader);
        match source.fill_buf() {
            Ok(_) => Ok(Box::new(source)),
            Err(error) => Err(packed(error.to_string())),
        }
    }
}

/// A file up to a length; beyond it, reading fails.
struct Bounded<R> {
    source: R,
    most: u64,
    left: u64,
}

impl<R: BufRead> Bounded<R> {
    const fn new(source: R, most: u64) -> Self {
        Self {
            source,
            most,
            left: most,
        }
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.source.fill_buf()?;
        if self.left == 0 && !bytes.is_empty() {
            let most = self.most >> 30;
            return Err(io::Error::other(format!(
                "it is longer than {most} GiB: import it in parts"
            )));
        }
        let length = self.left.min(bytes.len() as u64) as usize;
        Ok(&bytes[..length])
    }

    fn consume(&mut self, count: usize) {
        self.source.consume(count);
        self.left = self.left.saturating_sub(count as u64);
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// UTF-16 as UTF-8: what PowerShell's `>` writes.
fn utf16(mut source: impl Read, unit: fn([u8; 2]) -> u16) -> impl Read {
    // The first half of a pair.
    let mut half: Option<u16> = None;
    Pieces::new(move || {
        let mut bytes = Vec::new();
        (&mut source).take(8_192).read_to_end(&mut bytes)?;
        let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let mut units: Vec<u16> = half.take().into_iter().chain(units).collect();
        let more = bytes.len() == 8_192;
        half = units.pop_if(|last| more && (0xd800..0xdc00).contains(last));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let text: String = text.filter(|&c| c != '\u{feff}').collect();
        Ok(text.into_bytes())
    })
}

/// What `next` makes, piece by piece; an empty piece is the end.
struct Pieces<F> {
    next: F,
    piece: Cursor<Vec<u8>>,
}

impl<F: FnMut() -> io::Result<Vec<u8>>> Pieces<F> {
    fn new(next: F) -> Self {
        Self {
            next,
            piece: Cursor::default(),
        }
    }
}

impl<F: FnMut() -> io::Result<Vec<u8>>> Read for Pieces<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.fill_buf()?.is_empty() {
            self.piece = Cursor::new((self.next)()?);
        }
        self.piece.read(buffer)
    }
}

/// How a file's lines ended.
enum End {
    NotYet,
    Whole,
    /// In the middle of a line, and why, if reading failed.
    Cut(Option<String>),
}

/// The lines of a file.
pub struct Lines<'a> {
    source: Chain<Cursor<Vec<u8>>, Source<'a>>,
    line: Vec<u8>,
    /// The line, where it was not UTF-8.
    text: String,
    number: usize,
    end: End,
}

impl Lines<'_> {
    /// The next whole line with its number; what is not UTF-8 in it is replaced. A last line that no
    /// line break ends may be cut short anywhere, and what is cut short can look whole (22.9 ms as
    /// 22): it is left out.
    pub fn next(&mut self) -> Option<(usize, &str)> {
        self.line.clear();
        let read = (&mut self.source)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line);
        self.number += 1;
        let Some(line) = self.line.strip_suffix(b"\n") else {
            self.end = match read {
                Err(error) => End::Cut(Some(error.to_string())),
                Ok(0) => End::Whole,
                Ok(read) if read as u64 == LONGEST_LINE => {
                    let most = LONGEST_LINE >> 20;
                    End::Cut(Some(format!("the line is longer than {most} MiB")))
                }
                Ok(_) => End::Cut(None),
            };
            return None;
        };
        let end = line.iter().rposition(|&byte| byte != b'\r');
        let line = &line[..end.map_or(0, |end| end + 1)];
        match std::str::from_utf8(line) {
            Ok(line) => Some((self.number, line)),
            Err(_) => {
                self.text = String::from_utf8_lossy(line).into_owned();
                Some((self.number, &self.text))
            }
        }
    }

    /// Says so if the last line was left out.
    pub fn warn_if_cut(&self, imported: &mut Imported) {
        let line = self.number;
        match &self.end {
            End::Cut(None) => imported.warn(format!(
                "the file ends in the middle of line {line}, which was left out"
            )),
            End::Cut(Some(reason)) => imported.warn(format!(
                "the file cannot be read beyond line {line}: {reason}"
            )),
            End::Whole | End::NotYet => {}
        }
    }
}
