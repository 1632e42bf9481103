//! `delaylab bench`: a procedure of the device benchmark as an experiment, written and run.

use crate::args::bench::{BenchArgs, BenchCommand, ProcedureArgs};
use crate::exit::Failed;
use crate::experiment::run::{options, run_experiment};
use crate::terminal;
use delaylab_lab::experiment::{Choices, Experiment, Source};
use delaylab_model::experiment::WorldName;
use delaylab_model::units::{parse_duration, write_duration};
use delaylab_model::words::capitalised;
use delaylab_procedure::registry::Description;
use delaylab_procedure::{Effort, procedures};
use delaylab_runner::resolve::drawn_seed;
use delaylab_view::published::list::{Procedure, Procedures, ProceduresConfig};
use serde_json::json;
use std::fmt::Write;
use std::io;
use std::num::NonZero;

/// Of the devices that delaylab builds: what receives is slower, so that a queue can grow.
const RATE: &str = "100Mbit/s";
const EGRESS_RATE: &str = "10Mbit/s";
const BUFFER: &str = "64KiB";
/// How long a device that is reset is down.
const RESET: i64 = 200 * delaylab_model::MILLISECOND;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), Failed> {
    if let Some(BenchCommand::List { json }) = args.command {
        return list(json);
    }
    let args = &args.procedure;
    let procedure = find(args.name.as_deref().unwrap_or_default())?;
    let world = world(args)?;
    if world == WorldName::Live {
        refuse_live(procedure)?;
    }
    let text = experiment(args, procedure, world)?;
    if args.show_experiment {
        if args.quick || args.seed.is_some() || !args.sets.is_empty() {
            return Err(Failed::usage(
                "--show-experiment prints a file, and --set, --seed and --quick are for `delaylab run`: give them there",
            ));
        }
        return terminal::print(&text);
    }
    let source = Source {
        name: format!("bench {}", procedure.name),
        text,
    };
    let experiment = Experiment::read(source)?;
    let choices = Choices {
        world: Some(world),
        quick: args.quick,
        sets: args.sets.clone(),
        seed: args.seed,
        drawn_seed: drawn_seed(),
        ..Choices::default()
    };
    run_experiment(&experiment, &choices, &options(), &args.shown)
}

/// What needs more of a device than its ports.
fn refuse_live(procedure: &Description) -> Result<(), Failed> {
    let why = match procedure.name {
        "reset" => {
            "delaylab resets devices that it builds: use the world testbed or sim. Of your own, look at the longest \
             silence of a stream while you reset it"
        }
        "incast" => {
            "TCP goes between hosts, and ports of this host are none: use the world testbed or sim. Of a device of \
             your own, `microburst` says how large a burst passes"
        }
        _ => return Ok(()),
    };
    Err(Failed::usage(why))
}

fn list(json: bool) -> Result<(), Failed> {
    if json {
        let one = |known: &Description| Procedure {
            name: known.name,
            rfc: known.rfc,
            about: known.about.replace('\n', " "),
            needs: known.needs,
        };
        let procedures = procedures().iter().map(one).collect();
        return terminal::document(&Procedures { procedures }, ProceduresConfig {});
    }
    let mut out = String::new();
    for known in procedures() {
        let _ = writeln!(out, "{}  ({})", known.name, known.rfc);
        for line in known.about.lines() {
            let _ = writeln!(out, "    {}", line.trim());
        }
    }
    let style = terminal::style(&io::stdout(), false);
    terminal::print(style.glyphs(out))
}

fn find(name: &str) -> Result<&'static Description, Failed> {
    Description::named(name).map_err(Failed::usage)
}

fn world(args: &ProcedureArgs) -> Result<WorldName, Failed> {
    match (args.world, args.ports.is_empty()) {
        (Some(WorldName::Live), true) => Err(Failed::usage(
            "a live device is at ports of this host: name them, --port eth1 --port eth2",
        )),
        (Some(world @ (WorldName::Testbed | WorldName::Sim)), false) => Err(Failed::usage(
            format!("--port is for the world `live`: the world `{world}` builds its own device"),
        )),
        (Some(world), _) => Ok(world),
        (None, false) => Ok(WorldName::Live),
        (None, true) => Ok(WorldName::Testbed),
    }
}

/// Frames from one node or interface to another.
struct FrameStream {
    name: String,
    from: String,
    to: String,
}

/// The experiment file.
fn experiment(
    args: &ProcedureArgs,
    procedure: &Description,
    world: WorldName,
) -> Result<String, Failed> {
    let streams = streams(args, procedure)?;
    let mut out = String::new();
    let about = procedure.about.replace('\n', " ");
    let _ = writeln!(out, "name = \"bench-{}\"", procedure.name);
    let _ = writeln!(
        out,
        "title = \"{} ({})\"",
        title(procedure.name),
        procedure.rfc
    );
    let _ = writeln!(out, "about = \"{about}\"\nworld = \"{}\"", world.name());
    for stream in &streams {
        out += &probe(args, stream);
    }
    let rate = match (args.rate.as_deref(), world) {
        (Some(rate), _) => rate,
        // A device that is asked for a tenth of its line would seem to forward all of it.
        (None, WorldName::Live) => {
            return Err(Failed::usage(
                "loads are shares of the line rate of the ports that send: give it, --rate 1Gbit/s",
            ));
        }
        (None, _) => RATE,
    };
    let _ = write!(out, "\n[path]\nrate = {}\n", quoted(rate));
    if world != WorldName::Live {
        out += &device(args, procedure, &streams);
    }
    out += &design(args, procedure, world);
    Ok(out)
}

fn is_head_of_line(procedure: &Description) -> bool {
    procedure.name == "head-of-line-blocking"
}

/// As it stands at the head of a report.
fn title(name: &str) -> String {
    if name == "mlrsearch" {
        return "MLRsearch".to_owned();
    }
    capitalised(&name.replace('-', " "))
}

fn streams(args: &ProcedureArgs, procedure: &Description) -> Result<Vec<FrameStream>, Failed> {
    let stream = |name: &str, from: &str, to: &str| FrameStream {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let is_head_of_line = is_head_of_line(procedure);
    if !args.ports.is_empty() {
        return match args.ports.as_slice() {
            [a, b, c, d] if is_head_of_line => Ok(vec![
                stream("a to c", a, c),
                stream("a to d", a, d),
                stream("b to d", b, d),
            ]),
            _ if is_head_of_line => Err(Failed::usage(
                "head-of-line-blocking needs four ports: two that send, two that receive",
            )),
            [senders @ .., to] if !senders.is_empty() => {
                let each = senders.iter().map(|from| stream(from, from, to));
                Ok(each.collect())
            }
            _ => Err(Failed::usage(
                "a device has a port that frames go in by and one that they come out of: give --port twice or \
                 more often",
            )),
        };
    }
    if is_head_of_line {
        if args.senders.is_some() {
            return Err(Failed::usage(
                "head-of-line-blocking has two ports that send: leave --senders out",
            ));
        }
        return Ok(vec![
            stream("a to c", "a1", "b1"),
            stream("a to d", "a1", "b2"),
            stream("b to d", "a2", "b2"),
        ]);
    }
    let senders = args.senders.map_or(procedure.streams, NonZero::get);
    let each = (1..=senders).map(|i| stream(&format!("a{i}"), &format!("a{i}"), "b1"));
    Ok(each.collect())
}

fn probe(args: &ProcedureArgs, stream: &FrameStream) -> String {
    let [name, from, to] = [&stream.name, &stream.from, &stream.to].map(|text| quoted(text));
    let mut out = format!(
        "\n[[probe]]\nname = {name}\nmethod = \"frame\"\nfrom = {from}\nto = {to}\ncount = 1\n\
         frame_size = \"1518B\"\npacing = {{ load = \"100%\" }}\n"
    );
    if let Some(class) = args.class {
        let _ = writeln!(out, "class = \"{class}\"");
    }
    if let Some(vlan) = args.vlan {
        let _ = writeln!(out, "vlan = {vlan}");
    }
    if args.ipv6 {
        out += "family = \"v6\"\n";
    }
    out
}

/// A switch with a link to each port; the ports that receive are slower than those that send.
fn device(args: &ProcedureArgs, procedure: &Description, streams: &[FrameStream]) -> String {
    let egress = args.egress_rate.as_deref().unwrap_or(EGRESS_RATE);
    let ends = |of: fn(&FrameStream) -> &String| {
        let mut nodes: Vec<_> = streams.iter().map(of).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    };
    let mut out = String::new();
    let mut links = String::new();
    for from in ends(|stream| &stream.from) {
        let _ = write!(out, "\n[[path.node]]\nname = \"{from}\"\nkind = \"host\"\n");
        let _ = write!(
            links,
            "\n[[path.link]]\nname = \"in-{from}\"\nfrom = \"{from}\"\nto = \"s1\"\n"
        );
    }
    for to in ends(|stream| &stream.to) {
        let _ = write!(out, "\n[[path.node]]\nname = \"{to}\"\nkind = \"host\"\n");
        let _ = write!(
            links,
            "\n[[path.link]]\nname = \"out-{to}\"\nfrom = \"s1\"\nto = \"{to}\"\nrate = {}\n",
            quoted(egress)
        );
    }
    let discipline = args.device.as_deref().unwrap_or("fifo");
    let buffer = args.buffer.as_deref().unwrap_or(BUFFER);
    let (discipline, buffer) = (quoted(discipline), quoted(buffer));
    out += "\n[[path.node]]\nname = \"s1\"\nkind = \"switch\"\n";
    out += &links;
    let _ = write!(
        out,
        "\n[path.switch]\ndiscipline = {discipline}\nbuffer = {buffer}\n"
    );
    if procedure.name == "reset" {
        let _ = writeln!(out, "reset = {}", reset(args, &Effort::rfc()));
        let _ = write!(
            out,
            "\n[quick.path.switch]\nreset = {}\n",
            reset(args, &Effort::quick())
        );
    }
    out
}

/// In the middle of a trial, also of one that is set.
fn reset(args: &ProcedureArgs, effort: &Effort) -> String {
    let set = |field: &str| {
        let path = format!("design.procedure.{field}");
        let set = args.sets.iter().rfind(|(name, _)| *name == path);
        set.and_then(|(_, time)| parse_duration(time).ok())
    };
    let settle = set("settle").unwrap_or(effort.settle);
    let trial = set("trial").unwrap_or(effort.trial);
    let at = write_duration(settle.saturating_add(trial / 2));
    format!("{{ at = \"{at}\", lasts = \"{}\" }}", write_duration(RESET))
}

fn design(args: &ProcedureArgs, procedure: &Description, world: WorldName) -> String {
    let mut out = format!("\n[design.procedure]\nname = \"{}\"\n", procedure.name);
    if !args.sizes.is_empty() {
        let sizes: Vec<_> = args.sizes.iter().map(|size| quoted(size.trim())).collect();
        let _ = writeln!(out, "sizes = [{}]", sizes.join(", "));
    }
    if let (Some(rate), WorldName::Live) = (&args.egress_rate, world) {
        let _ = writeln!(out, "egress_rate = {}", quoted(rate));
    }
    let quick = Effort::quick();
    let time = |ns| quoted(&write_duration(ns));
    let _ = write!(
        out,
        "\n[quick.design.procedure]\ntrial = {}\nlatency = {}\nlatency_repeats = {}\nburst = {}\n\
         burst_repeats = {}\noverload = {}\nrepeats = {}\ndrain = {}\nsettle = {}\n",
        time(quick.trial),
        time(quick.latency),
        quick.latency_repeats,
        time(quick.burst),
        quick.burst_repeats,
        time(quick.overload),
        quick.repeats,
        time(quick.drain),
        time(quick.settle),
    );
    if procedure.name == "buffering" {
        out += "excess = \"10%\"\n";
    }
    out
}

/// As TOML has text.
fn quoted(text: &str) -> String {
    // A string of JSON is one of TOML.
    json!(text).to_string()
}
