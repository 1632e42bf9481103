//! A program that runs in a namespace, until it is dropped.

use super::ServerError;
use super::folder::share;
use super::identity::Identity;
use super::wanted::{PlacedServer, Wanted};
use crate::tool::Tool;
use delaylab_live::world::Enter;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a program may take to listen.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long one may take to end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often it is looked at.
const GLANCE: Duration = Duration::from_millis(5);
/// The file of a private key, which no other user may read.
pub const KEY: &str = "key.pem";
/// What is shown of what it said.
const LAST_WORDS: usize = 400;
/// Where pages are.
const WEB: u16 = 80;
/// What is read of its answer, in bytes.
const LONGEST_STATUS: u64 = 200;

/// What a server's configuration is made of.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The server.
    pub placed: &'a PlacedServer,
    /// What all servers of the trial are asked for.
    pub wanted: &'a Wanted,
    /// What it shows who asks by TLS.
    pub identity: &'a Identity,
    /// Where its files are, and nobody else's.
    pub folder: &'a Path,
}

impl Setting<'_> {
    /// A file in its folder, as its configuration names it.
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A program that is started with these words and, behind them, the name of the file with its configuration.
    pub fn program(&self, words: &[&str], name: &str, configuration: String) -> Program {
        let words = words.iter().map(|&word| word.to_owned());
        Program {
            arguments: words.chain([self.file(name)]).collect(),
            files: vec![(name.to_owned(), configuration.into_bytes())],
        }
    }
}

/// A program that can be a server.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its command.
    pub tool: Tool,
    /// Its configuration for a server.
    pub program: fn(&Setting<'_>) -> Program,
    /// Has it pages in files, which it reads as another user?
    pub has_pages: bool,
}

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Files in its folder, by their names.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A program that listens.
#[derive(Debug)]
pub struct Running {
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts it, and returns once it listens on all its ports.
    ///
    /// # Errors
    /// It is not here, ends, or does not listen.
    pub fn start(kind: Kind, setting: &Setting<'_>, enter: &Enter) -> Result<Self, ServerError> {
        let program = (kind.program)(setting);
        let name = &setting.placed.server.name;
        let failed = |what: &'static str, source| ServerError::Io {
            name: name.clone(),
            what,
            source,
        };
        write(&program, setting.folder).map_err(|source| failed("write its files", source))?;
        let job = Job {
            name: name.clone(),
            said: setting.folder.join("said"),
            at: setting.placed.address.into(),
            ports: setting.placed.server.software.ports(),
            has_pages: kind.has_pages && setting.placed.forward.is_none(),
            tool: kind.tool,
            arguments: program.arguments,
        };
        let (ready, is_ready) = channel();
        let (stop, stopped) = channel();
        let enter = enter.clone();
        // The kernel ends the program when this thread ends, whatever becomes of the rest.
        let keeper = std::thread::Builder::new()
            .name("server".to_owned())
            .spawn(move || job.keep(&enter, &ready, &stopped));
        let keeper = keeper.map_err(|source| failed("start its thread", source))?;
        let running = Self {
            stop: Some(stop),
            keeper: Some(keeper),
        };
        match is_ready.recv() {
            Ok(started) => started.map(|()| running),
            Err(_) => Err(failed("start it", io::Error::other("its thread ended"))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

fn write(program: &Program, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    share(folder)?;
    for (name, content) in &program.files {
        let file = folder.join(name);
        if name == KEY {
            write_private(&file, content)?;
            continue;
        }
        fs::write(&file, content)?;
        share(&file)?;
    }
    Ok(())
}

/// For the program alone, which reads it before it works as another user.
fn write_private(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file);
    file?.write_all(content)
}

/// What the thread does that the program's life hangs on.
struct Job {
    name: String,
    tool: Tool,
    arguments: Vec<String>,
    /// Where it says what it says.
    said: PathBuf,
    at: IpAddr,
    ports: &'static [u16],
    has_pages: bool,
}

impl Job {
    fn keep(&self, enter: &Enter, ready: &Sender<Result<(), ServerError>>, stopped: &Receiver<()>) {
        let started = enter().map_err(|source| self.io("enter its namespace", source));
        let mut child = match started.and_then(|()| self.spawn()) {
            Ok(child) => child,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let works = self.wait(&mut child).and_then(|()| self.try_a_page());
        let goes_on = works.is_ok();
        let _ = ready.send(works);
        if goes_on {
            // Until the other end is dropped.
            let _ = stopped.recv();
        }
        end(&mut child);
    }

    fn io(&self, what: &'static str, source: io::Error) -> ServerError {
        ServerError::Io {
            name: self.name.clone(),
            what,
            source,
        }
    }

    fn spawn(&self) -> Result<Child, ServerError> {
        let failed = |error| self.io("start it", error);
        let said = File::create(&self.said).map_err(failed)?;
        let missing = |missing| ServerError::missing(&self.name, missing);
        let path = self.tool.find().map_err(missing)?;
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM"])
            .arg(path)
            .args(&self.arguments);
        // What stops this program from the terminal is not for the servers, which are asked until the last reply.
        command.process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(said.try_clone().map_err(failed)?)
            .stderr(said);
        command.spawn().map_err(failed)
    }

    /// Until it listens on all its ports.
    fn wait(&self, child: &mut Child) -> Result<(), ServerError> {
        let until = Instant::now() + PATIENCE;
        for &port in self.ports {
            let there = SocketAddr::new(self.at, port);
            while TcpStream::connect_timeout(&there, PATIENCE).is_err() {
                self.is_there(child)?;
                if Instant::now() > until {
                    return Err(ServerError::Silent {
                        name: self.name.clone(),
                        command: self.tool.command,
                        port,
                    });
                }
                std::thread::sleep(GLANCE);
            }
        }
        // Some listen before they find out that they cannot work.
        self.is_there(child)
    }

    /// Errors would be answers to what probes ask, and measured as pages.
    fn try_a_page(&self) -> Result<(), ServerError> {
        if !self.has_pages {
            return Ok(());
        }
        let status = status((self.at, WEB).into());
        let status = status.map_err(|source| self.io("ask it for a page", source))?;
        match status.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(ServerError::NoPage {
                name: self.name.clone(),
                command: self.tool.command,
                said: status.trim().to_owned(),
            }),
        }
    }

    fn is_there(&self, child: &mut Child) -> Result<(), ServerError> {
        match child.try_wait() {
            Ok(Some(_)) => Err(ServerError::Ended {
                name: self.name.clone(),
                command: self.tool.command,
                said: last_words(&self.said),
            }),
            _ => Ok(()),
        }
    }
}

/// The first line of what a web server answers.
fn status(at: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream)
        .take(LONGEST_STATUS)
        .read_line(&mut line)?;
    Ok(line)
}

/// Asks it to end, and ends it where it does not.
fn end(child: &mut Child) {
    let _ = delaylab_kernel::process::ask_to_end(child.id());
    let until = Instant::now() + FAREWELL;
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(GLANCE);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn last_words(said: &Path) -> String {
    let said = fs::read(said).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said = said.trim();
    let from = said
        .char_indices()
        .rev()
        .nth(LAST_WORDS)
        .map_or(0, |(at, _)| at);
    match said {
        "" => "it said nothing".to_owned(),
        _ => said[from..].to_owned(),
    }
}
