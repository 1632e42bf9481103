//! The head of irtt's datagrams (irtt packet.go): 3 bytes of magic, flags, a tag if flag 8 is set, the token, the
//! sequence number (little endian).

#[derive(Clone, Copy)]
pub struct Irtt {
    /// Opens or closes, and is no probe.
    pub control: bool,
    pub reply: bool,
    pub seq: u32,
}

impl Irtt {
    pub fn read(payload: &[u8]) -> Option<Self> {
        const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
        const REPLY: u8 = 2;
        const TAGGED: u8 = 8;
        const CONTROL: u8 = 1 | 4;
        let flags = *payload.strip_prefix(&MAGIC)?.first()?;
        let seq_at = if flags & TAGGED == 0 { 12 } else { 28 };
        // What opens is shorter than a probe: it has no number.
        let seq = payload
            .get(seq_at..seq_at + 4)
            .and_then(|bytes| bytes.try_into().ok());
        let control = flags & CONTROL != 0;
        let seq = seq.map_or(control.then_some(0), |bytes| {
            Some(u32::from_le_bytes(bytes))
        })?;
        Some(Self {
            control,
            reply: flags & REPLY != 0,
            seq,
        })
    }
}
