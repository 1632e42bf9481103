//! A server of HTTP/2 that does as the path of a request says, as far as the tests need one. See `web_server`.
//!
//! | path | what it does |
//! |---|---|
//! | `/think/20` | waits 20 ms, then replies |
//! | `/body/20` | sends the head, waits 20 ms, sends the body |
//! | `/hints/20` | sends an interim reply, waits 20 ms, replies |
//! | `/page/5000` | a body of 5000 bytes |
//! | `/ping` | asks whether the client is there, and replies once it has said so |
//! | `/away` | replies, and says that it goes away |
//! | `/refuse`, `/push`, `/garbage` | resets the request, pushes another, sends what is no frame |
//! | `/head` | a head that does not end |
//! | `/unknown` | frames of an unknown type, without end |
//! | `/close` | ends the connection without a reply |
//! | `/silent` | nothing |

use crate::harness::web_server::Truth;
use delaylab_kernel::clock;
use delaylab_wire::http2::frame::{self, HEADER, Header, flag, kind};
use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::time::Duration;

/// What a client says first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:status: 200`.
const OK: &[u8] = b"\x88";

/// Answers all that comes on a connection, of which this has come.
pub fn answer_all(
    stream: &mut (impl Read + Write),
    came: &[u8],
    told: &Mutex<Vec<Truth>>,
) -> io::Result<()> {
    let mut connection = Connection {
        stream,
        came: came[PREFACE.len()..].to_vec(),
        told,
    };
    connection.send(&[(kind::SETTINGS, 0, 0, b"")])?;
    loop {
        let (header, payload) = connection.frame()?;
        match header.kind {
            kind::SETTINGS if !header.has(flag::ACK) => {
                connection.send(&[(kind::SETTINGS, flag::ACK, 0, b"")])?;
            }
            kind::HEADERS => connection.answer(header.stream, &path(&payload))?,
            _ => {}
        }
    }
}

/// The path in a head as delaylab writes it: in one byte, or as a literal behind the verb and the scheme.
fn path(head: &[u8]) -> String {
    let behind_verb = if head[0] == 0x82 { 1 } else { 6 };
    match head[behind_verb + 1..] {
        [0x04, length, ref rest @ ..] => String::from_utf8_lossy(&rest[..length.into()]).into(),
        _ => "/".to_owned(),
    }
}

struct Connection<'a, S> {
    stream: &'a mut S,
    came: Vec<u8>,
    told: &'a Mutex<Vec<Truth>>,
}

impl<S: Read + Write> Connection<'_, S> {
    fn frame(&mut self) -> io::Result<(Header, Vec<u8>)> {
        loop {
            if let Some(header) = self.came.first_chunk().copied().map(Header::read) {
                let end = HEADER + header.length;
                if self.came.len() >= end {
                    let payload = self.came[HEADER..end].to_vec();
                    self.came.drain(..end);
                    return Ok((header, payload));
                }
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => self.came.extend_from_slice(&buffer[..length]),
            }
        }
    }

    /// Frames, in one write.
    fn send(&mut self, each: &[(u8, u8, u32, &[u8])]) -> io::Result<()> {
        let mut out = Vec::new();
        for &(kind, flags, stream, payload) in each {
            frame::write(&mut out, kind, flags, stream, payload);
        }
        self.stream.write_all(&out)?;
        self.stream.flush()
    }

    /// Asks for an answer, and waits for it.
    fn ping(&mut self) -> io::Result<()> {
        self.send(&[(kind::PING, 0, 0, b"are you?")])?;
        while !matches!(self.frame()?, (header, _) if header.kind == kind::PING && header.has(flag::ACK))
        {
        }
        Ok(())
    }

    fn answer(&mut self, stream: u32, path: &str) -> io::Result<()> {
        let (what, number) = path[1..].split_once('/').unwrap_or((&path[1..], "0"));
        let number: usize = number.parse().unwrap_or(0);
        let begun = clock::monotonic();
        let wait = || std::thread::sleep(Duration::from_millis(number as u64));
        let tell = |took: Truth| {
            let _ = self.told.lock().map(|mut told| told.push(took));
        };
        match what {
            "think" => wait(),
            "hints" => {
                self.send(&[(kind::HEADERS, flag::END_HEADERS, stream, b"\x08\x03103")])?;
                wait();
            }
            _ => {}
        }
        if what != "body" {
            tell(clock::monotonic() - begun);
        }
        let head = (kind::HEADERS, flag::END_HEADERS, stream, OK);
        let last = (kind::DATA, flag::END_STREAM, stream, &b"ok"[..]);
        match what {
            "body" => {
                self.send(&[head])?;
                let begun = clock::monotonic();
                wait();
                let took = clock::monotonic() - begun;
                let _ = self.told.lock().map(|mut told| told.push(took));
                self.send(&[last])
            }
            "page" => {
                self.send(&[head])?;
                let body = vec![b'x'; number];
                for piece in body.chunks(frame::MOST_PAYLOAD) {
                    self.send(&[(kind::DATA, 0, stream, piece)])?;
                }
                self.send(&[last])
            }
            "ping" => {
                self.ping()?;
                self.send(&[head, last])
            }
            "away" => self.send(&[
                head,
                last,
                (kind::GOAWAY, 0, 0, &[0x7f, 255, 255, 255, 0, 0, 0, 0]),
            ]),
            "unknown" => loop {
                self.send(&[(0xbe, 0, 0, &b""[..]); 1_000])?;
            },
            "refuse" => self.send(&[(kind::RST_STREAM, 0, stream, &[0, 0, 0, 7])]),
            "push" => self.send(&[(
                kind::PUSH_PROMISE,
                flag::END_HEADERS,
                stream,
                b"\0\0\0\x02\x82",
            )]),
            "garbage" => self.stream.write_all(&[0xff; 100]),
            "head" => {
                self.send(&[(kind::HEADERS, 0, stream, OK)])?;
                loop {
                    self.send(&[(kind::CONTINUATION, 0, stream, b"\x00\x01a\x01b")])?;
                }
            }
            "close" => {
                // What comes to a closed socket resets the connection: the client says all before.
                self.ping()?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            "silent" => Ok(()),
            _ => self.send(&[head, last]),
        }
    }
}
