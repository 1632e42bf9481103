//! Replies of web servers. Whole or in pieces they are the same reply, and no reply takes more memory than its head may.

use delaylab_wire::http::{HttpError, Reader, Whole};

/// Checks one input: its first byte says how long pieces are.
pub fn check(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    for head_only in [false, true] {
        let whole = read(bytes, bytes.len().max(1), head_only);
        let pieces = read(bytes, usize::from(first).max(1), head_only);
        // What stands behind the reply shows only where it comes with it.
        let known = |read: Result<Option<Whole>, HttpError>| {
            read.map(|whole| whole.map(|whole| (whole.status, whole.bytes)))
        };
        assert_eq!(known(whole), known(pieces));
    }
}

fn read(bytes: &[u8], piece: usize, head_only: bool) -> Result<Option<Whole>, HttpError> {
    let mut reader = Reader::new(head_only);
    for piece in bytes.chunks(piece) {
        if let Some(whole) = reader.take(piece)? {
            assert!(whole.bytes <= bytes.len() as u64);
            return Ok(Some(whole));
        }
    }
    let _ = reader.closed(true);
    Ok(None)
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let replies: [&[u8]; 6] = [
        b"\x03HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"\x07HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n1;x=y\r\ne\r\n0\r\nT: u\r\n\r\n",
        b"\x10HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        b"\x20HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\n\r\nuntil closed",
        b"\x40HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
        b"\x80HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    ];
    replies.map(<[u8]>::to_vec).to_vec()
}
