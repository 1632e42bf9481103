//! What the end systems of a TCP load do: the preset of its congestion control, and `[load.tcp]`.

use super::sections::{TCP_HEADERS, TIMESTAMP_OPTION, WINDOW, WINDOW_OF_1995};
use delaylab_model::load::{Load, LoadKind};
use delaylab_model::quantity::{Limit, Size};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::tcp::{DelayedAcks, RetransmissionTimer, TcpOptions};
use delaylab_model::{PICOS_PER_SECOND, Picos};
use delaylab_topology::time::picos;
use delaylab_traffic::tcp::settings::{LINUX_TIMER, RFC_TIMER};
use delaylab_traffic::tcp::{Application, Congestion, DelayedAck, Settings, Timer};

/// The congestion controls, and systems, that there are.
const NAMES: &str = "reno-1995, reno, newreno, cubic, bbr, dctcp, prague, ns-3";

/// Linux takes no maximum segment size that is less.
const LEAST_MSS: u64 = 88;

/// Of one transfer: sequence numbers of all rounds stay below 2^64.
const MOST_BYTES: u64 = 1 << 40;

/// The settings of this load's connections.
///
/// # Errors
/// Names the field that cannot be honoured.
pub(super) fn settings_of(load: &Load, mtu: u32) -> Result<Settings, Refusal> {
    let field = |name: &str| format!("load.{}.{name}", load.name);
    let largest = largest_packet(load, mtu).map_err(|refusal| refusal.within(&field("tcp")))?;
    let Some(mut settings) = preset(load, largest) else {
        let name = load.congestion_control.as_deref().unwrap_or_default();
        let what = format!("there is no `{name}` here: {NAMES}");
        return refuse(field("congestion_control"), what);
    };
    if let Some(options) = &load.tcp {
        settings = with(settings, options).map_err(|refusal| refusal.within(&field("tcp")))?;
    }
    if settings.window < u64::from(settings.mss.min(64)) {
        return refuse(field("window"), "is smaller than any segment");
    }
    if let Some(size) = load.payload {
        let buffer = settings.window.min(settings.send_buffer);
        settings.application = Application::Writes {
            size: size.0,
            buffer,
        };
    }
    if load.kind == LoadKind::Transfers {
        settings.application = Application::Requests;
        of_transfers(load)?;
    }
    if load.rate.is_some_and(|rate| rate.0 == 0) {
        return refuse(
            field("rate"),
            "tcp at no rate sends nothing: write `streams = 0`",
        );
    }
    settings.most = load.rate.map(|rate| rate.0 / 8);
    Ok(settings)
}

/// Bytes of IP of a full segment.
fn largest_packet(load: &Load, mtu: u32) -> Result<u32, Refusal> {
    match load.tcp.and_then(|options| options.mss) {
        None => Ok(mtu),
        Some(Size(mss)) if mss < LEAST_MSS => refuse("mss", format!("is less than {LEAST_MSS} B")),
        Some(Size(mss)) => {
            let asked = u32::try_from(mss).unwrap_or(u32::MAX);
            Ok(mtu.min(asked.saturating_add(TCP_HEADERS)))
        }
    }
}

/// What transfers need, and have not.
fn of_transfers(load: &Load) -> Result<(), Refusal> {
    let field = |name: &str| format!("load.{}.{name}", load.name);
    if load.payload.is_some() {
        let what = "a transfer is written at once: leave it out, and say `bytes`";
        return refuse(field("payload"), what);
    }
    match (load.bytes, load.rounds) {
        (None, _) => refuse(field("bytes"), "how much is a transfer? Like \"64KiB\""),
        (Some(Size(0)), _) => refuse(field("bytes"), "a transfer of nothing never ends"),
        (Some(Size(bytes)), _) if bytes > MOST_BYTES => refuse(field("bytes"), "at most 1 TiB"),
        (_, Some(0)) => refuse(field("rounds"), "none: set `streams` to 0"),
        _ => Ok(()),
    }
}

fn preset(load: &Load, mtu: u32) -> Option<Settings> {
    let window = |usual: u64| load.window.map_or(usual, |window| window.0);
    let segment = mtu - TCP_HEADERS;
    let stamped = segment - TIMESTAMP_OPTION;
    let modern = |congestion| Settings {
        congestion,
        ecn: matches!(congestion, Congestion::Dctcp | Congestion::Prague),
        pacing: matches!(congestion, Congestion::Bbr | Congestion::Prague),
        ..Settings::modern(stamped, window(WINDOW))
    };
    Some(match load.congestion_control.as_deref() {
        Some("reno-1995") => Settings::of_1995(segment, window(WINDOW_OF_1995)),
        Some("reno") => modern(Congestion::Reno),
        Some("newreno") => modern(Congestion::NewReno),
        Some("cubic") | None => modern(Congestion::Cubic),
        Some("bbr") => modern(Congestion::Bbr),
        Some("dctcp") => modern(Congestion::Dctcp),
        Some("prague") => modern(Congestion::Prague),
        Some("ns-3") => {
            let settings = Settings::ns3(mtu);
            Settings {
                window: window(settings.window),
                ..settings
            }
        }
        Some(_) => return None,
    })
}

/// What is refused is called as within `[load.tcp]`.
fn with(preset: Settings, options: &TcpOptions) -> Result<Settings, Refusal> {
    let sack = options.sack.unwrap_or(preset.sack);
    let ecn = options.ecn.unwrap_or(preset.ecn);
    let settings = Settings {
        sack,
        // What builds on SACK goes with it, unless it is asked for.
        prr: options.prr.unwrap_or(preset.prr && sack),
        rack_tlp: options.rack_tlp.unwrap_or(preset.rack_tlp && sack),
        hystart: options.hystart.unwrap_or(preset.hystart),
        reno_friendly: options.reno_friendly.unwrap_or(preset.reno_friendly),
        handshake: options.handshake.unwrap_or(preset.handshake),
        ecn,
        abe: options.abe.unwrap_or(preset.abe && ecn),
        pacing: options.pacing.unwrap_or(preset.pacing),
        timer: timer(preset.timer, options)?,
        delayed_ack: match options.delayed_acks {
            None => preset.delayed_ack,
            Some(DelayedAcks::None) => None,
            Some(DelayedAcks::Linux) => Some(DelayedAck::Linux),
            Some(DelayedAcks::Rfc1122) => Some(DelayedAck::Fixed {
                segments: 2,
                timeout: PICOS_PER_SECOND / 5,
            }),
        },
        initial_window: options
            .initial_window
            .map_or(preset.initial_window, |window| window.0),
        send_buffer: options
            .send_buffer
            .map_or(preset.send_buffer, |buffer| buffer.0),
        host_queue: match options.host_queue {
            None => preset.host_queue,
            Some(Limit::Unlimited) => None,
            Some(Limit::Bytes(bytes)) => Some(bytes),
            Some(_) => return refuse("host_queue", "is in bytes, or `unlimited`"),
        },
        ..preset
    };
    let needs_sack = "needs selective acknowledgements: leave `sack = false` out";
    match settings {
        _ if settings.prr && !sack => refuse("prr", needs_sack),
        _ if settings.rack_tlp && !sack => refuse("rack_tlp", needs_sack),
        _ if settings.abe && !ecn => refuse("abe", "is about marks: give `ecn = true` too"),
        _ if settings.congestion == Congestion::Bbr && !sack => {
            refuse("sack", "bbr's delivery rates need it")
        }
        _ if settings.congestion == Congestion::Bbr && !settings.pacing => {
            refuse("pacing", "bbr is its pacing rate")
        }
        _ if settings.congestion == Congestion::Dctcp && !ecn => {
            refuse("ecn", "dctcp counts marks")
        }
        _ if settings.congestion == Congestion::Prague && !ecn => {
            refuse("ecn", "prague counts marks")
        }
        _ if settings.send_buffer < u64::from(settings.mss.min(64)) => {
            refuse("send_buffer", "is smaller than any segment")
        }
        _ => Ok(settings),
    }
}

fn timer(preset: Timer, options: &TcpOptions) -> Result<Timer, Refusal> {
    let tick = PICOS_PER_SECOND / 2;
    let mut timer = match options.retransmission_timer {
        None => preset,
        Some(RetransmissionTimer::Rfc6298) => RFC_TIMER,
        Some(RetransmissionTimer::Linux) => LINUX_TIMER,
        Some(RetransmissionTimer::Coarse) => Timer::Coarse {
            tick,
            delayed_ack_tick: tick * 2 / 5,
            phase: 0,
        },
    };
    if let Some(least) = options.min_rto {
        match &mut timer {
            Timer::Rfc6298 {
                min_rto,
                max_rto,
                granularity,
                ..
            } => {
                let least: Picos = picos(Some(least)).min(*max_rto);
                // Linux adds its least to the smoothed round-trip time.
                if *granularity == *min_rto {
                    *granularity = least;
                }
                *min_rto = least;
            }
            Timer::Coarse { .. } => {
                return refuse("min_rto", "coarse timers count ticks: leave it out");
            }
        }
    }
    Ok(timer)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(congestion: &str, options: &str) -> Result<Settings, String> {
        let load = Load {
            congestion_control: Some(congestion.to_owned()),
            tcp: Some(toml::from_str(options).unwrap()),
            ..Load::new("bulk", LoadKind::Tcp)
        };
        settings_of(&load, 1500).map_err(|refusal| refusal.field)
    }

    #[test]
    fn every_feature_can_be_switched() {
        let ecn = read("cubic", "ecn = true\nabe = true").unwrap();
        assert!(ecn.ecn && ecn.abe && ecn.sack && ecn.rack_tlp);
        let plain = read("reno", "sack = false").unwrap();
        assert!(!plain.sack && !plain.prr && !plain.rack_tlp);
        let ns3 = read("ns-3", "sack = true\nprr = true").unwrap();
        assert!(ns3.sack && ns3.prr && !ns3.rack_tlp);
        assert_eq!(ns3.timer, RFC_TIMER);
        let old = read("reno-1995", "").unwrap();
        assert!(!old.sack && !old.handshake && old.host_queue.is_none());
        let small = read(
            "cubic",
            "send_buffer = \"64KiB\"\nhost_queue = \"unlimited\"",
        )
        .unwrap();
        assert_eq!((small.send_buffer, small.host_queue), (65_536, None));
        let none = read(
            "cubic",
            "delayed_acks = \"none\"\nretransmission_timer = \"rfc6298\"",
        );
        assert_eq!(none.unwrap().delayed_ack, None);
    }

    #[test]
    fn a_least_time_out_of_linux_is_added_to_the_round_trip() {
        let least = |preset: &str| read(preset, "min_rto = \"5ms\"").unwrap().timer;
        let ms = PICOS_PER_SECOND / 1000;
        let Timer::Rfc6298 {
            min_rto,
            granularity,
            ..
        } = least("cubic")
        else {
            panic!("not fine")
        };
        assert_eq!((min_rto, granularity), (5 * ms, 5 * ms));
        let Timer::Rfc6298 {
            min_rto,
            granularity,
            ..
        } = least("ns-3")
        else {
            panic!("not fine")
        };
        assert_eq!((min_rto, granularity), (5 * ms, ms));
    }

    #[test]
    fn a_segment_is_as_large_as_its_mss_and_the_mtu_allow() {
        let mss = |options: &str| read("cubic", options).unwrap().mss;
        // Without the option of time stamps, 12 bytes.
        assert_eq!(mss(""), 1448);
        assert_eq!(mss("mss = \"536B\""), 524);
        assert_eq!(mss("mss = \"8960B\""), 1448);
        let old = read("reno-1995", "mss = \"536B\"").unwrap();
        assert_eq!((old.mss, old.initial_window), (536, 536));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (congestion, options, field) in [
            ("cubic", "sack = false\nrack_tlp = true", "rack_tlp"),
            ("cubic", "sack = false\nprr = true", "prr"),
            ("cubic", "abe = true", "abe"),
            ("bbr", "sack = false", "sack"),
            ("bbr", "pacing = false", "pacing"),
            ("dctcp", "ecn = false", "ecn"),
            ("prague", "ecn = false", "ecn"),
            ("cubic", "send_buffer = \"1B\"", "send_buffer"),
            ("cubic", "host_queue = \"10packets\"", "host_queue"),
            ("reno-1995", "min_rto = \"5ms\"", "min_rto"),
            ("cubic", "mss = \"87B\"", "mss"),
        ] {
            let refused = read(congestion, options).unwrap_err();
            assert_eq!(refused, format!("load.bulk.tcp.{field}"));
        }
    }
}
