//! The byte stream of a tcp session, cut anywhere: the frames are the same.
#![no_main]

use delaylab_wire::tcp::{Decoder, Frame, FrameError, Reply, Request};
use libfuzzer_sys::fuzz_target;

const MAX: u32 = 2000;

fn frames(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut decoder = Decoder::new(MAX);
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

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let (first, second) = stream.split_at(usize::from(cut).min(stream.len()));
    assert_eq!(frames(&[first, second]), frames(&[stream]));
});
