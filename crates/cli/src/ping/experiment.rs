//! Makes an experiment of the command line: one trial, or with `--load` one for each part.

use super::server::{self, ServerProbe};
use crate::args::load::{self, LoadArg, UnderPart};
use crate::args::ping::PingArgs;
use crate::exit::Failed;
use delaylab_lab::experiment::{Choices, Diagnostics, Experiment, Resolved, Source};
use delaylab_lab::finding::data::HANDSHAKE;
use delaylab_model::dscp::Dscp;
use delaylab_model::load::Load;
use delaylab_model::method::Method;
use delaylab_model::units::write_duration;
use delaylab_model::{Nanos, SECOND};
use delaylab_runner::{resolve, target};
use delaylab_view::format::{Format, format_of};
use delaylab_view::words;
use serde_json::{Map, Value, json};

/// The name of its only probe.
const PROBE: &str = "ping";
/// Idle and under load, where nobody says how long.
const PART: Nanos = 10 * SECOND;
/// Enough packets in that to compare.
const INTERVAL_WITH_LOAD: Nanos = SECOND / 10;
/// No more than ten a second.
const LEAST_HANDSHAKE_GAP: Nanos = SECOND / 10;
/// The load is there so long before the first packet: its queue is to be full.
const LEAD: Nanos = 2 * SECOND;
/// The most of a target's name in that of a run.
const MOST_OF_NAME: usize = 48;

/// What was typed, as an experiment in the world `live`.
///
/// # Errors
/// Flags that do not go together.
pub fn from_args(args: &PingArgs, with_key: bool) -> Result<Resolved, Failed> {
    if args.target().is_empty() {
        return Err(Failed::usage(
            "which host? `delaylab ping TARGET`: a host name or an address",
        ));
    }
    let method = args.method();
    if !args.takes_key() && args.key_file.is_some() {
        let others = Method::asking().filter(|method| method.takes_key());
        let others: Vec<_> = others.map(Method::name).collect();
        return Err(Failed::usage(format!(
            "--key-file: {method} knows no keys: use --method {}",
            words::either(&others)
        )));
    }
    let format = args.output.as_deref().and_then(|path| format_of(path).ok());
    let in_lines = matches!(format, Some(Format::Stream | Format::Csv)) && !args.json;
    if in_lines && !args.loads.is_empty() {
        return Err(Failed::usage(
            "--load compares two parts: write .json, or leave -o out",
        ));
    }
    // The same IP packet holds less; without a size there is nothing to look an address up for.
    let sized = args.size.is_some() || args.ip_size.is_some();
    let v6 = sized && target::is_v6(args.target(), args.family());
    let text = document(args, with_key, v6)?;
    let source = Source {
        name: "ping".to_owned(),
        text: toml::to_string(&text)
            .map_err(|error| Failed::usage(format!("this cannot be written down: {error}")))?,
    };
    let choices = Choices {
        seed: args.seed,
        drawn_seed: resolve::drawn_seed(),
        v6,
        ..Choices::default()
    };
    let in_words = |diagnostics| in_words(diagnostics, args);
    let experiment = Experiment::read(source).map_err(in_words)?;
    resolve::in_world(&experiment, &choices).map_err(in_words)
}

/// Fields of the experiment, and what they are on the command line; the size apart, which has two flags.
const FLAGS: [(&str, &str); 16] = [
    ("reply_payload", "--reply-size"),
    ("ttl", "-t"),
    ("timeout", "-W"),
    ("interface", "-I"),
    ("stamps", "--stamps"),
    ("pacing", "-i"),
    ("host.condition", "--condition"),
    ("http", "--http"),
    ("ca_file", "--cacert"),
    ("headers", "--header"),
    ("insecure", "--insecure"),
    ("fresh", "--fresh"),
    ("question", "--question"),
    ("transport", "--transport"),
    ("tls_name", "--tls-name"),
    ("close", "--close"),
];

/// The flag that said how large packets are, or would.
const fn size_flag(args: &PingArgs) -> &'static str {
    match args.ip_size {
        Some(_) => "--ip-size",
        None => "-s",
    }
}

fn flags(args: &PingArgs) -> impl Iterator<Item = (&'static str, &'static str)> {
    FLAGS.into_iter().chain([("payload", size_flag(args))])
}

/// Errors of the experiment by flags, without the lines of a file that nobody wrote.
fn in_words(diagnostics: Diagnostics, args: &PingArgs) -> Failed {
    let sentences = diagnostics.list.into_iter().map(|diagnostic| {
        let help = diagnostic.help.map(|help| format!(": {help}"));
        let said = diagnostic.message + &help.unwrap_or_default();
        flags(args).fold(said, |said, (field, flag)| {
            with_value(&said, field, flag).replace(&format!("`{field}`"), flag)
        })
    });
    Failed::usage(sentences.collect::<Vec<_>>().join("\n"))
}

/// A sentence that names a field with its value (`field = "value"`) in backticks, with the flag in its place.
fn with_value(said: &str, field: &str, flag: &str) -> String {
    let named = format!("`{field} = \"");
    let mut parts = said.split(&named);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, rest| {
        format!("{said}`{flag} {}", rest.replacen("\"`", "`", 1))
    })
}

/// An error that may begin with a field of the experiment, with the flag in its place.
pub fn with_flag(message: &str, args: &PingArgs) -> String {
    let probe = format!("probe.{PROBE}.");
    let message = message.strip_prefix(&probe).unwrap_or(message);
    let named = flags(args).find_map(|(field, flag)| {
        let reason = message.strip_prefix(field)?.strip_prefix(": ")?;
        Some(match args.ip_size {
            Some(bytes) if field == "payload" => {
                format!("{flag} {bytes}B: {reason} (of payload, behind the headers)")
            }
            _ => format!("{flag}: {reason}"),
        })
    });
    named.unwrap_or_else(|| message.to_owned())
}

/// A table without the entries that are null, which TOML does not have.
fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let given = entries.into_iter().filter(|(_, value)| !value.is_null());
    let given = given.map(|(key, value)| (key.to_owned(), value));
    Value::Object(given.collect())
}

fn document(args: &PingArgs, with_key: bool, v6: bool) -> Result<Value, Failed> {
    let asked = server::asked(args)?;
    let named = named_apart(&args.loads);
    let parts = load::parts(&named);
    let loads: Vec<&Load> = named.iter().flat_map(|arg| &arg.loads).collect();
    Ok(table([
        ("name", json!(run_name(args.target()))),
        ("title", json!(format!("ping {}", args.target()))),
        ("world", json!("live")),
        ("path", json!({ "target": asked.host })),
        ("host", json!({ "condition": args.condition.name() })),
        ("design", json!({ "order": "as-written" })),
        ("probe", json!(probes(args, with_key, v6, asked)?)),
        (
            "load",
            json!(loads.iter().map(|load| section(load)).collect::<Vec<_>>()),
        ),
        ("case", cases(&loads, &parts)),
    ]))
}

/// What folders of its runs are called by.
fn run_name(target: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = target.chars().map(plain).take(MOST_OF_NAME).collect();
    format!("ping-{}", name.trim_matches('-'))
}

/// The probe, and beside requests on connections that are kept handshakes.
fn probes(
    args: &PingArgs,
    with_key: bool,
    v6: bool,
    asked: ServerProbe,
) -> Result<Vec<Value>, Failed> {
    let beside = asked.port_of_kept.and_then(|port| handshakes(args, port));
    let probe = probe(args, with_key, v6, asked.fields)?;
    Ok(std::iter::once(probe).chain(beside).collect())
}

/// Handshakes for as long as requests are due. A far kernel answers them at once, whatever its server does: they tell what the
/// network takes where acknowledgements come with the replies. In a closed loop of so many requests nobody knows how
/// long that is.
fn handshakes(args: &PingArgs, port: u16) -> Option<Value> {
    let gap = args.poisson.unwrap_or_else(|| interval(args));
    let every = gap.max(LEAST_HANDSHAKE_GAP);
    let requests = args
        .count
        .map(|count| count.div_ceil(args.burst.unwrap_or(1).into()));
    let lasts = requests
        .map(|requests| i64::try_from(requests).map_or(Nanos::MAX, |n| n.saturating_mul(gap)));
    if args.server.no_handshakes || (args.wait.is_some() && lasts.is_some()) {
        return None;
    }
    let part = Some(PART).filter(|_| !args.loads.is_empty());
    let duration = [lasts, args.duration].into_iter().flatten().min();
    let duration = duration.or(part);
    Some(table([
        ("name", json!(HANDSHAKE)),
        ("method", json!("tcp-connect")),
        ("port", json!(port)),
        ("class", json!(marks(args).0.to_string())),
        ("ttl", json!(args.ttl)),
        ("pacing", json!({ "every": write_duration(every) })),
        ("until_stopped", json!(duration.is_none().then_some(true))),
        ("duration", json!(duration.map(write_duration))),
        ("timeout", json!(write_duration(args.timeout))),
        ("interface", json!(args.interface)),
    ]))
}

fn probe(
    args: &PingArgs,
    with_key: bool,
    v6: bool,
    asked: Vec<(&'static str, Value)>,
) -> Result<Value, Failed> {
    let (dscp, ecn) = marks(args);
    let unbounded = args.count.is_none() && args.duration.is_none();
    let part = Some(PART).filter(|_| unbounded && !args.loads.is_empty());
    let duration = args.duration.or(part).map(write_duration);
    Ok(table(
        [
            ("name", json!(PROBE)),
            ("method", json!(args.method())),
            (
                "payload",
                payload(args, with_key, v6)?.map_or(Value::Null, bytes),
            ),
            ("reply_payload", args.reply_size.map_or(Value::Null, bytes)),
            ("class", json!(dscp.to_string())),
            ("ecn", json!(ecn)),
            ("ttl", json!(args.ttl)),
            ("dont_fragment", json!(args.dont_fragment)),
            (
                "fill",
                json!(args.pattern.as_ref().map(ToString::to_string)),
            ),
            ("pacing", pacing(args)),
            ("count", json!(args.count)),
            (
                "until_stopped",
                json!((unbounded && duration.is_none()).then_some(true)),
            ),
            ("duration", json!(duration)),
            ("timeout", json!(write_duration(args.timeout))),
            ("wait_mode", json!(args.wait_mode)),
            ("stamps", json!(args.stamps)),
            ("interface", json!(args.interface)),
        ]
        .into_iter()
        .chain(asked),
    ))
}

fn bytes(size: u32) -> Value {
    json!(format!("{size}B"))
}

/// `None`: a server is asked, and the request says its size.
fn payload(args: &PingArgs, with_key: bool, v6: bool) -> Result<Option<u32>, Failed> {
    let method = args.method();
    if method.asks_server() {
        return match args.size.or(args.ip_size) {
            None => Ok(None),
            Some(_) => Err(Failed::usage(format!(
                "{}: the size of a request of {method} follows from what it asks",
                size_flag(args)
            ))),
        };
    }
    let default = method.payload(with_key);
    let Some(ip) = args.ip_size else {
        return Ok(Some(args.size.unwrap_or(default)));
    };
    let Some(headers) = method.ip_size(v6, 0) else {
        return Err(Failed::usage(
            "--ip-size: the kernel cuts tcp into packets as it likes. Use -s",
        ));
    };
    let largest = if v6 { 40 + 65_535 } else { 65_535 };
    if ip > largest {
        return Err(Failed::usage(format!(
            "--ip-size {ip}B: an IP packet has at most {largest} B"
        )));
    }
    let payload = ip.checked_sub(headers);
    payload.map(Some).ok_or_else(|| {
        Failed::usage(format!(
            "--ip-size {ip}B: the headers alone take {headers} B"
        ))
    })
}

fn marks(args: &PingArgs) -> (Dscp, u8) {
    let class = args.class.unwrap_or_default();
    args.tos.unwrap_or((class, args.ecn.unwrap_or(0)))
}

/// From one packet to the next.
fn interval(args: &PingArgs) -> Nanos {
    let usual = match args.loads.is_empty() {
        true => SECOND,
        false => INTERVAL_WITH_LOAD,
    };
    args.interval.unwrap_or(usual)
}

fn pacing(args: &PingArgs) -> Value {
    let interval = write_duration(interval(args));
    match (args.wait, args.poisson, args.burst) {
        (Some(wait), ..) => json!({ "wait": write_duration(wait) }),
        (_, Some(mean), _) => json!({ "poisson": write_duration(mean) }),
        (_, _, Some(burst)) => json!({ "every": interval, "burst": burst }),
        _ => json!({ "every": interval }),
    }
}

/// The same loads, no two of one name.
fn named_apart(asked: &[LoadArg]) -> Vec<LoadArg> {
    let mut asked = asked.to_vec();
    let mut names: Vec<String> = Vec::new();
    for load in asked.iter_mut().flat_map(|arg| &mut arg.loads) {
        let before = names.iter().filter(|name| **name == load.name).count();
        names.push(load.name.clone());
        if before > 0 {
            load.name = format!("{} ({})", load.name, before + 1);
        }
    }
    asked
}

/// The `[[load]]` of a `--load`: the fields that it can set.
fn section(load: &Load) -> Value {
    let duration = |time: Option<delaylab_model::quantity::Duration>| {
        json!(time.map(|time| write_duration(time.0)))
    };
    let size = |size: Option<delaylab_model::quantity::Size>| {
        json!(size.map(|size| format!("{}B", size.0)))
    };
    table([
        ("name", json!(load.name)),
        ("kind", json!(load.kind.name())),
        ("direction", json!(load.direction.name())),
        ("class", json!(load.class.0.to_string())),
        ("streams", json!(load.streams)),
        (
            "rate",
            json!(load.rate.map(|rate| format!("{}bit/s", rate.0))),
        ),
        ("payload", size(load.payload)),
        ("window", size(load.window)),
        ("on", duration(load.on)),
        ("off", duration(load.off)),
        ("congestion_control", json!(load.congestion_control)),
        ("lead", json!(write_duration(LEAD))),
    ])
}

/// Without load first, then one part after the other.
fn cases(loads: &[&Load], parts: &[UnderPart]) -> Value {
    if parts.is_empty() {
        return Value::Null;
    }
    let case = |name: &str, sent: &[Load]| {
        let streams = loads.iter().map(|load| {
            let is_sent = sent.iter().any(|sent| sent.name == load.name);
            let streams = if is_sent { load.streams } else { 0 };
            (format!("load.\"{}\".streams", load.name), json!(streams))
        });
        json!({ "name": name, "set": streams.collect::<Map<_, _>>() })
    };
    let idle = case("idle", &[]);
    let loaded = parts.iter().map(|part| case(&part.label, &part.loads));
    json!(std::iter::once(idle).chain(loaded).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use delaylab_model::MILLISECOND;
    use delaylab_model::probe::{Fill, Pacing, Probe};
    use serde_json::Value;
    use std::path::Path;

    fn args(words: &str) -> PingArgs {
        let words = ["delaylab", "ping"].into_iter().chain(words.split(' '));
        match Cli::try_parse_from(words).unwrap().command {
            Command::Ping(args) => args.settled(),
            other => panic!("{other:?}"),
        }
    }

    fn resolved(words: &str) -> Resolved {
        let resolved = from_args(&args(words), false).map_err(|failed| failed.message);
        resolved.unwrap()
    }

    #[test]
    fn what_is_wrong_is_said_by_flags() {
        let wrong = |words: &str| from_args(&args(words), false).unwrap_err().message;
        assert_eq!(
            wrong("dns://127.0.0.1/example.org --fresh"),
            "a question by UDP has no connection: write `--transport tcp`, or leave --fresh out"
        );
    }

    fn probe_of(words: &str) -> Probe {
        resolved(words).planned[0].trial.probes[0].clone()
    }

    #[test]
    fn what_is_typed_is_what_is_sent() {
        let words = "127.0.0.1 --method udp -s 1KiB -Q 0xb9 -i 0.2s -c 5 -t 3 -W 2s -p ff --seed 7";
        let probe = probe_of(words);
        assert_eq!(
            (probe.payload, probe.dscp.to_string().as_str(), probe.ecn),
            (1024, "ef", 1)
        );
        assert_eq!(
            probe.pacing,
            Pacing::Every {
                interval_ns: 200 * MILLISECOND
            }
        );
        assert_eq!(
            (probe.count, probe.ttl, probe.timeout),
            (Some(5), Some(3), 2 * SECOND)
        );
        assert_eq!(probe.fill, Fill::Pattern(vec![255]));
        assert_eq!(resolved(words).seed, 7);
    }

    /// With nothing said, ping's defaults, until it is stopped.
    #[test]
    fn what_is_not_typed_is_usual() {
        let methods = [Method::Icmp, Method::Udp, Method::Tcp, Method::Stamp];
        for (method, payload) in methods.into_iter().zip([56, 56, 56, 100]) {
            let mut usual = Probe::new(PROBE, method);
            usual.payload = payload;
            assert_eq!(probe_of(&format!("::1 --method {method}")), usual);
        }
    }

    #[test]
    fn sizes_of_ip_packets() {
        assert_eq!(probe_of("127.0.0.1 --ip-size 40B").payload, 12);
        assert_eq!(probe_of("::1 --ip-size 9188B").payload, 9140);
        assert_eq!(probe_of("::1 -s 65527B").payload, 65_527);
        for wrong in ["-s 65508B", "--ip-size 20B", "--method tcp --ip-size 90B"] {
            assert!(from_args(&args(&format!("127.0.0.1 {wrong}")), false).is_err());
        }
    }

    #[test]
    fn errors_name_flags() {
        let refused = |words: &str| from_args(&args(words), false).unwrap_err().message;
        let words = "h --method tcp -s 64B --reply-size 65B";
        assert!(refused(words).ends_with("raise -s"), "{}", refused(words));
        let seed = refused("h --seed 18446744073709551615");
        assert!(seed.contains("2⁶³ − 1"), "{seed}");
        let by_payload = args("h");
        let named = |message| with_flag(message, &by_payload);
        assert_eq!(named("probe.ping.payload: too much"), "-s: too much");
        let host = "cannot resolve `ttl`: no such host";
        assert_eq!(named(host), host);
        let by_packet = args("127.0.0.1 --ip-size 30B");
        assert_eq!(
            with_flag("probe.ping.payload: 2 B are too few", &by_packet),
            "--ip-size 30B: 2 B are too few (of payload, behind the headers)"
        );
        let large = refused("127.0.0.1 --ip-size 70000B");
        assert_eq!(large, "--ip-size 70000B: an IP packet has at most 65535 B");
    }

    /// A run is read by the experiment that it records.
    #[test]
    fn what_is_recorded_is_what_is_carried_out() {
        for words in [
            "127.0.0.1",
            "::1 --method tcp --wait 0s -c 3 -s 9KiB --reply-size 10B -Q 0xb9 -I lo -M do -W 20ms",
            "a.b --method udp --burst 3 -i 1500us -w 1min -p 00ff --class 13 --condition quiet",
            "h --method stamp --poisson 3ms --stamps none --wait-mode spin -c 7",
            "h --load tcp:4:bbr:64KiB --load cbr:1.5Mbit/s:ef:2:1400B --load cbr:1.5Mbit/s:ef:2:1400B",
            "h --load rrul --load on-off:10Mbit/s -c 9",
        ] {
            let resolved = resolved(words);
            let text = resolved.toml.clone();
            let source = Source {
                name: "experiment.toml".to_owned(),
                text,
            };
            let again = resolve::again(source, &Value::Null);
            assert_eq!(again.unwrap().planned, resolved.planned, "{words}");
        }
    }

    #[test]
    fn load_is_sent_part_by_part_after_none() {
        let planned = resolved("h --load rrul:2 -w 3s").planned;
        let sent: Vec<(String, Vec<u32>)> = planned
            .iter()
            .map(|planned| {
                let loads = planned.trial.loads.iter();
                let level = planned.factors[0].1.to_string();
                (level, loads.map(|load| load.streams).collect())
            })
            .collect();
        let expected = [
            ("idle", [0, 0]),
            ("rrul:2 up", [2, 0]),
            ("rrul:2 down", [0, 2]),
            ("rrul:2 both", [2, 2]),
        ];
        assert_eq!(
            sent,
            expected.map(|(name, of)| (name.to_owned(), of.to_vec()))
        );
        assert_eq!(planned[0].trial.lead(), 0);
        assert_eq!(planned[1].trial.lead(), LEAD);
    }

    #[test]
    fn where_it_is_saved_may_be_said_or_not() {
        let runs = |words: &str| {
            let args = args(words);
            assert_eq!(args.target(), "h", "{words}");
            args.runs().map(Path::to_owned)
        };
        assert_eq!(runs("h"), None);
        assert_eq!(runs("h --save"), Some("runs".into()));
        assert_eq!(runs("--save h"), Some("runs".into()));
        assert_eq!(runs("h --save there"), Some("there".into()));
        assert_eq!(runs("--save there h"), Some("there".into()));
        assert!(from_args(&args("--save"), false).is_err());
    }
}
