//! `delaylab reflect`.

use crate::args::reflect::{AcceptedLoad, ReflectArgs};
use crate::exit::{Exit, Failed};
use crate::reflect_keys::{self, KeyFiles};
use crate::stop::catch_stop;
use crate::terminal;
use delaylab_kernel::privilege::{self, lock_down};
use delaylab_kernel::signals;
use delaylab_live::reflect::bind::Bound;
use delaylab_live::reflect::{DEFAULT_PORT, LOAD_PORT, serve_with_keys};
use delaylab_model::units::write_duration;
use delaylab_runner::own_reflector::KEY_VARIABLE;
use delaylab_traffic::reflector::{Access, Keys, Policy, Status};
use delaylab_wire::stamp;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Runs the command.
pub fn run(args: &ReflectArgs) -> Result<(), Failed> {
    let access = access(args)?;
    let keyed = matches!(access, Access::Keyed(_));
    check_ports(args)?;
    // Before ports are bound, which its process would hold too.
    let mut key_files = if args.key_file.is_empty() {
        // Without a terminal that may be closed it is a service, whose SIGHUP asks it to read its files again: there are
        // none.
        if !reflect_keys::has_terminal() {
            reflect_keys::catch_hangup()?;
        }
        None
    } else {
        Some(KeyFiles::watch(args.key_file.clone(), args.quiet)?)
    };
    let addresses = addresses(args, &access)?;
    let policy = policy(args, access);
    let mut bound = Bound::default();
    let echo = bound
        .open_echo(&addresses, args.port.clone())
        .map_err(Failed::environment)?;
    let stamp = open_stamp(args, &mut bound, &addresses)?;
    let load = if args.accept_load.is_some() {
        bound
            .open_load(&addresses, load_port(args))
            .map_err(Failed::environment)?
    } else {
        Vec::new()
    };
    catch_stop()?;
    let holds = lock_down(privilege::Options::default())
        .map_err(|error| Failed::environment(format!("cannot give up privileges: {error}")))?;
    if args.with_input {
        end_with_input();
    }
    if !args.quiet {
        announce(&echo, &stamp, &load, &policy, keyed);
        terminal::say(format!("privileges    {holds}"));
    }
    let stops = || signals::stop().is_asked() || reflect_keys::is_terminal_gone();
    let mut renewed = key_files.as_mut().map(|files| || files.renewed());
    let new_keys = renewed
        .as_mut()
        .map(|renewed| renewed as &mut dyn FnMut() -> Option<Keys>);
    let status = serve_with_keys(bound, policy, args.wait_mode, &stops, new_keys)
        .map_err(|error| Failed::new(Exit::Internal, format!("cannot serve: {error}")))?;
    if !args.quiet {
        print_status(&status);
    }
    Ok(())
}

/// Whoever started this holds the other end of the pipe, and lets it go by ending in any way. (The
/// kernel's signal for a parent's death is forgotten when privileges are given up.) To be called
/// once they are: a thread keeps what it has when it starts.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
}

fn access(args: &ReflectArgs) -> Result<Access, Failed> {
    // A key in a file is refused by clap.
    if args.open && std::env::var_os(KEY_VARIABLE).is_some() {
        return Err(Failed::usage(format!(
            "--open answers without a key, and a key is set: unset {KEY_VARIABLE}, or leave --open out"
        )));
    }
    let keys = match args.open {
        true => None,
        false => reflect_keys::read(&args.key_file)?,
    };
    match keys {
        Some(_) if args.plain_echo => Err(Failed::usage(format!(
            "--plain-echo answers without a key, and a key is set: unset {KEY_VARIABLE}, or leave --plain-echo out"
        ))),
        Some(keys) => Ok(Access::Keyed(keys)),
        None if args.stamp_any_clock => Err(Failed::usage(
            "--stamp-any-clock is for a reflector with a key: without one, STAMP senders are answered whatever their \
             clocks say",
        )),
        None => Ok(Access::Open {
            allow: args.allow.clone(),
        }),
    }
}

fn stamp_port(args: &ReflectArgs) -> u16 {
    args.stamp_port.unwrap_or(stamp::PORT)
}

fn load_port(args: &ReflectArgs) -> u16 {
    args.load_port.unwrap_or(LOAD_PORT)
}

/// No two services have the same port: the second could not be bound, as if another process had it.
fn check_ports(args: &ReflectArgs) -> Result<(), Failed> {
    let one = |port: u16| port..=port;
    let stamp = (!args.no_stamp).then(|| ("--stamp-port", one(stamp_port(args))));
    let load = args
        .accept_load
        .map(|_| ("--load-port", one(load_port(args))));
    let mut taken = vec![("--port", args.port.clone())];
    for (flag, ports) in stamp.into_iter().chain(load) {
        for (other, theirs) in &taken {
            // 0 is any that is free.
            if let Some(port) = ports
                .clone()
                .find(|port| *port != 0 && theirs.contains(port))
            {
                return Err(Failed::usage(format!(
                    "{other} and {flag} both have port {port}: choose another with {flag}"
                )));
            }
        }
        taken.push((flag, ports));
    }
    Ok(())
}

fn addresses(args: &ReflectArgs, access: &Access) -> Result<Vec<IpAddr>, Failed> {
    let this_host_alone = matches!(access, Access::Open { allow } if allow.is_empty());
    let outside = args.bind.iter().find(|address| !address.is_loopback());
    match (this_host_alone, outside) {
        (true, Some(address)) => Err(Failed::usage(format!(
            "{address} can be reached by other hosts, and without a key any of them could use this host to \
             send packets. Give it a key (--key-file FILE), or say to whom it is open (--open --allow 192.0.2.0/24)"
        ))),
        _ if !args.bind.is_empty() => Ok(without_others_addresses(&args.bind)),
        (true, None) => Ok(of_this_host(Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST)),
        (false, _) => Ok(of_this_host(Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED)),
    }
}

/// Each address once, and none of a family of which every address is served: a port is bound once.
fn without_others_addresses(given: &[IpAddr]) -> Vec<IpAddr> {
    let is_every = |other: &IpAddr, address: &IpAddr| {
        other.is_unspecified() && other.is_ipv4() == address.is_ipv4()
    };
    let mut addresses = Vec::new();
    for address in given {
        let is_served =
            given.iter().any(|other| is_every(other, address)) && !address.is_unspecified();
        if !is_served && !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    addresses
}

/// A default that a host with one family alone can serve too.
fn of_this_host(v4: Ipv4Addr, v6: Ipv6Addr) -> Vec<IpAddr> {
    let families = [IpAddr::from(v4), IpAddr::from(v6)].into_iter();
    let addresses: Vec<_> = families.filter(|&ip| can_be_bound(ip)).collect();
    match addresses.is_empty() {
        // The error says what lacks.
        true => vec![v4.into()],
        false => addresses,
    }
}

/// Loopback itself lacks an address where a family is switched off.
fn can_be_bound(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn policy(args: &ReflectArgs, access: Access) -> Policy {
    let mut policy = Policy::new(access);
    let bytes = args.max_bandwidth.div_ceil(8);
    policy.limits.each.packets = args.max_rate;
    policy.limits.each.bytes = bytes;
    policy.limits.total.packets = args.max_total_rate;
    policy.limits.total.bytes = bytes.saturating_mul(2);
    policy.plain_echo = args.plain_echo;
    policy.stamp_any_clock = args.stamp_any_clock;
    policy.max_sessions = args.max_sessions;
    policy.max_duration = args.max_duration;
    policy.max_payload = args.max_size;
    policy.sends_load = args.accept_load != Some(AcceptedLoad::Up);
    policy
}

/// STAMP on its well-known port where that is allowed; a port that was asked for must be had.
fn open_stamp(
    args: &ReflectArgs,
    bound: &mut Bound,
    addresses: &[IpAddr],
) -> Result<Vec<SocketAddr>, Failed> {
    if args.no_stamp {
        return Ok(Vec::new());
    }
    match bound.open_stamp(addresses, stamp_port(args)) {
        Ok(opened) => Ok(opened),
        Err(error) if args.stamp_port.is_none() && error.is_privilege() => {
            terminal::say(format!("delaylab: stamp is not served: {error}"));
            Ok(Vec::new())
        }
        Err(error) => Err(Failed::environment(error)),
    }
}

fn announce(
    echo: &[SocketAddr],
    stamp: &[SocketAddr],
    load: &[SocketAddr],
    policy: &Policy,
    keyed: bool,
) {
    let list = |addresses: &[SocketAddr]| {
        addresses
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    terminal::say(format!("udp and tcp   {}", list(echo)));
    if !stamp.is_empty() {
        terminal::say(format!("stamp         {}", list(stamp)));
    }
    if !load.is_empty() {
        terminal::say(format!("takes load    {}", list(load)));
        let sends = match policy.sends_load {
            true => "to those who are answered and ask for it over tcp",
            false => "no",
        };
        terminal::say(format!("sends load    {sends}"));
    }
    terminal::say(format!("answers       {}", who(&policy.access)));
    if policy.plain_echo {
        terminal::say("plain echo    of any udp packet, at most 1000/s to one port");
    }
    terminal::say(format!(
        "at most       {} packets/s to one network, {} in all; {} sessions of {}",
        policy.limits.each.packets,
        policy.limits.total.packets,
        policy.max_sessions,
        write_duration(policy.max_duration),
    ));
    let key = if keyed { " --key-file FILE" } else { "" };
    let usage = |head, at: Option<&SocketAddr>, usual, method| {
        let Some(at) = at else { return };
        let port = match at.port() == usual {
            true => String::new(),
            false => format!(" --port {}", at.port()),
        };
        let host = reachable(at.ip());
        terminal::say(format!(
            "{head:<13} delaylab ping {host} --method {method}{port}{key}"
        ));
    };
    usage("to use it", echo.first(), DEFAULT_PORT, "udp");
    usage("", stamp.first(), stamp::PORT, "stamp");
}

/// What to type for an address that means every address.
fn reachable(address: IpAddr) -> String {
    if address.is_unspecified() {
        "THIS-HOST".to_owned()
    } else {
        address.to_string()
    }
}

fn who(access: &Access) -> String {
    match access {
        Access::Keyed(keys) if keys.names().count() == 1 => "everybody who has the key".to_owned(),
        Access::Keyed(keys) => {
            let names: Vec<_> = keys.names().collect();
            format!("everybody who has one of the keys {}", names.join(", "))
        }
        Access::Open { allow } if allow.is_empty() => "this host alone".to_owned(),
        Access::Open { allow } => {
            let prefixes: Vec<_> = allow.iter().map(ToString::to_string).collect();
            format!("without a key: {}", prefixes.join(", "))
        }
    }
}

fn print_status(status: &Status) {
    terminal::say(format!(
        "answered      {} packets, {} bytes",
        status.replies, status.reply_bytes
    ));
    let dropped: Vec<_> = status
        .drops
        .iter()
        .filter(|&(_, &n)| n > 0)
        .map(|(reason, n)| format!("{n} {reason}"))
        .collect();
    if !dropped.is_empty() {
        terminal::say(format!("not answered  {}", dropped.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_another_one_covers_is_not_bound_again() {
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
        let every_v4 = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        for (given, bound) in [
            (&[v6, v4, v6][..], &[v6, v4][..]),
            (&[v4, every_v4, v6, every_v4], &[every_v4, v6]),
        ] {
            assert_eq!(without_others_addresses(given), bound);
        }
    }
}
