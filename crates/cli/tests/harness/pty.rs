//! A command on a terminal: `script` of util-linux gives it one, and what it draws is read here.

use super::process::Process;
use std::io::{Read, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A screen that is not so by then never will be, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);
/// Rows and columns.
const SIZE: (usize, usize) = (30, 100);

/// A shell's command line on a terminal of 30 rows and 100 columns.
pub struct Pty {
    process: Process,
    output: ChildStdout,
    /// All that was written to the terminal.
    pub written: Vec<u8>,
}

impl Pty {
    /// Starts it.
    pub fn start(command_line: &str) -> Self {
        let line = format!("stty rows {} cols {}; {command_line}", SIZE.0, SIZE.1);
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]);
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8");
        command
            .env("NO_COLOR", "1")
            .env("SHELL", "/bin/sh")
            .env_remove("COLUMNS");
        let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        Self {
            output: process.child.stdout.take().unwrap(),
            process,
            written: Vec::new(),
        }
    }

    /// Reads on. False: it has ended.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let length = self.output.read(&mut bytes).unwrap();
        self.written.extend(&bytes[..length]);
        length > 0
    }

    /// Reads on until the screen is as wanted. Returns the screen.
    pub fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let screen = screen(&self.text());
            if wanted(&screen) {
                return screen;
            }
            assert!(begin.elapsed() < PATIENCE, "never:\n{screen}");
            assert!(self.read(), "it ended with this on the screen:\n{screen}");
        }
    }

    /// Types something.
    pub fn types(&mut self, keys: &str) {
        let stdin = self.process.child.stdin.as_mut().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Reads to the end. Returns the exit code.
    pub fn end(&mut self) -> i32 {
        while self.read() {}
        self.process.child.wait().unwrap().code().unwrap()
    }

    /// All that was written to the terminal.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }
}

/// What stands on a terminal to which this was written: cursor moves and erasing, as our screens use them.
fn screen(text: &str) -> String {
    let mut rows = vec![vec![' '; SIZE.1]; SIZE.0];
    let (mut row, mut column) = (0, 0);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\x1b' => {
                let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
                    break;
                };
                let (words, last) = (&rest[..end], rest.as_bytes()[end]);
                rest = &rest[end + 1..];
                let numbers: Vec<usize> = words
                    .trim_start_matches('[')
                    .split(';')
                    .map(|number| number.parse().unwrap_or(1))
                    .collect();
                match last {
                    b'H' => {
                        row = numbers[0] - 1;
                        column = numbers.get(1).map_or(0, |column| column - 1);
                    }
                    b'h' if words == "[?1049" => rows.iter_mut().for_each(|row| row.fill(' ')),
                    b'J' => rows.iter_mut().for_each(|row| row.fill(' ')),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            c => {
                if let Some(cell) = rows.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell = c;
                }
                column += 1;
            }
        }
    }
    let lines = rows.iter().map(|row| row.iter().collect::<String>());
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
