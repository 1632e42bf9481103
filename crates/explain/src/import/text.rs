//! The few ways in which readers pick lines apart.

use super::{Imported, date, decimal};
use delaylab_model::{Nanos, SECOND};
use memchr::memmem;

/// The first lines, for a look at what a file is.
pub fn head(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(65_536)]).into_owned()
}

/// Is `key` in a line? Faster than [`str::contains`], which counts where there are millions of lines.
pub fn has(line: &str, key: &str) -> bool {
    memmem::find(line.as_bytes(), key.as_bytes()).is_some()
}

/// What is behind a key: `after("ttl=63 time=1", "ttl=")` is `63 time=1`.
pub fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let at = memmem::find(line.as_bytes(), key.as_bytes())?;
    line.get(at + key.len()..)
}

/// The word behind a key, up to a blank, a comma or a closing bracket.
pub fn word_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = after(line, key)?;
    let end = rest.find([' ', ',', ')', ']', ';']).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The whole number with which a text begins.
pub fn leading_number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Bytes of the headers of IP and of ICMP or UDP.
pub const fn icmp_or_udp_headers(is_ipv6: bool) -> u32 {
    if is_ipv6 { 48 } else { 28 }
}

/// The real time with which ping and fping begin a line after `-D`: `[1795306027.232112] rest`, or a date, as of
/// `--timestamp-format`. What is in the brackets is no part of a name.
pub fn stamp(line: &str) -> (Option<Nanos>, &str) {
    let parts = line
        .strip_prefix('[')
        .and_then(|line| line.split_once("] "));
    let Some((stamp, rest)) = parts else {
        return (None, line);
    };
    let time = decimal::time(stamp, SECOND).map(|time| time.nanos);
    (time.or_else(|| date::local(stamp)), rest)
}

/// Lines that a reader could not make anything of.
#[derive(Default)]
pub struct Strange {
    count: usize,
    first: Option<(usize, String)>,
}

impl Strange {
    /// Takes note of one.
    pub fn note(&mut self, number: usize, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.count += 1;
        self.first
            .get_or_insert_with(|| (number, line.chars().take(80).collect()));
    }

    /// Says how many there were, and shows the first.
    pub fn warn(&self, imported: &mut Imported) {
        if let Some((number, line)) = &self.first {
            imported.strange = Some((*number, line.clone()));
            let lines = if self.count == 1 {
                "line was"
            } else {
                "lines were"
            };
            imported.warn(format!(
                "{} {lines} not understood; the first is line {number}: {line}",
                self.count
            ));
        }
    }
}
