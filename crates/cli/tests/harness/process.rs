//! The binary under test. Every process is ended with the value that stands for it.

use super::netns::Namespace;
use super::run::{Record, Run};
use super::scratch::Scratch;
use delaylab_kernel::clock;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The binary.
pub const DELAYLAB: &str = env!("CARGO_BIN_EXE_delaylab");

/// `delaylab`, in a namespace or in that of the tests, with nothing of the user's environment that it
/// looks at.
pub fn delaylab(inside: Option<&Namespace>) -> Command {
    let mut command = inside.map_or_else(|| Command::new(DELAYLAB), |ns| ns.command(DELAYLAB));
    command.env_remove("DELAYLAB_KEY").env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

/// Longer than any test, however busy the machine is; a process that hangs is to fail its test, not to hang it.
const AT_MOST: Duration = Duration::from_secs(400);

/// A process that is ended when dropped, or after [`AT_MOST`].
pub struct Process {
    pub child: Child,
    /// Dropped with the process, which ends the watch over it.
    _watched: Sender<()>,
}

impl Process {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        let child = command.spawn().unwrap();
        let pid = pid(&child);
        let (watched, ended) = channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(AT_MOST) == Err(RecvTimeoutError::Timeout) {
                let _ = signal::kill(pid, Signal::SIGKILL);
            }
        });
        Self {
            child,
            _watched: watched,
        }
    }

    /// Sends a signal. Returns the CLOCK_MONOTONIC just before.
    pub fn signal(&self, signal: Signal) -> i64 {
        let now = clock::monotonic();
        signal::kill(pid(&self.child), signal).unwrap();
        now
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Waits for its end.
    pub fn to_end(command: &mut Command) -> Self {
        Self::with_stdout(command, Stdio::piped())
    }

    /// The same, with its output going somewhere else.
    pub fn with_stdout(command: &mut Command, stdout: Stdio) -> Self {
        let mut process = Process::start(command.stdout(stdout).stderr(Stdio::piped()));
        let stderr = process.child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap());
        let stdout = process.child.stdout.take();
        Self {
            stdout: stdout.map_or_else(String::new, |out| std::io::read_to_string(out).unwrap()),
            stderr: stderr.join().unwrap(),
            code: process.child.wait().unwrap().code().unwrap_or(-1),
        }
    }
}

/// The Python that has what reads runs.
pub fn python() -> Result<Command, String> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    if python.exists() {
        Ok(Command::new(python))
    } else {
        Err("target/python is not there: scripts/python.sh makes it".to_owned())
    }
}

/// `delaylab ping WORDS`.
pub fn ping(inside: Option<&Namespace>, words: &str) -> Command {
    let mut command = delaylab(inside);
    command.arg("ping").args(words.split_whitespace());
    command
}

/// Of these methods, those that this user may use on loopback.
pub fn allowed(methods: &[&'static str]) -> Vec<&'static str> {
    let icmp = Ran::to_end(&mut ping(None, "127.0.0.1 -c 1 -q")).code != 3;
    if !icmp {
        super::skipped("icmp alone: not allowed to this user");
    }
    let methods = methods.iter().copied();
    methods.filter(|&method| icmp || method != "icmp").collect()
}

/// The same command, before all ordinary processes: however busy the machine is, it runs when it is due.
/// That needs root.
pub fn before_others(command: &Command) -> Command {
    let mut before = Command::new("chrt");
    before.args(["--fifo", "1"]).arg(command.get_program());
    before.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => before.env(name, value),
            None => before.env_remove(name),
        };
    }
    before
}

/// Runs `delaylab ping WORDS --json`, which must end well.
pub fn measure(inside: Option<&Namespace>, words: &str) -> Run {
    measure_by(ping(inside, words))
}

/// The same by a command that may have words in front.
pub fn measure_by(mut ping: Command) -> Run {
    let ran = Ran::to_end(ping.arg("--json"));
    assert_eq!(ran.code, 0, "{ping:?}: {}{}", ran.stdout, ran.stderr);
    Run::from_document(&ran.stdout)
}

/// `delaylab ping WORDS --json-stream`, under way.
pub struct Stream {
    /// To send signals to.
    pub process: Process,
    stdout: BufReader<ChildStdout>,
    lines: Vec<String>,
}

impl Stream {
    /// Starts it.
    pub fn start(inside: Option<&Namespace>, words: &str) -> Self {
        let mut command = ping(inside, words);
        let mut process = Process::start(command.arg("--json-stream").stdout(Stdio::piped()));
        let stdout = BufReader::new(process.child.stdout.take().unwrap());
        Self {
            process,
            stdout,
            lines: Vec::new(),
        }
    }

    fn next_line(&mut self) -> Option<&str> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        self.lines.push(line);
        self.lines.last().map(String::as_str)
    }

    /// Waits for the next record.
    pub fn next_record(&mut self) -> Record {
        loop {
            let line = self.next_line().expect("the run ended too early");
            if line.contains(r#""type":"round_trip""#) {
                return serde_json::from_str(line).unwrap();
            }
        }
    }

    /// Waits for the end, which must be a good one.
    pub fn finish(self) -> Run {
        self.ended_with(0)
    }

    /// Waits for the end, which must have this code.
    pub fn ended_with(mut self, code: i32) -> Run {
        while self.next_line().is_some() {}
        let status = self.process.child.wait().unwrap();
        assert_eq!(status.code(), Some(code));
        Run::from_lines(&self.lines)
    }

    /// Waits for a record that ends so.
    pub fn until(&mut self, outcome: &str) {
        while self.next_record().outcome != outcome {}
    }
}

/// `delaylab reflect`, serving.
pub struct Reflector {
    /// To send signals to.
    pub process: Process,
    /// Of udp and tcp.
    pub port: u16,
    /// Of STAMP.
    pub stamp_port: u16,
    /// Of load; 0 where it takes none.
    pub load_port: u16,
    stderr: Option<JoinHandle<String>>,
}

impl Reflector {
    /// For this host alone, on any free ports.
    pub fn local() -> Self {
        Self::start(delaylab(None).args(["reflect", "-p", "0", "--stamp-port", "0"]))
    }

    /// As [`Reflector::local`], and it echoes any packet.
    pub fn plain_echo() -> Self {
        let words = "reflect -p 0 --stamp-port 0 --plain-echo";
        Self::start(delaylab(None).args(words.split(' ')))
    }

    /// On the default ports, for both ends of a veth pair.
    pub fn inside(namespace: &Namespace) -> Self {
        Self::start(&mut Self::open_to_both(namespace))
    }

    /// The same, [`before_others`].
    pub fn inside_before_others(namespace: &Namespace) -> Self {
        Self::start(&mut before_others(&Self::open_to_both(namespace)))
    }

    fn open_to_both(namespace: &Namespace) -> Command {
        let mut command = delaylab(Some(namespace));
        command.args(["reflect", "--open", "--allow", super::netns::BOTH_PREFIXES]);
        command
    }

    /// For those who have the key, on any free ports of loopback.
    pub fn keyed(key_file: &std::path::Path) -> Self {
        let words = "reflect -p 0 --stamp-port 0 --bind 127.0.0.1 --key-file";
        Self::start(delaylab(None).args(words.split(' ')).arg(key_file))
    }

    /// Starts this command and waits until it serves.
    pub fn start(command: &mut Command) -> Self {
        let mut process = Process::start(command.stderr(Stdio::piped()));
        let mut stderr = BufReader::new(process.child.stderr.take().unwrap());
        let said = until_serving(&mut stderr);
        let port_of = |service: &str| {
            let line = said.lines().find(|line| line.starts_with(service))?;
            line.split(',')
                .next()?
                .rsplit(':')
                .next()?
                .trim()
                .parse()
                .ok()
        };
        Self {
            port: port_of("udp and tcp").unwrap_or_else(|| panic!("it said: {said}")),
            stamp_port: port_of("stamp").unwrap_or(0),
            load_port: port_of("takes load").unwrap_or(0),
            process,
            stderr: Some(std::thread::spawn(move || rest_of(stderr))),
        }
    }

    /// The port of a method.
    pub fn port_of(&self, method: &str) -> u16 {
        if method == "stamp" {
            self.stamp_port
        } else {
            self.port
        }
    }

    /// Ends it as a supervisor would. Returns what it says of the packets it got.
    pub fn stop(mut self) -> String {
        self.process.signal(Signal::SIGTERM);
        let status = self.process.child.wait().unwrap();
        assert!(status.success(), "{status}");
        self.stderr.take().unwrap().join().unwrap()
    }
}

/// Privileges are given up last of all.
fn until_serving(stderr: &mut BufReader<ChildStderr>) -> String {
    let mut said = String::new();
    while !said.contains("privileges ") {
        let read = stderr.read_line(&mut said).unwrap();
        assert!(read > 0, "the reflector ended: {said}");
    }
    said
}

fn rest_of(mut stderr: BufReader<ChildStderr>) -> String {
    let mut rest = String::new();
    let _ = stderr.read_to_string(&mut rest);
    rest
}

/// No process listens here: Linux assigns ephemeral ports from 32,768.
pub const CLOSED: &str = "127.0.0.1:9";

/// `delaylab WORDS` in this directory.
pub fn inside(scratch: &Scratch, words: &str) -> Command {
    let mut command = delaylab(None);
    command.args(words.split(' ')).current_dir(scratch.path(""));
    command
}

/// What came of `delaylab WORDS` in this directory.
pub fn ran(scratch: &Scratch, words: &str) -> Ran {
    Ran::to_end(&mut inside(scratch, words))
}
