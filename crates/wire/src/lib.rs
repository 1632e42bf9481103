//! Formats of our own on the wire, sans-IO: bytes to values and back.
//!
//! | module | holds |
//! |---|---|
//! | [`echo`] | udp echo: requests, plain and stamped replies |
//! | [`control`] | how a udp or tcp session is set up, asked for its last stamps and ended |
//! | [`load`] | a load's datagrams |
//! | [`iperf3`] | what `iperf3 -s` and its client say to each other |
//! | [`tcp`] | request and response on one TCP connection, and the decoder of its byte stream |
//! | [`stamp`] | STAMP base packets (RFC 8762), the SSID of RFC 8972, TWAMP-Light (RFC 5357) |
//! | [`stamp_tlv`] | STAMP's optional extensions (RFC 8972) |
//! | [`ntp`] | timestamps of STAMP: NTP and PTPv2, and the Error Estimate |
//! | [`ip`] | IPv4 and IPv6 headers, and the Internet checksum |
//! | [`path_probe`] | packets of a path trace, and what answers them |
//! | [`icmp_error`] | ICMP errors and the packets that they quote |
//! | [`icmp_extension`], [`mpls`] | what stands behind the quote (RFC 4884): label stacks (RFC 4950) |
//! | [`test_frame`] | signed frames of a tester |
//! | [`http`] | HTTP/1.1: a request, and where its reply ends |
//! | [`http2`] | HTTP/2: frames, heads, and one connection of them |
//! | [`dns`] | a question to a name server, and what counts of its answer |
//! | [`auth`] | keys and tags: HMAC-SHA-256 truncated to 128 bits |
//!
//! A format is a value with `emit`, which writes it to a buffer, and `parse`, which reads it from
//! one. All fields of more than one byte are big-endian. **No `parse` panics**, whatever the bytes;
//! `emit` fails where the buffer is too short. Nothing here reads a clock or opens a socket.
//!
//! ```
//! use delaylab_wire::echo::Header;
//!
//! let request = Header { token: 0x5eed, seq: 7 };
//! let mut packet = [0; 64];
//! request.emit(&mut packet)?;
//! assert_eq!(Header::parse(&packet)?, request);
//! assert!(Header::parse(&packet[..7]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod auth;
pub mod control;
pub mod dns;
pub mod echo;
mod field;
pub mod http;
pub mod http2;
pub mod icmp_error;
pub mod icmp_extension;
pub mod ip;
pub mod iperf3;
pub mod load;
pub mod mpls;
pub mod ntp;
pub mod path_probe;
pub mod stamp;
pub mod stamp_tlv;
pub mod tcp;
pub mod test_frame;

pub use field::{EmitError, ParseError};
