//! Load beside the probes: what is sent, and who takes it.

use clap::Args;
use delaylab_live::reflect::LOAD_PORT;
use delaylab_model::MILLISECOND;
use delaylab_model::load::{Direction, Load, LoadKind};
use delaylab_model::quantity::{Class, Duration, Rate, Size};
use delaylab_model::trial::Server;
use delaylab_model::units;
use delaylab_runner::target::{LoadChoice, LoadServer};
use delaylab_wire::iperf3;
use std::collections::BTreeSet;

/// How `iperf3 -s` is named.
const IPERF3: &str = "iperf3://";
/// How long bursts and silences are on average, where nobody says.
const PERIOD: i64 = 100 * MILLISECOND;

/// Who takes load.
#[derive(Debug, Clone, Default, Args)]
pub struct LoadServerArgs {
    /// Port of the target's `delaylab reflect --accept-load` [default: 8863]
    #[arg(
        long,
        value_name = "PORT",
        conflicts_with = "load_server",
        help_heading = "Load"
    )]
    pub load_port: Option<u16>,

    /// Send load to this server instead: HOST or HOST:PORT, or iperf3://HOST:PORT for an `iperf3 -s`
    #[arg(long, value_name = "SERVER", value_parser = load_server, help_heading = "Load")]
    pub load_server: Option<LoadServer>,
}

impl LoadServerArgs {
    /// Where load goes.
    pub fn choice(&self) -> LoadChoice {
        LoadChoice {
            server: self.load_server.clone(),
            port: self.load_port,
        }
    }

    /// Does a `delaylab reflect` take it, the target's or another one?
    pub fn is_reflector(&self) -> bool {
        let named = self.load_server.as_ref();
        named.is_none_or(|at| at.server == Server::Reflector)
    }
}

fn load_server(text: &str) -> Result<LoadServer, String> {
    let (server, rest, default) = match text.strip_prefix(IPERF3) {
        Some(rest) => (Server::Iperf3, rest, iperf3::PORT),
        None => (Server::Reflector, text, LOAD_PORT),
    };
    let wrong = || {
        format!(
            "`{text}` names no server: write HOST, HOST:PORT or iperf3://HOST[:PORT], an IPv6 address in brackets"
        )
    };
    if let Some(scheme) = rest.find("://") {
        let scheme = &rest[..scheme];
        return Err(format!(
            "`{scheme}` is no kind of server: there is iperf3://"
        ));
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    // The colons of a bare IPv6 address name no port.
    let bare = rest.parse::<std::net::Ipv6Addr>().is_ok();
    let after = rest.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match rest[after..].rfind(':').filter(|_| !bare) {
        Some(colon) => {
            let port = rest[after + colon + 1..].parse();
            (&rest[..after + colon], port.map_err(|_| wrong())?)
        }
        None => (rest, default),
    };
    if host.is_empty() || port == 0 {
        return Err(wrong());
    }
    Ok(LoadServer {
        server,
        host: host.to_owned(),
        port,
    })
}

/// What one `--load` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadArg {
    /// As it was typed.
    pub text: String,
    /// What is sent.
    pub loads: Vec<Load>,
    /// First what goes up, then what comes down, then both at once; else all of it at once.
    pub each_way: bool,
}

/// Streams each way, where nobody says how many: as flent's rrul has them.
const EACH_WAY: u32 = 4;

/// A load in few words: `tcp:4`, `cbr:50Mbit/s:ef`, or `up`, `down`, `both`, `rrul`, which are of tcp and may have
/// its parts, too.
pub fn load_arg(text: &str) -> Result<LoadArg, String> {
    let (head, rest) = match text.split_once(':') {
        Some((head, rest)) => (head, Some(rest)),
        None => (text, None),
    };
    let ways: &[Direction] = match head {
        "up" => &[Direction::Up],
        "down" => &[Direction::Down],
        "both" | "rrul" => &[Direction::Up, Direction::Down],
        _ => {
            return Ok(LoadArg {
                text: text.to_owned(),
                loads: vec![load(text)?],
                each_way: false,
            });
        }
    };
    let one = |&direction: &Direction| {
        let name = std::iter::once(direction.name()).chain(rest);
        let mut load = Load::new(name.collect::<Vec<_>>().join(":"), LoadKind::Tcp);
        load.direction = direction;
        load.streams = EACH_WAY;
        let parts = || rest.into_iter().flat_map(|rest| rest.split(':'));
        if parts().any(|part| ["up", "down"].contains(&part.trim())) {
            return Err(format!("`{text}`: `{head}` says which way already"));
        }
        take_all(&mut load, parts())?;
        Ok(load)
    };
    Ok(LoadArg {
        text: text.to_owned(),
        loads: ways.iter().map(one).collect::<Result<_, String>>()?,
        each_way: head == "rrul",
    })
}

/// A stretch of a ping under load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderPart {
    /// The load as it was typed, and which part of it.
    pub label: String,
    /// Of a part that goes one way: which.
    pub way: Option<Direction>,
    /// What is sent in it.
    pub loads: Vec<Load>,
}

/// What is sent one after the other: all at once, but each way alone first where that is asked for.
pub fn parts(asked: &[LoadArg]) -> Vec<UnderPart> {
    let each_way = asked.iter().any(|arg| arg.each_way);
    let ways: &[(&str, &[Direction])] = match (asked.is_empty(), each_way) {
        (true, _) => &[],
        (false, false) => &[("", &[Direction::Up, Direction::Down])],
        (false, true) => &[
            ("up", &[Direction::Up]),
            ("down", &[Direction::Down]),
            ("both", &[Direction::Up, Direction::Down]),
        ],
    };
    let part = |&(name, ways): &(&str, &[Direction])| {
        let label = asked.iter().map(|arg| match arg.each_way {
            true => format!("{} {name}", arg.text),
            false => arg.text.clone(),
        });
        let loads = asked.iter().flat_map(|arg| {
            let loads = arg.loads.iter();
            loads.filter(|load| !arg.each_way || ways.contains(&load.direction))
        });
        UnderPart {
            label: label.collect::<Vec<_>>().join(", "),
            way: Some(ways[0]).filter(|_| each_way && ways.len() == 1),
            loads: loads.cloned().collect(),
        }
    };
    ways.iter().map(part).collect()
}

/// A load in few words. What a part is, its form says.
fn load(text: &str) -> Result<Load, String> {
    let mut parts = text.split(':');
    let kind = kind(parts.next().unwrap_or_default())?;
    let mut load = Load::new(text, kind);
    take_all(&mut load, parts)?;
    if kind == LoadKind::OnOff {
        load.on = load.on.or(Some(Duration(PERIOD)));
        load.off = load.off.or(Some(Duration(PERIOD)));
    }
    if kind != LoadKind::Tcp && load.rate.is_none() {
        let name = kind.name();
        return Err(format!("{name}: how much? Like {name}:10Mbit/s"));
    }
    Ok(load)
}

fn kind(name: &str) -> Result<LoadKind, String> {
    match name {
        "tcp" => Ok(LoadKind::Tcp),
        "cbr" => Ok(LoadKind::Cbr),
        "poisson" => Ok(LoadKind::Poisson),
        "on-off" => Ok(LoadKind::OnOff),
        _ => Err(format!(
            "`{name}` is no kind of load: there are tcp, cbr, poisson and on-off, like tcp:4 or cbr:50Mbit/s:ef, and up, \
             down, both and rrul, of tcp"
        )),
    }
}

/// Takes the parts behind the kind, each once.
fn take_all<'a>(load: &mut Load, parts: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut given = BTreeSet::new();
    for part in parts.map(str::trim) {
        let what = take(load, part)?;
        if !given.insert(what) {
            return Err(format!("`{part}` is a second {what}"));
        }
    }
    Ok(())
}

/// Takes a part, and says what it is.
fn take(load: &mut Load, part: &str) -> Result<&'static str, String> {
    let tcp = load.kind == LoadKind::Tcp;
    if let Ok(streams) = part.parse() {
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(format!("`{part}` streams: 1 to {MOST_STREAMS}"));
        }
        load.streams = streams;
        Ok("number of streams")
    } else if let Ok(rate) = units::parse_rate(part) {
        if tcp {
            return Err(format!(
                "`{part}`: tcp sends as much as it gets through; for a rate use cbr"
            ));
        }
        load.rate = Some(Rate(rate));
        Ok("rate")
    } else if let Ok(size) = units::parse_size(part) {
        let field = if tcp {
            &mut load.window
        } else {
            &mut load.payload
        };
        *field = Some(Size(size));
        Ok("size")
    } else if let Some(direction) = direction(part) {
        if !tcp && direction == Direction::Down {
            let name = load.kind.name();
            return Err(format!("`{part}`: only tcp comes down, and this is {name}"));
        }
        load.direction = direction;
        Ok("direction")
    } else if let Ok(class) = part.parse() {
        load.class = Class(class);
        Ok("class")
    } else if tcp && !part.is_empty() && load.congestion_control.is_none() {
        load.congestion_control = Some(part.to_owned());
        Ok("congestion control")
    } else {
        Err(wrong_part(load.kind, part))
    }
}

fn direction(part: &str) -> Option<Direction> {
    let all = [Direction::Up, Direction::Down];
    all.into_iter().find(|direction| direction.name() == part)
}

/// Each is a thread.
const MOST_STREAMS: u32 = 128;

fn wrong_part(kind: LoadKind, part: &str) -> String {
    let known = match kind {
        LoadKind::Tcp => {
            "a number of streams (4), a class (cs1), a window (64KiB), a congestion control (reno) or a way (down)"
        }
        _ => "a rate (50Mbit/s), a class (ef), a payload (1400B) or a number of streams (4)",
    };
    format!("`{part}` is no part of a {} load: {known}", kind.name())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_say_what_they_are() {
        let tcp = load("tcp:4:cs1:bbr:64KiB").unwrap();
        assert_eq!((tcp.streams, tcp.class.0.to_string().as_str()), (4, "cs1"));
        assert_eq!(tcp.congestion_control.as_deref(), Some("bbr"));
        assert_eq!(tcp.window, Some(Size(65_536)));
        let cbr = load("cbr:50Mbit/s:ef:1400B").unwrap();
        assert_eq!(
            (cbr.rate, cbr.payload),
            (Some(Rate(50_000_000)), Some(Size(1400)))
        );
        assert_eq!(cbr.class.0.to_string(), "ef");
        let on_off = load("on-off:10mbit").unwrap();
        assert_eq!(on_off.on, Some(Duration(PERIOD)));
        assert_eq!(load("tcp").unwrap().streams, 1);
    }

    #[test]
    fn loads_go_up_down_or_both_ways() {
        let ways = |text: &str| -> Vec<_> {
            let arg = load_arg(text).unwrap();
            let loads = arg.loads.iter();
            loads
                .map(|load| (load.name.clone(), load.direction, load.streams))
                .collect()
        };
        let (up, down) = (Direction::Up, Direction::Down);
        assert_eq!(ways("tcp:2"), [("tcp:2".to_owned(), up, 2)]);
        assert_eq!(ways("tcp:down"), [("tcp:down".to_owned(), down, 1)]);
        assert_eq!(ways("up"), [("up".to_owned(), up, 4)]);
        assert_eq!(ways("down:8:reno"), [("down:8:reno".to_owned(), down, 8)]);
        let both = [("up".to_owned(), up, 4), ("down".to_owned(), down, 4)];
        assert_eq!((ways("both"), ways("rrul")), (both.to_vec(), both.to_vec()));
        let rrul = load_arg("rrul:2:ef:bbr").unwrap();
        assert!(
            rrul.each_way
                && rrul
                    .loads
                    .iter()
                    .all(|load| load.class.0.to_string() == "ef")
        );
        for (text, word) in [
            ("both:down", "already"),
            ("cbr:1Mbit/s:down", "only tcp"),
            ("down:0", "1 to"),
            ("rrul:", "no part"),
        ] {
            let error = load_arg(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn each_way_has_a_part_of_its_own_where_that_is_asked_for() {
        let labels = |texts: &[&str]| -> Vec<_> {
            let asked: Vec<_> = texts.iter().map(|text| load_arg(text).unwrap()).collect();
            let parts = parts(&asked).into_iter();
            parts.map(|part| (part.label, part.loads.len())).collect()
        };
        let expected = |all: &[(&str, usize)]| -> Vec<_> {
            all.iter()
                .map(|&(label, loads)| (label.to_owned(), loads))
                .collect()
        };
        assert_eq!(labels(&[]), []);
        assert_eq!(labels(&["both"]), expected(&[("both", 2)]));
        assert_eq!(
            labels(&["up", "cbr:1Mbit/s"]),
            expected(&[("up, cbr:1Mbit/s", 2)])
        );
        let parts = [("rrul up", 1), ("rrul down", 1), ("rrul both", 2)];
        assert_eq!(labels(&["rrul"]), expected(&parts));
        let beside = [
            ("rrul up, cbr:1kbit/s", 2),
            ("rrul down, cbr:1kbit/s", 2),
            ("rrul both, cbr:1kbit/s", 3),
        ];
        assert_eq!(labels(&["rrul", "cbr:1kbit/s"]), expected(&beside));
    }

    #[test]
    fn what_is_no_load_says_why() {
        for (text, word) in [
            ("bulk", "no kind"),
            ("cbr", "how much"),
            ("cbr:fast", "no part"),
            ("tcp:10Mbit/s", "use cbr"),
            ("tcp:0", "1 to"),
            ("cbr:1Mbit/s:2Mbit/s", "second rate"),
            ("tcp:4:8", "`8` is a second number of streams"),
            ("cbr:10Mbit/s:ef:cs1", "`cs1` is a second class"),
            ("tcp:down:up", "`up` is a second direction"),
            ("cbr:1Mbit/s:", "no part"),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn servers() {
        let read = |text| load_server(text).unwrap();
        let expected = |server, host: &str, port| LoadServer {
            server,
            host: host.to_owned(),
            port,
        };
        assert_eq!(read("iperf3://a"), expected(Server::Iperf3, "a", 5201));
        assert_eq!(
            read("iperf3://[::1]:7/"),
            expected(Server::Iperf3, "[::1]", 7)
        );
        assert_eq!(read("b:9"), expected(Server::Reflector, "b", 9));
        assert_eq!(read("::1"), expected(Server::Reflector, "::1", 8863));
        for wrong in ["", "iperf3://", "a:b", "a:0", "http://a", "iperf://a"] {
            assert!(load_server(wrong).is_err(), "{wrong}");
        }
    }
}
