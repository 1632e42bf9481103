#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

const OK: &[u8] = b"\x88";

/// Type, flags, stream and payload.
type Frame<'a> = (u8, u8, u32, &'a [u8]);

fn frames(each: &[Frame<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for &(kind, flags, stream, payload) in each {
        frame::write(&mut out, kind, flags, stream, payload);
    }
    out
}

const SETTINGS: Frame<'static> = (kind::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 128]);
const HEAD: Frame<'static> = (kind::HEADERS, flag::END_HEADERS, 1, OK);
const LAST: Frame<'static> = (kind::DATA, flag::END_STREAM, 1, b"ok");

fn asked() -> Session {
    let mut session = Session::new(head::request("GET", true, "/", "a", &[]));
    session.ask();
    session
}

/// What comes of these frames behind SETTINGS, in pieces of this length; the stamp of a piece is its offset.
fn read(session: &mut Session, bytes: &[u8], piece: usize) -> Result<Option<Whole>, Http2Error> {
    let mut whole = None;
    for (at, piece_bytes) in bytes.chunks(piece.max(1)).enumerate() {
        let at = Some((at * piece.max(1)) as Nanos);
        whole = session.take(piece_bytes, at)?.or(whole);
    }
    Ok(whole)
}

fn error(each: &[Frame<'_>]) -> Http2Error {
    let bytes = frames(&[&[SETTINGS], each].concat());
    let errors = [1, 7, 1000].map(|piece| read(&mut asked(), &bytes, piece).unwrap_err());
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    errors[0]
}

#[test]
fn a_request_is_the_preface_settings_and_one_head() {
    let mut session = Session::new(head::request("GET", false, "/", "a", &[]));
    let first = session.ask();
    let rest = first.strip_prefix(PREFACE).unwrap();
    let header = Header::read(*rest.first_chunk().unwrap());
    assert_eq!(
        (header.kind, header.stream, header.length),
        (kind::SETTINGS, 0, 18)
    );
    let second = session.ask();
    let header = Header::read(*second.first_chunk().unwrap());
    assert_eq!(
        (header.kind, header.flags, header.stream),
        (kind::HEADERS, 5, 3)
    );
    assert_eq!(header.length + HEADER, second.len());
}

/// By TLS a server may speak first.
#[test]
fn what_came_before_the_preface_is_answered_behind_it() {
    let mut session = Session::new(head::request("GET", true, "/", "a", &[]));
    assert_eq!(session.take(&frames(&[SETTINGS]), None), Ok(None));
    assert_eq!(session.unsent(), b"");
    let asked = session.ask();
    let behind = asked.strip_prefix(PREFACE).unwrap();
    let ack = frames(&[(kind::SETTINGS, flag::ACK, 0, b"")]);
    assert!(behind.windows(ack.len()).any(|each| each == ack));
    assert_eq!(session.unsent(), b"");
}

#[test]
fn a_long_head_goes_on_in_continuations() {
    let path = format!("/{}", "x".repeat(40_000));
    let mut session = Session::new(head::request("GET", false, &path, "a", &[]));
    session.ask();
    let bytes = session.ask();
    let mut left = &bytes[..];
    let mut seen = Vec::new();
    while let Some(header) = left.first_chunk().copied().map(Header::read) {
        seen.push((header.kind, header.flags, header.stream));
        left = &left[HEADER + header.length..];
    }
    assert_eq!(seen, [(1, 1, 3), (9, 0, 3), (9, 4, 3)]);
}

#[test]
fn the_first_byte_of_a_reply_is_that_of_its_head() {
    let before = frames(&[
        SETTINGS,
        (kind::SETTINGS, flag::ACK, 0, b""),
        (kind::PING, 0, 0, b"12345678"),
    ]);
    let reply = frames(&[HEAD, (kind::DATA, flag::PADDED, 1, b"\x02abc\0\0"), LAST]);
    let all = [&before[..], &reply].concat();
    for piece in [1, 2, 9, 13] {
        let mut session = asked();
        let whole = read(&mut session, &all, piece).unwrap().unwrap();
        let expected = Whole {
            status: 200,
            bytes: reply.len() as u64,
            reusable: true,
            says: None,
        };
        assert_eq!(whole, expected);
        let first = session.first().unwrap() as usize;
        assert_eq!(first, before.len() / piece * piece, "by {piece}");
        let told = frames(&[
            (kind::SETTINGS, flag::ACK, 0, b""),
            (kind::PING, flag::ACK, 0, b"12345678"),
        ]);
        assert_eq!(session.unsent(), told);
    }
}

/// Read as it wants, no piece has bytes of two frames.
#[test]
fn what_is_wanted_ends_where_a_frame_does() {
    let bytes = frames(&[SETTINGS, HEAD, LAST]);
    let mut session = asked();
    let mut left = &bytes[..];
    let mut pieces = Vec::new();
    while !left.is_empty() {
        let (piece, rest) = left.split_at(session.wants());
        pieces.push(piece.len());
        session.take(piece, None).unwrap();
        left = rest;
    }
    assert_eq!(pieces, [1, 8, 6, 1, 8, 1, 1, 8, 2]);
}

#[test]
fn heads_come_in_pieces_interim_and_with_trailers() {
    let reply = frames(&[
        SETTINGS,
        (kind::HEADERS, flag::END_HEADERS, 1, b"\x08\x03103"),
        (kind::HEADERS, flag::PRIORITY, 1, b"\0\0\0\0\x10\x48\x03"),
        (kind::CONTINUATION, 0, 1, b"40"),
        (kind::CONTINUATION, flag::END_HEADERS, 1, b"4"),
        (0xfa, 0xff, 9, b"nobody knows this"),
        (kind::DATA, 0, 1, b"x"),
        (
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            1,
            b"\x00\x01t\x01u",
        ),
        (kind::RST_STREAM, 0, 1, &[0; 4]),
    ]);
    let whole = read(&mut asked(), &reply, 1000).unwrap().unwrap();
    assert_eq!((whole.status, whole.reusable), (404, true));
}

#[test]
fn a_server_that_goes_away_answers_what_it_has_looked_at() {
    let reply = frames(&[
        SETTINGS,
        (kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\0bye"),
        HEAD,
        LAST,
    ]);
    let mut session = asked();
    assert!(!read(&mut session, &reply, 5).unwrap().unwrap().reusable);
    assert!(!session.is_open());
    let behind = frames(&[
        SETTINGS,
        HEAD,
        LAST,
        (kind::GOAWAY, 0, 0, b"\0\0\0\x01\0\0\0\0"),
    ]);
    assert!(!read(&mut asked(), &behind, 1000).unwrap().unwrap().reusable);
    let refused = error(&[(kind::GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\x0b")]);
    assert_eq!(refused, Http2Error::GoAway(Code(11)));
    assert!(refused.to_string().contains("ENHANCE_YOUR_CALM"));
}

#[test]
fn what_breaks_a_rule_is_no_reply() {
    let reset = error(&[(kind::RST_STREAM, 0, 1, &[0, 0, 0, 7])]);
    assert_eq!(reset, Http2Error::Reset(Code(7)));
    assert!(reset.is_refusal() && reset.to_string().contains("REFUSED_STREAM"));
    for wrong in [
        &[(
            kind::PUSH_PROMISE,
            flag::END_HEADERS,
            1,
            &b"\0\0\0\x02\x82"[..],
        )][..],
        &[(kind::HEADERS, 0, 1, OK), (kind::PING, 0, 0, b"12345678")],
        &[(kind::CONTINUATION, flag::END_HEADERS, 1, OK)],
        &[(kind::DATA, 0, 1, b"x")],
        &[(kind::DATA, 0, 0, b"x")],
        &[(kind::HEADERS, flag::END_HEADERS, 2, OK)],
        &[(kind::HEADERS, flag::END_HEADERS, 3, OK)],
        &[(kind::HEADERS, flag::END_HEADERS, 1, b"\x00\x01a\x01b")],
        &[(
            kind::HEADERS,
            flag::END_HEADERS | flag::END_STREAM,
            1,
            b"\x08\x03100",
        )],
        &[HEAD, HEAD],
        &[HEAD, (kind::DATA, flag::PADDED, 1, b"\x09x")],
        &[(kind::PING, 0, 0, b"123")],
        &[(kind::SETTINGS, 0, 0, b"123")],
        &[(kind::SETTINGS, flag::ACK, 0, b"123456")],
        &[(kind::GOAWAY, 0, 0, b"123")],
        &[(kind::WINDOW_UPDATE, 0, 0, b"123")],
        &[(kind::RST_STREAM, 0, 1, b"123")],
    ] {
        assert!(
            matches!(error(wrong), Http2Error::Protocol(_)),
            "{wrong:?}: {:?}",
            error(wrong)
        );
    }
    assert_eq!(
        error(&[(kind::HEADERS, flag::END_HEADERS, 1, b"\xff\xff")]),
        Http2Error::Head
    );
    for (bytes, error) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], Http2Error::Http1),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Http2Error::NotHttp2),
        (&frames(&[HEAD]), Http2Error::NotHttp2),
    ] {
        for piece in [1, 4, 1000] {
            assert_eq!(read(&mut asked(), bytes, piece), Err(error));
        }
    }
    let long = [&frames(&[SETTINGS])[..], b"\xff\xff\xff\0\0\0\0\0\x01"].concat();
    assert!(read(&mut asked(), &long, 1000).is_err());
}

#[test]
fn nothing_grows_without_end() {
    let mut session = asked();
    session.take(&frames(&[SETTINGS]), None).unwrap();
    session
        .take(&frames(&[(kind::HEADERS, 0, 1, OK)]), None)
        .unwrap();
    let more = frames(&[(kind::CONTINUATION, 0, 1, b"")]);
    let ended = (0..1 << 20).find_map(|_| session.take(&more, None).err());
    assert_eq!(ended, Some(Http2Error::HeadTooLong));
    let mut session = asked();
    session.take(&frames(&[SETTINGS]), None).unwrap();
    let ping = frames(&[(kind::PING, 0, 0, b"12345678")]);
    let ended = (0..1 << 20).find_map(|_| session.take(&ping, None).err());
    assert_eq!(ended, Some(Http2Error::Flood));
    assert!(session.unsent.len() <= MOST_UNSENT + 100);
    let mut session = asked();
    session.take(&frames(&[SETTINGS, HEAD]), None).unwrap();
    let body = vec![0; MOST_PAYLOAD];
    let data = frames(&[(kind::DATA, 0, 1, &body)]);
    let ended = (0..1 << 17).find_map(|_| {
        session.unsent();
        session.take(&data, None).err()
    });
    assert_eq!(ended, Some(Http2Error::TooLong));
}

/// Frames that take the reply no further end the connection, also where the peer reads what it is told.
#[test]
fn frames_that_are_not_of_the_reply_do_not_come_without_end() {
    for (begun, frame) in [
        (false, (0xbe, 0, 0, &b""[..])),
        (false, (kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        (false, (kind::PING, flag::ACK, 0, b"12345678")),
        (false, (kind::PING, 0, 0, b"12345678")),
        (false, (kind::PRIORITY, 0, 1, b"12345")),
        (false, (kind::HEADERS, flag::END_HEADERS, 1, b"\x08\x03102")),
        (true, (kind::DATA, 0, 1, b"")),
        (true, (0xbe, 0, 1, b"")),
    ] {
        let mut session = asked();
        let head = if begun {
            &[SETTINGS, HEAD][..]
        } else {
            &[SETTINGS]
        };
        session.take(&frames(head), None).unwrap();
        let more = frames(&[frame]);
        let ended = (0..1 << 20).find_map(|_| {
            session.unsent();
            session.take(&more, None).err()
        });
        assert_eq!(ended, Some(Http2Error::Beside), "{frame:?}");
    }
}

/// The server works on after an interim reply: that is its time, not the transfer's.
#[test]
fn a_reply_begins_behind_interim_ones() {
    let mut session = asked();
    let hints = (kind::HEADERS, flag::END_HEADERS, 1, &b"\x08\x03103"[..]);
    session.take(&frames(&[SETTINGS, hints]), Some(1)).unwrap();
    assert_eq!((session.has_begun(), session.first()), (false, None));
    assert_eq!(session.wants(), 1);
    let whole = session.take(&frames(&[HEAD, LAST]), Some(2)).unwrap();
    assert_eq!((whole.unwrap().status, session.first()), (200, Some(2)));
}

/// A server's window never closes: what it sent is given back.
#[test]
fn room_is_given_back() {
    let mut session = asked();
    session.take(&frames(&[SETTINGS, HEAD]), None).unwrap();
    session.unsent();
    let body = vec![0; MOST_PAYLOAD];
    let data = frames(&[(kind::DATA, 0, 1, &body)]);
    let mut given = 0;
    for _ in 0..(3 * REPLENISH as usize / MOST_PAYLOAD) {
        session.take(&data, None).unwrap();
        if let Some(more) = session.unsent().get(HEADER..) {
            given += word(more, 0).unwrap_or(0);
        }
    }
    assert_eq!(given, 3 * REPLENISH);
}

/// Frames of any kind with contents that are nearly right.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        Just(OK.to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
        Just(vec![0; 4]),
        Just(vec![0; 8]),
    ];
    (0_u8..12, any::<u8>(), 0_u32..5, payload)
        .prop_map(|(kind, flags, stream, payload)| frames(&[(kind, flags, stream, &payload)]))
}

proptest! {
    #[test]
    fn no_frames_panic_and_pieces_make_no_difference(
        each in proptest::collection::vec(any_frame(), 0..12), agreed: bool, piece in 1_usize..30,
    ) {
        let settings = if agreed { frames(&[SETTINGS]) } else { Vec::new() };
        let bytes = [settings, each.concat()].concat();
        let (mut one, mut many) = (asked(), asked());
        let whole = one.take(&bytes, None);
        let pieces = read(&mut many, &bytes, piece);
        // What stands behind the reply shows only where it comes with it.
        let known = |read: Result<Option<Whole>, Http2Error>| {
            read.map(|whole| whole.map(|whole| (whole.status, whole.bytes)))
        };
        prop_assert_eq!(known(whole), known(pieces));
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1_usize..30) {
        let _ = read(&mut asked(), &bytes, piece);
    }
}
