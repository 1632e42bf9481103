//! The byte stream of a tcp session, cut in two anywhere: the frames are the same. The first byte of an input says
//! where to cut.

use crate::packets::{self, emitted};
use delaylab_wire::tcp::{Decoder, Frame, FrameError, Reply, Request};

/// Bytes of the longest frame that the decoder takes.
const LONGEST: u32 = 2000;

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let (first, second) = stream.split_at(usize::from(cut).min(stream.len()));
    assert_eq!(frames(&[first, second]), frames(&[stream]));
}

fn frames(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut decoder = Decoder::new(LONGEST);
    let mut all = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(Frame::Control(bytes) | Frame::Data(bytes))) => {
                    let _ = (Request::parse(bytes), Reply::parse(bytes));
                    all.push(bytes.to_vec());
                }
                Ok(None) => break,
                Err(error) => return (all, Some(error)),
            }
        }
    }
    (all, None)
}

/// Valid inputs: a control packet between two requests.
pub fn seeds() -> Vec<Vec<u8>> {
    let request = Request {
        len: 64,
        seq: 1,
        reply_len: 48,
    };
    let request = emitted(64, |packet| request.emit(packet));
    let control = &packets::controls()[0];
    vec![[&[9], request.as_slice(), control, &request].concat()]
}
