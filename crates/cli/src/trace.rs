//! `delaylab trace`.

use crate::args::supplied;
use crate::args::trace::TraceArgs;
use crate::args::values;
use crate::exit::{Exit, Failed};
use crate::ping::system_info;
use crate::terminal;
use delaylab_kernel::signals;
use delaylab_live::path_trace::{PathTracing, names};
use delaylab_model::MILLISECOND;
use delaylab_model::dscp::Dscp;
use delaylab_runner::target;
use delaylab_traffic::path_trace::{PathTrace, Settings};
use delaylab_view::trace::Traced;
use delaylab_view::trace::json::Document;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// As traceroute has them.
const UDP_PORT: u16 = 33434;
const TCP_PORT: u16 = 80;
const PAYLOAD: u32 = 32;
/// From one packet to the next: a path of 30 hops is under way in 60 ms.
const GAP: i64 = 2 * MILLISECOND;
/// So long names are waited for.
const NAMES_WITHIN: Duration = Duration::from_secs(2);

/// Runs the command.
pub fn run(args: &TraceArgs) -> Result<(), Failed> {
    let tracing = planned(args)?;
    signals::catch_stop()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))?;
    let trace = tracing.run(&mut progress())?;
    terminal::done();
    let names = if args.numeric {
        BTreeMap::new()
    } else {
        names::look_up(&routers(&trace), NAMES_WITHIN)
    };
    let traced = Traced {
        stopped: signals::stop().is_asked(),
        ..Traced::new(
            &args.target,
            tracing.target,
            tracing.method,
            tracing.payload as u32,
            &trace,
            &names,
        )
    };
    print(&traced, args.json)?;
    if traced.is_reached() {
        Ok(())
    } else {
        Err(Failed::new(Exit::Unreachable, ""))
    }
}

fn planned(args: &TraceArgs) -> Result<PathTracing, Failed> {
    let default_port = if args.method.is_stream() {
        TCP_PORT
    } else {
        UDP_PORT
    };
    let port = args.port.unwrap_or(default_port);
    let target: SocketAddr = target::resolve(&args.target, port, values::family(args.v4, args.v6))?;
    let default_size = if args.method.is_stream() { 0 } else { PAYLOAD };
    Ok(PathTracing {
        target,
        method: args.method,
        payload: args.size.unwrap_or(default_size) as usize,
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
            one_at_a_time: false,
        },
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

fn routers(trace: &PathTrace) -> std::collections::BTreeSet<IpAddr> {
    let answers = trace.packets().iter().filter_map(|p| p.answer.as_ref());
    answers.map(|answer| answer.from).collect()
}

/// On a terminal, a line that says how far it is.
fn progress() -> impl FnMut(&PathTrace) {
    let shown = io::stderr().is_terminal();
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
    terminal::document(&Document::new(traced, &system_info(), &supplied()))
}
