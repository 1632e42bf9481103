//! Control packets: what is read is written and read again as the same.
#![no_main]

use delaylab_wire::control::{Control, MAGIC, SIZE, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = Control::parse(None, data);
    // The frame is given, so that the bodies are reached.
    let mut packet = [0; SIZE];
    packet[..8].copy_from_slice(MAGIC);
    packet[8] = VERSION;
    let len = data.len().min(SIZE - 9);
    packet[9..9 + len].copy_from_slice(&data[..len]);
    if let Ok(control) = Control::parse(None, &packet) {
        let mut again = [0; SIZE];
        assert_eq!(control.emit(None, &mut again), Ok(SIZE));
        assert_eq!(Control::parse(None, &again), Ok(control));
    }
});
