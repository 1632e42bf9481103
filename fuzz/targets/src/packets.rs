//! Valid packets that are seeds of more than one target.

use delaylab_wire::EmitError;
use delaylab_wire::auth::Transport;
use delaylab_wire::control::{
    Accept, Account, Challenge, ClockFacts, Collected, Control, Counted, Fetch, Fetched, Hello,
    LoadHello, Name, Reason, Refuse, SIZE,
};
use delaylab_wire::echo::{FollowUp, Header, Mode, Stamps};
use delaylab_wire::ntp::ErrorEstimate;
use delaylab_wire::stamp::{Echoed, Form, Reflector, Sender};
use delaylab_wire::stamp_tlv::{ClassOfService, FollowUpTelemetry, Stamping, Writer, kind};

/// A packet of `size` bytes, as `emit` writes it over ones.
pub(crate) fn emitted<T>(
    size: usize,
    emit: impl FnOnce(&mut [u8]) -> Result<T, EmitError>,
) -> Vec<u8> {
    let mut packet = vec![1; size];
    emit(&mut packet).expect("the packet has room");
    packet
}

/// The token of packets whose place in a session a target fills in.
pub(crate) const ANY_TOKEN: &[u8; 4] = b"T000";

/// Writes the token of a session over the first four bytes, if they begin as [`ANY_TOKEN`] does.
pub(crate) fn put_token(bytes: &mut [u8], token: u32) {
    if let Some(first) = bytes.first_chunk_mut::<4>()
        && first[0] == ANY_TOKEN[0]
    {
        *first = token.to_be_bytes();
    }
}

/// A control packet of each kind.
pub(crate) fn controls() -> Vec<Vec<u8>> {
    let cookie = [7; 16];
    let controls = [
        Control::Hello(Hello {
            nonce: 1,
            mode: Mode::Stamped,
            payload: 64,
            cookie,
        }),
        Control::Challenge(Challenge { nonce: 1, cookie }),
        Control::Accept(accept()),
        Control::Refuse(Refuse {
            nonce: 1,
            reason: Reason::TooSmall,
            text: "use at least 24B".to_owned(),
        }),
        Control::Collect { token: 1, nonce: 2 },
        Control::Collected(Collected {
            token: 1,
            received: 2,
            follow_ups: vec![FollowUp { seq: 1, r_tx: 2 }; 3],
            account: Some(Account {
                nonce: 2,
                refused: 3,
                overflowed: 4,
                realtime_offset: 5,
                clock_steps: 6,
                of_several: true,
            }),
        }),
        Control::Bye { token: 1 },
        load_hello(Transport::Udp),
        Control::Attach { token: 1 },
        Control::Count { token: 1 },
        Control::Counted(Counted {
            token: 1,
            packets: 2,
            bytes: 3,
            reordered: 4,
            refused: 5,
            overflowed: 1,
            copies: 9,
            held_back: 10,
            of_others: 11,
            span: 12,
            sender: delaylab_wire::control::Sender {
                smoothed_rtt_us: 6,
                congestion_window: 7,
                retransmits: 8,
            },
        }),
        fetch(1),
        Control::Fetched(Fetched {
            token: 1,
            congestion_control: Name::new("bbr"),
        }),
        Control::Begin { token: 1 },
    ];
    controls.iter().map(control).collect()
}

fn accept() -> Accept {
    Accept {
        nonce: 1,
        salt: 2,
        token: 3,
        mode: Mode::Plain,
        clock: ClockFacts {
            id: 4,
            synchronised: true,
            error_bound: 5,
        },
        realtime_offset: 6,
        max_duration_s: 7,
        clock_steps: 8,
        max_idle_ms: 9,
    }
}

/// What opens a load.
pub(crate) fn load_hello(transport: Transport) -> Control {
    Control::LoadHello(LoadHello {
        nonce: 1,
        transport,
        window: 65_536,
    })
}

/// What asks for a load.
pub(crate) fn fetch(token: u32) -> Control {
    Control::Fetch(Fetch {
        token,
        rate: 1_000_000,
        traffic_class: 0xb8,
        congestion_control: Name::new("cubic"),
    })
}

/// A control packet as bytes.
pub(crate) fn control(control: &Control) -> Vec<u8> {
    emitted(SIZE, |packet| control.emit(None, packet))
}

/// A stamped reply to the udp packet of this token and number.
pub(crate) fn echo_reply(token: &[u8; 4], seq: u32) -> Vec<u8> {
    let token = u32::from_be_bytes(*token);
    let stamps = Stamps {
        reflector_seq: 3,
        traffic_class: Some(0xb8),
        ttl: Some(64),
        r_rx: Some(4),
        r_user: 5,
        follow_up: Some(FollowUp { seq: 1, r_tx: 6 }),
        clock_steps: 2,
    };
    emitted(60, |packet| {
        Header { token, seq }.emit(packet)?;
        stamps.emit(packet)
    })
}

fn stamp_sender() -> Sender {
    Sender {
        seq: 1,
        timestamp: 0xe900_0000_8000_0000,
        error: ErrorEstimate::from_bits(0x8001),
        ssid: 2,
    }
}

fn stamp_reflector(sender_seq: u32) -> Reflector {
    let Sender {
        seq,
        timestamp,
        error,
        ssid,
    } = stamp_sender();
    Reflector {
        seq,
        timestamp,
        error,
        ssid,
        receive: timestamp,
        sender: Echoed {
            seq: sender_seq,
            timestamp,
            error,
            ttl: 64,
        },
    }
}

/// STAMP packets of a sender in both forms.
pub(crate) fn stamp_requests() -> Vec<Vec<u8>> {
    let packet = |form: Form| emitted(form.size(), |packet| stamp_sender().emit(form, packet));
    [Form::Unauthenticated, Form::Authenticated]
        .map(packet)
        .to_vec()
}

/// STAMP packets of a reflector in both forms.
pub(crate) fn stamp_replies() -> Vec<Vec<u8>> {
    let packet = |form: Form| emitted(form.size(), |packet| stamp_reflector(1).emit(form, packet));
    [Form::Unauthenticated, Form::Authenticated]
        .map(packet)
        .to_vec()
}

/// A reply to the STAMP packet of this number, with the TLVs that a prober asks for.
pub(crate) fn stamp_reply_with_tlvs(sender_seq: u32) -> Vec<u8> {
    let class = ClassOfService {
        dscp1: 46,
        dscp2: 46,
        ecn: 0,
        refused: false,
    };
    let follow_up = FollowUpTelemetry {
        seq: 1,
        timestamp: 0xe900_0000_8000_0000,
        stamping: Stamping::from_code(1),
    };
    with_tlvs(
        |packet| stamp_reflector(sender_seq).emit(Form::Unauthenticated, packet),
        |tlvs| {
            tlvs.push(kind::FOLLOW_UP_TELEMETRY, &follow_up.to_bytes())?;
            tlvs.push(kind::CLOCK_IDENTITY, &[9; 8])?;
            tlvs.push(kind::CLASS_OF_SERVICE, &class.to_bytes())
        },
    )
}

/// A STAMP request with the TLVs that `write` writes behind it.
pub(crate) fn stamp_request_with_tlvs(
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EmitError>,
) -> Vec<u8> {
    with_tlvs(
        |packet| stamp_sender().emit(Form::Unauthenticated, packet),
        write,
    )
}

fn with_tlvs(
    base: impl FnOnce(&mut [u8]) -> Result<usize, EmitError>,
    write: impl FnOnce(&mut Writer<'_>) -> Result<(), EmitError>,
) -> Vec<u8> {
    let mut length = 0;
    let mut packet = emitted(300, |packet| {
        let mut tlvs = {
            let end = base(packet)?;
            Writer::new(packet, end)
        };
        write(&mut tlvs)?;
        length = tlvs.position();
        Ok(())
    });
    packet.truncate(length);
    packet
}
