//! `delaylab trace`.

use crate::args::trace::TraceArgs;
use crate::args::values;
use crate::exit::{Exit, Failed};
use crate::server_target::{method_of_url, name_server, unknown_scheme, with_port};
use crate::stop::catch_stop;
use crate::terminal;
use delaylab_kernel::signals;
use delaylab_model::MILLISECOND;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::request::{DnsTransport, Question, Url};
use delaylab_runner::path_tracing::{TraceOptions, Tracing};
use delaylab_traffic::path_trace::{AtOnce, Packets, PathTrace, Settings};
use delaylab_view::trace::Traced;
use delaylab_view::trace::json::{Config, Document};
use std::io;

/// As traceroute has them.
const UDP_PORT: u16 = 33434;
const TCP_PORT: u16 = 80;
const PAYLOAD: u32 = 32;
/// Every name server has an answer to it.
const ANY_QUESTION: &str = ". NS";
/// From one packet to the next: a path of 30 hops is under way in 60 ms.
const GAP: i64 = 2 * MILLISECOND;

/// Runs the command.
pub fn run(args: &TraceArgs) -> Result<(), Failed> {
    let method = method(args)?;
    let tracing = Tracing::new(options(args, method)?)?;
    catch_stop()?;
    let path = tracing.run(&mut progress())?;
    terminal::done();
    let traced = Traced {
        stopped: signals::stop().is_asked(),
        ..Traced::new(
            &args.target,
            path.address,
            method,
            &path.packets,
            &path.trace,
            &path.names,
        )
    };
    print(&traced, args.json)?;
    if traced.is_reached() {
        Ok(())
    } else {
        Err(Failed::new(Exit::Unreachable, ""))
    }
}

/// How it asks: as told, or as a URL says.
fn method(args: &TraceArgs) -> Result<Method, Failed> {
    let by_url = method_of_url(&args.target);
    let method = args.method.or(by_url).unwrap_or(Method::Udp);
    if args.target.contains("://") && by_url != Some(method) {
        let target = &args.target;
        return Err(match by_url {
            Some(of_url) => Failed::usage(format!(
                "`{target}` is asked by {of_url}, not by {method}: leave --method out, or name the host and --port"
            )),
            None => unknown_scheme(target),
        });
    }
    let question = args.question.is_some() || args.transport.is_some();
    if question && !method.has_field("question") {
        let what = "--question, --transport: they go with --method dns";
        return Err(Failed::usage(what));
    }
    if args.size.is_some() && method.asks_server() {
        let what = format!("--size: a packet of {method} has the size that it needs");
        return Err(Failed::usage(what));
    }
    Ok(method)
}

/// Where packets go, and what they are.
struct TraceTarget {
    host: String,
    port: u16,
    packets: Packets,
}

impl TraceTarget {
    fn new(args: &TraceArgs, method: Method) -> Result<Self, Failed> {
        match method {
            Method::Http => Self::web_server(args),
            Method::Dns => Self::name_server(args),
            _ => Ok(Self::host(args, method)),
        }
    }

    fn host(args: &TraceArgs, method: Method) -> Self {
        let (host, port) = match method.has_port() {
            true => with_port(&args.target, args.port),
            false => (args.target.clone(), args.port),
        };
        let (usual_port, usual_size) = match method.is_stream() {
            true => (TCP_PORT, 0),
            false => (UDP_PORT, PAYLOAD),
        };
        Self {
            host,
            port: port.unwrap_or(usual_port),
            packets: match method.is_handshake() {
                true => Packets::Handshakes,
                false => Packets::Crafted {
                    method,
                    payload: args.size.unwrap_or(usual_size),
                },
            },
        }
    }

    fn web_server(args: &TraceArgs) -> Result<Self, Failed> {
        if !args.target.contains("://") {
            return Ok(Self::host(args, Method::TcpConnect));
        }
        if args.port.is_some() {
            return Err(Failed::usage(
                "--port: the URL says the port, as in http://example.org:8080/",
            ));
        }
        let url: Url = (args.target.parse()).map_err(Failed::usage)?;
        Ok(Self {
            port: url.port,
            host: url.host,
            packets: Packets::Handshakes,
        })
    }

    fn name_server(args: &TraceArgs) -> Result<Self, Failed> {
        let server = name_server(&args.target, args.port, args.transport)?;
        let (host, port) = with_port(&server.host, server.port);
        let transport = server.transport.unwrap_or_default();
        let question = args.question.clone().or(server.question);
        let question: Question = question
            .as_deref()
            .unwrap_or(ANY_QUESTION)
            .parse()
            .map_err(Failed::usage)?;
        Ok(Self {
            host,
            port: port.unwrap_or(transport.usual_port()),
            packets: match transport {
                DnsTransport::Udp => Packets::Questions(question),
                DnsTransport::Tcp | DnsTransport::Tls => Packets::Handshakes,
            },
        })
    }
}

fn options(args: &TraceArgs, method: Method) -> Result<TraceOptions, Failed> {
    let aim = TraceTarget::new(args, method)?;
    Ok(TraceOptions {
        host: aim.host,
        port: aim.port,
        family: values::family(args.v4, args.v6),
        packets: aim.packets,
        interface: args.interface.clone(),
        settings: Settings {
            classes: distinct(&args.class)?,
            ecn: args.ecn,
            first_ttl: args.first_ttl,
            max_ttl: args.max_ttl,
            queries: args.queries,
            interval: args.interval,
            gap: GAP,
            timeout: args.timeout,
            give_up: args.max_unknown,
            at_once: AtOnce::Many,
        },
        with_names: !args.numeric,
        stop: signals::stop(),
    })
}

fn distinct(classes: &[Dscp]) -> Result<Vec<Dscp>, Failed> {
    for (at, class) in classes.iter().enumerate() {
        if classes[..at].contains(class) {
            let twice = format!("--class: {class} is there twice: compare it with another class");
            return Err(Failed::usage(twice));
        }
    }
    Ok(classes.to_vec())
}

/// On a terminal, a line that says how far it is.
fn progress() -> impl FnMut(&PathTrace) {
    let shown = terminal::can_redraw();
    move |trace| {
        if shown {
            let packets = trace.packets();
            let answered = packets.iter().filter(|p| p.answer.is_some()).count();
            let furthest = packets.iter().map(|packet| packet.ttl).max().unwrap_or(0);
            terminal::doing(format!(
                "{} packets sent as far as hop {furthest}, {answered} answered ...",
                packets.len()
            ));
        }
    }
}

fn print(traced: &Traced<'_>, json: bool) -> Result<(), Failed> {
    if !json {
        let style = terminal::style(&io::stdout(), false);
        return terminal::print(delaylab_terminal::trace::render(traced, &style));
    }
    terminal::document(&Document::new(traced), Config::new(traced))
}
