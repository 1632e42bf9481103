//! What UDP of a network namespace had no room for (proc_net_snmp(5)).
//!
//! A socket's own count ([`crate::socket_options::dropped`]) also has datagrams whose checksum was wrong: of longer ones
//! Linux learns that only when they are read.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The counters of the namespace in which they were opened. They can be read once nothing may be opened any more.
#[derive(Debug)]
pub struct UdpErrors {
    v4: Option<File>,
    v6: Option<File>,
}

/// What counts datagrams that had no room: in a socket's buffer, and in all of UDP's memory.
const NO_ROOM: [&str; 2] = ["RcvbufErrors", "MemErrors"];
/// Longer than either file.
const LONGEST: usize = 16 * 1024;

impl UdpErrors {
    /// Those of the calling thread's namespace.
    pub fn open() -> Self {
        let open = |name| File::open(format!("/proc/thread-self/net/{name}")).ok();
        Self {
            v4: open("snmp"),
            v6: open("snmp6"),
        }
    }

    /// Datagrams for which there was no room since the namespace was made; `None` where the kernel does not say.
    pub fn no_room(&self, v6: bool) -> Option<u64> {
        let file = if v6 { &self.v6 } else { &self.v4 };
        let mut text = [0; LONGEST];
        let length = file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        if v6 { of_lines(text) } else { of_columns(text) }
    }
}

/// A line of names and one of numbers.
fn of_columns(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, numbers) = (lines.next()?, lines.next()?);
    sum(names.split_whitespace().zip(numbers.split_whitespace()))
}

/// A line for each.
fn of_lines(text: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("Udp6"));
    sum(lines.filter_map(|line| line.split_once(char::is_whitespace)))
}

fn sum<'a>(counts: impl Iterator<Item = (&'a str, &'a str)>) -> Option<u64> {
    let counted = counts.filter(|(name, _)| NO_ROOM.contains(name));
    let numbers = counted.map(|(_, number)| number.trim().parse::<u64>().ok());
    numbers.reduce(|sum, number| Some(sum? + number?))?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_had_no_room_is_counted_in_both_files() {
        let v4 = "Ip: RcvbufErrors\nIp: 9\nUdp: InErrors RcvbufErrors InCsumErrors MemErrors\nUdp: 8 5 2 1\nUdpLite: x\n";
        assert_eq!(of_columns(v4), Some(6));
        assert_eq!(of_columns("Udp: InErrors\nUdp: 8\n"), None);
        let v6 = "Udp6InErrors                    \t8\nUdp6RcvbufErrors                \t5\nUdpLite6RcvbufErrors \t3\n";
        assert_eq!(of_lines(v6), Some(5));
        assert_eq!(of_lines("Ip6InReceives 1\n"), None);
    }

    #[test]
    fn this_host_counts() {
        let errors = UdpErrors::open();
        let [first, again] = [(); 2].map(|()| errors.no_room(false).unwrap());
        assert!(again >= first);
    }
}
