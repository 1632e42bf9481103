//! Replies by HTTP/2. Whole, in pieces or read as the session wants, they are the same reply, and what is kept is bounded.

use delaylab_wire::http::Whole;
use delaylab_wire::http2::frame::{self, flag, kind};
use delaylab_wire::http2::session::{MOST_UNSENT, Session};
use delaylab_wire::http2::{Http2Error, head};

/// Type, flags, stream and payload.
type Frame<'a> = (u8, u8, u32, &'a [u8]);

/// Checks one input: its first byte says how long pieces are.
pub fn check(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    let whole = read(bytes, |_| bytes.len().max(1));
    assert_eq!(whole, read(bytes, |_| usize::from(first).max(1)));
    assert_eq!(whole, read(bytes, Session::wants));
    let _ = head::status(bytes);
}

/// Status and bytes. Whether the connection can be used again shows only once what stands behind has come.
fn read(
    mut bytes: &[u8],
    piece: impl Fn(&Session) -> usize,
) -> Result<Option<(u16, u64)>, Http2Error> {
    let mut session = Session::new(head::request("GET", true, "/", "a", &[]));
    session.ask();
    let most = bytes.len() as u64;
    let mut whole = None;
    while !bytes.is_empty() {
        let wanted = piece(&session);
        assert!(wanted > 0, "reading goes on");
        let (piece, rest) = bytes.split_at(bytes.len().min(wanted));
        let said = session.take(piece, Some(1))?;
        whole = said
            .map(|whole: Whole| (whole.status, whole.bytes))
            .or(whole);
        bytes = rest;
    }
    assert_eq!(session.first().is_some(), session.has_begun());
    assert!(whole.is_none_or(|(status, bytes)| bytes <= most && status >= 200));
    assert!(session.unsent().len() <= MOST_UNSENT + 64);
    Ok(whole)
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let settings = (kind::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 128][..]);
    let head = (kind::HEADERS, flag::END_HEADERS, 1, &b"\x88"[..]);
    let last = (kind::DATA, flag::END_STREAM, 1, &b"ok"[..]);
    let replies: [&[Frame<'_>]; 5] = [
        &[settings, (kind::SETTINGS, flag::ACK, 0, b""), head, last],
        &[
            settings,
            (
                kind::HEADERS,
                flag::END_STREAM | flag::END_HEADERS,
                1,
                b"\x20\x48\x82\x64\x02",
            ),
        ],
        &[
            settings,
            (
                kind::HEADERS,
                flag::PADDED | flag::PRIORITY,
                1,
                b"\x01\0\0\0\0\x10\x08\x03\0",
            ),
            (kind::CONTINUATION, flag::END_HEADERS, 1, b"404"),
            (kind::DATA, flag::PADDED, 1, b"\x02abc\0\0"),
            (
                kind::HEADERS,
                flag::END_STREAM | flag::END_HEADERS,
                1,
                b"\0\x01t\x01u",
            ),
        ],
        &[
            settings,
            (kind::PING, 0, 0, b"12345678"),
            (kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\0"),
            head,
            last,
        ],
        &[settings, (kind::RST_STREAM, 0, 1, &[0, 0, 0, 7])],
    ];
    let mut seeds = Vec::new();
    for reply in replies {
        let mut seed = vec![7];
        for &(kind, flags, stream, payload) in reply {
            frame::write(&mut seed, kind, flags, stream, payload);
        }
        seeds.push(seed);
    }
    seeds
}
