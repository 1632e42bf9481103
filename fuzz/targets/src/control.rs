//! Control packets: what is read is written and read again as the same.

use crate::packets;
use delaylab_wire::control::{Control, MAGIC, SIZE, VERSION};

/// Bytes of the magic and the version, which `check` writes itself, so that the bodies are reached.
pub(crate) const FRAME: usize = 9;

/// Checks one input.
pub fn check(data: &[u8]) {
    let _ = Control::parse(None, data);
    let packet = framed(data);
    if let Ok(control) = Control::parse(None, &packet) {
        let mut again = [0; SIZE];
        assert_eq!(control.emit(None, &mut again), Ok(SIZE));
        assert_eq!(Control::parse(None, &again), Ok(control));
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let controls = packets::controls().into_iter();
    controls.map(|packet| packet[FRAME..].to_vec()).collect()
}

/// A control packet with this body, cut to its size.
pub(crate) fn framed(body: &[u8]) -> [u8; SIZE] {
    let mut packet = [0; SIZE];
    packet[..8].copy_from_slice(MAGIC);
    packet[8] = VERSION;
    let length = body.len().min(SIZE - FRAME);
    packet[FRAME..FRAME + length].copy_from_slice(&body[..length]);
    packet
}
