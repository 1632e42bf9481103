//! Frames of a tester as they come back from a device that may do anything to them. The first two bytes of an input
//! are the token that the tester looks for.

use delaylab_model::frames::Frames;
use delaylab_model::probe::Family;
use delaylab_wire::test_frame::{Ends, ReturnedFrame, Template};

/// Checks one input.
pub fn check(data: &[u8]) {
    let Some((token, frame)) = data.split_first_chunk::<2>() else {
        return;
    };
    let _ = ReturnedFrame::read(frame, u16::from_be_bytes(*token));
}

/// Valid inputs: a frame of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let ends = Ends {
        from: [2, 0, 0, 0, 0, 1],
        to: [2, 0, 0, 0, 0, 2],
        token: 50_000,
    };
    let seed = |(family, vlan)| {
        let frames = Frames {
            family,
            vlan,
            ..Frames::new(88)
        };
        let mut template = Template::new(&frames, ends, 1, 0).expect("the frame has room");
        [&ends.token.to_be_bytes(), template.sign(7, 1 << 40)].concat()
    };
    let kinds = [
        (Family::V4, None),
        (Family::V4, Some(7)),
        (Family::V6, None),
    ];
    kinds.map(seed).to_vec()
}
