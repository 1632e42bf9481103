//! What a client says to `iperf3 -s`, as iperf3 3.1 and later speak.
//!
//! A control connection begins with the client's cookie. From then on the server leads, with a byte that
//! names the state: it asks for parameters (JSON behind its length, u32), for the streams (each tcp stream
//! is a connection that begins with the cookie; each udp stream a datagram that is answered), and says
//! when to run. The client ends the test; both tell what they counted, as JSON.

use crate::field::{get_u32, put, room};
use crate::{EmitError, ParseError};
use serde_json::{Map, Value, json};

/// Where `iperf3 -s` listens unless told otherwise.
pub const PORT: u16 = 5201;
/// Bytes of a cookie: 36 characters and a zero.
pub const COOKIE: usize = 37;
/// Bytes of a datagram's header.
pub const HEADER: usize = 16;
/// The longest JSON that is read.
pub const LONGEST: usize = 256 << 10;
/// The first datagram of a udp stream; the server answers it.
pub const UDP_HELLO: [u8; 4] = *b"9876";

/// What the one who sends it wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The streams are there.
    TestStart,
    /// Send now.
    TestRunning,
    /// Client: no more.
    TestEnd,
    /// Tell the parameters.
    ParamExchange,
    /// Open the streams.
    CreateStreams,
    /// The server ends it.
    ServerTerminate,
    /// Tell what was counted.
    ExchangeResults,
    /// All is told.
    DisplayResults,
    /// Client: all is well.
    Done,
    /// It has a test already.
    AccessDenied,
    /// Something went wrong; two numbers follow.
    ServerError,
    /// Anything else.
    Other(u8),
}

impl State {
    /// As a byte.
    pub const fn byte(self) -> u8 {
        match self {
            State::TestStart => 1,
            State::TestRunning => 2,
            State::TestEnd => 4,
            State::ParamExchange => 9,
            State::CreateStreams => 10,
            State::ServerTerminate => 11,
            State::ExchangeResults => 13,
            State::DisplayResults => 14,
            State::Done => 16,
            State::AccessDenied => 0xff,
            State::ServerError => 0xfe,
            State::Other(byte) => byte,
        }
    }

    /// From a byte.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            1 => State::TestStart,
            2 => State::TestRunning,
            4 => State::TestEnd,
            9 => State::ParamExchange,
            10 => State::CreateStreams,
            11 => State::ServerTerminate,
            13 => State::ExchangeResults,
            14 => State::DisplayResults,
            16 => State::Done,
            0xff => State::AccessDenied,
            0xfe => State::ServerError,
            other => State::Other(other),
        }
    }
}

/// A cookie from random bytes.
pub fn cookie(random: &[u8; 32]) -> [u8; COOKIE] {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut cookie = [b'a'; COOKIE];
    for (letter, byte) in cookie.iter_mut().zip(random) {
        *letter = LETTERS[usize::from(byte % 32)];
    }
    cookie[COOKIE - 1] = 0;
    cookie
}

/// What the client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// tcp, else udp.
    pub tcp: bool,
    /// Seconds after which the server gives up by itself.
    pub time_s: u32,
    /// Streams.
    pub parallel: u32,
    /// Bytes of a packet, or of a write.
    pub len: u32,
    /// udp: bits a second of each.
    pub bandwidth: u64,
    /// Socket buffers; 0 is the system's own.
    pub window: u32,
    /// TOS byte.
    pub tos: u8,
    /// tcp: congestion control.
    pub congestion: Option<String>,
}

impl Parameters {
    /// As JSON behind its length.
    pub fn frame(&self) -> Vec<u8> {
        let mut value = json!({
            "omit": 0, "time": self.time_s, "num": 0, "blockcount": 0, "parallel": self.parallel,
            "len": self.len, "pacing_timer": 1000, "client_version": "3.12", "TOS": self.tos,
        });
        value[if self.tcp { "tcp" } else { "udp" }] = true.into();
        if self.window > 0 {
            value["window"] = self.window.into();
        }
        if let Some(name) = &self.congestion {
            value["congestion"] = name.as_str().into();
        }
        if !self.tcp {
            value["bandwidth"] = self.bandwidth.into();
            value["udp_counters_64bit"] = 1.into();
        }
        framed(&value)
    }
}

/// What one end counted of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamResult {
    /// Which stream; see [`stream_id`].
    pub id: u32,
    /// Bytes of payload.
    pub bytes: u64,
    /// tcp, of the sender: segments that were sent again.
    pub retransmits: u64,
    /// udp: the highest number that came.
    pub packets: u64,
    /// udp, of the receiver: numbers that did not.
    pub errors: u64,
}

/// What one end counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Results {
    /// Of each stream.
    pub streams: Vec<StreamResult>,
}

/// iperf3 calls its streams 1, 3, 4, 5 …
pub const fn stream_id(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}

impl Results {
    /// As JSON behind its length, of a test that took so many seconds.
    pub fn frame(&self, seconds: f64) -> Vec<u8> {
        let stream = |stream: &StreamResult| {
            json!({
                "id": stream.id, "bytes": stream.bytes, "retransmits": stream.retransmits, "jitter": 0,
                "errors": stream.errors, "packets": stream.packets, "start_time": 0, "end_time": seconds,
            })
        };
        let streams: Vec<Value> = self.streams.iter().map(stream).collect();
        framed(&json!({
            "cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0,
            "sender_has_retransmits": 1, "streams": streams,
        }))
    }

    /// Reads JSON (without its length).
    pub fn parse(json: &[u8]) -> Result<Self, ParseError> {
        let value: Value = serde_json::from_slice(json).map_err(|_| ParseError::NotOurs)?;
        let streams = value.get("streams").and_then(Value::as_array);
        let streams = streams.ok_or(ParseError::Value("streams"))?;
        let stream = |value: &Value| {
            let fields = value.as_object().ok_or(ParseError::Value("streams"))?;
            Ok(StreamResult {
                id: u32::try_from(number(fields, "id")?).map_err(|_| ParseError::Value("id"))?,
                bytes: number(fields, "bytes")?,
                // -1 where nobody knows.
                retransmits: number(fields, "retransmits").unwrap_or(0),
                packets: number(fields, "packets")?,
                errors: number(fields, "errors").unwrap_or(0),
            })
        };
        Ok(Self {
            streams: streams.iter().map(stream).collect::<Result<_, _>>()?,
        })
    }
}

fn number(fields: &Map<String, Value>, name: &'static str) -> Result<u64, ParseError> {
    let value = fields.get(name).and_then(Value::as_u64);
    value.ok_or(ParseError::Value(name))
}

fn framed(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let length = (text.len() as u32).to_be_bytes();
    [length.as_slice(), text.as_bytes()].concat()
}

/// The length that comes before JSON.
pub fn length(bytes: &[u8]) -> Result<usize, ParseError> {
    let length = get_u32(bytes, 0)? as usize;
    if length > LONGEST {
        return Err(ParseError::Value("length"));
    }
    Ok(length)
}

/// How a datagram begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// When it was sent, in microseconds since the UNIX epoch.
    pub micros: u64,
    /// Which packet of the stream, from 1.
    pub seq: u64,
}

impl Header {
    /// Writes the first 16 bytes: `0 seconds u32  4 microseconds u32  8 seq u64`.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<(), EmitError> {
        room(buffer, HEADER)?;
        put(buffer, 0, ((self.micros / 1_000_000) as u32).to_be_bytes());
        put(buffer, 4, ((self.micros % 1_000_000) as u32).to_be_bytes());
        put(buffer, 8, self.seq.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn states_are_bytes() {
        for byte in 0..=u8::MAX {
            assert_eq!(State::from_byte(byte).byte(), byte);
        }
    }

    #[test]
    fn streams_have_the_numbers_that_iperf3_gives_them() {
        assert_eq!([0, 1, 2, 3].map(stream_id), [1, 3, 4, 5]);
    }

    #[test]
    fn what_a_server_says_is_read() {
        // Of iperf3 3.12 -s, shortened.
        let text = br#"{"cpu_util_total":1.2,"sender_has_retransmits":-1,
            "streams":[{"id":1,"bytes":1250000,"retransmits":-1,"jitter":0.00001,"errors":3,
            "omitted_errors":0,"packets":893,"omitted_packets":0,"start_time":0,"end_time":1.0}]}"#;
        let stream = StreamResult {
            id: 1,
            bytes: 1_250_000,
            retransmits: 0,
            packets: 893,
            errors: 3,
        };
        let results = Results::parse(text).unwrap();
        assert_eq!(results.streams, [stream]);
        assert!(Results::parse(br#"{"streams":[{"id":-1}]}"#).is_err());
        assert!(Results::parse(b"{}").is_err());
    }

    #[test]
    fn a_cookie_is_text_and_a_zero() {
        let cookie = cookie(&[200; 32]);
        assert_eq!(cookie[COOKIE - 1], 0);
        assert!(cookie[..COOKIE - 1].iter().all(u8::is_ascii_alphanumeric));
    }

    #[test]
    fn parameters_name_their_transport() {
        let mut parameters = Parameters {
            tcp: true,
            time_s: 9,
            parallel: 2,
            len: 1400,
            bandwidth: 5,
            window: 0,
            tos: 184,
            congestion: Some("cubic".to_owned()),
        };
        let read = |frame: Vec<u8>| -> Value {
            assert_eq!(length(&frame).unwrap(), frame.len() - 4);
            serde_json::from_slice(&frame[4..]).unwrap()
        };
        let tcp = read(parameters.frame());
        assert_eq!(
            (&tcp["tcp"], &tcp["congestion"]),
            (&json!(true), &json!("cubic"))
        );
        assert!(tcp.get("udp").is_none() && tcp.get("bandwidth").is_none());
        parameters.tcp = false;
        let udp = read(parameters.frame());
        assert_eq!((&udp["udp"], &udp["bandwidth"]), (&json!(true), &json!(5)));
    }

    proptest! {
        #[test]
        fn results_come_back(bytes: u64, packets: u64, errors: u64, retransmits: u64, count in 0_u32..5) {
            let stream = |index| StreamResult { id: stream_id(index), bytes, retransmits, packets, errors };
            let results = Results { streams: (0..count).map(stream).collect() };
            let frame = results.frame(1.5);
            prop_assert_eq!(length(&frame).unwrap(), frame.len() - 4);
            prop_assert_eq!(Results::parse(&frame[4..]), Ok(results));
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Results::parse(&bytes);
            let _ = length(&bytes);
        }
    }
}
