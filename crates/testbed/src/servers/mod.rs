//! Servers at hosts of a testbed: real ones of this machine's packages, and delaylab's own.
//!
//! | module | holds |
//! |---|---|
//! | [`wanted`] | what a trial wants of a server: its pages, its names, whom it asks |
//! | `identity` | certificates of a testbed's own authority |
//! | `folder` | where their files are, while they are |
//! | `pages` | what web servers have |
//! | `nginx`, `apache`, `haproxy`, `unbound` | the configuration of each program |
//! | `program` | a program that runs in a namespace, until it is dropped |
//! | `own` | delaylab's own |
//!
//! Another program is one more file here, and a line in `kind` and in [`Software`].

mod apache;
mod folder;
mod haproxy;
mod identity;
mod nginx;
mod own;
mod pages;
mod program;
mod unbound;
pub mod wanted;

use crate::build::Standing;
use crate::tool::MissingTool;
use delaylab_kernel::namespace;
use delaylab_model::path::{HostServer, Software};
use delaylab_model::probe::Probe;
use delaylab_model::request::{Request, Trust};
use folder::Folder;
pub use folder::{RemovedFolders, remove_left_over};
use identity::Identity;
use own::{Datagrams, Own};
use program::{Kind, Running, Setting};
use std::io;
use std::path::PathBuf;
use wanted::Wanted;

/// The file with the certificate of the testbed's own authority.
const AUTHORITY: &str = "authority.pem";

/// Why a server does not answer.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its program is not here.
    #[error("server `{name}`: {missing}")]
    Missing {
        /// The server.
        name: String,
        /// Which, and where it is had.
        missing: MissingTool,
    },
    /// It becomes another user, and there is none.
    #[error(
        "server `{name}`: {command} works as another user, which a testbed without root does not have: run it as root, or use nginx"
    )]
    NoUser {
        /// The server.
        name: String,
        /// The program.
        command: &'static str,
    },
    /// It ended before it could be asked.
    #[error("server `{name}`: {command} ended before it could be asked: {said}")]
    Ended {
        /// The server.
        name: String,
        /// The program.
        command: &'static str,
        /// What it said, the last of it.
        said: String,
    },
    /// It does not listen.
    #[error("server `{name}`: {command} does not listen on port {port} after {} s", program::PATIENCE.as_secs())]
    Silent {
        /// The server.
        name: String,
        /// The program.
        command: &'static str,
        /// The port.
        port: u16,
    },
    /// It has no page to give.
    #[error(
        "server `{name}`: {command} answers `{said}` to a request for a page. The user that it works as must be able to read its files in {}: \
         set TMPDIR to a folder that every user may enter", std::env::temp_dir().display()
    )]
    NoPage {
        /// The server.
        name: String,
        /// The program.
        command: &'static str,
        /// The first line of its answer.
        said: String,
    },
    /// The kernel or the disk said no.
    #[error("server `{name}`: cannot {what}: {source}")]
    Io {
        /// The server.
        name: String,
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// There is no room for its files.
    #[error("cannot write {}: {source}", folder.display())]
    Folder {
        /// Where they would be.
        folder: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate for the servers of the testbed: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl ServerError {
    fn missing(name: &str, missing: MissingTool) -> Self {
        Self::Missing {
            name: name.to_owned(),
            missing,
        }
    }
}

/// The program of a server; `None` is delaylab's own.
const fn kind(software: Software) -> Option<Kind> {
    Some(match software {
        Software::Delaylab => return None,
        Software::Nginx => nginx::KIND,
        Software::Apache => apache::KIND,
        Software::Haproxy => haproxy::KIND,
        Software::Unbound => unbound::KIND,
    })
}

/// The programs that these servers need and that are not here, or cannot run as the user that this process is.
pub fn missing<'a>(servers: impl IntoIterator<Item = &'a HostServer>) -> Vec<ServerError> {
    let needed = servers.into_iter().filter_map(|server| {
        let tool = kind(server.software)?.tool;
        if let Err(missing) = tool.find() {
            return Some(ServerError::missing(&server.name, missing));
        }
        let has_no_user = server.software == Software::Apache && namespace::has_one_user();
        has_no_user.then(|| ServerError::NoUser {
            name: server.name.clone(),
            command: tool.command,
        })
    });
    needed.collect()
}

/// Servers that answer until this is dropped.
#[derive(Debug)]
pub struct Servers {
    wanted: Wanted,
    // They end before their folder is removed.
    programs: Vec<Running>,
    own: Vec<Own>,
    datagrams: Datagrams,
    folder: Folder,
}

impl Servers {
    /// Starts what a trial wants, once what was there before has ended, and returns when all of it listens.
    ///
    /// # Errors
    /// Names the server. What was started until then ends.
    pub fn start(
        wanted: Wanted,
        standing: &Standing,
        before: Option<Self>,
    ) -> Result<Self, ServerError> {
        let datagrams = before.map_or_else(Datagrams::new, |before| before.datagrams);
        let identity = Identity::new(&wanted.names)?;
        let mut servers = Self {
            wanted,
            programs: Vec::new(),
            own: Vec::new(),
            datagrams,
            folder: Folder::new()?,
        };
        servers.start_all(&identity, standing)?;
        Ok(servers)
    }

    fn start_all(&mut self, identity: &Identity, standing: &Standing) -> Result<(), ServerError> {
        let folder = self.folder.path();
        let written = std::fs::write(folder.join(AUTHORITY), &identity.authority);
        written.map_err(|source| ServerError::Folder {
            folder: folder.to_owned(),
            source,
        })?;
        // Who is asked by others in their turn comes first: some look whether it is there.
        let (asking, asked): (Vec<_>, Vec<_>) =
            (self.wanted.servers.iter()).partition(|placed| placed.forward.is_some());
        for placed in asked.into_iter().chain(asking) {
            let enter = standing.enter(placed.place);
            let setting = Setting {
                placed,
                wanted: &self.wanted,
                identity,
                folder: &folder.join(&placed.server.name),
            };
            match kind(placed.server.software) {
                None => {
                    let own = Own::start(placed, &enter, &mut self.datagrams)?;
                    self.own.push(own);
                }
                Some(kind) => {
                    let running = Running::start(kind, &setting, &enter)?;
                    self.programs.push(running);
                }
            }
        }
        Ok(())
    }

    /// What they were started for.
    pub const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Makes of a probe's request what it is in the testbed: addresses are known, so that no name is looked up, and the
    /// testbed's own authority is believed.
    pub fn at_home(&self, probe: &mut Probe) {
        if let Some(Request::Http(http)) = &mut probe.request {
            http.resolves = false;
            if http.url.tls && http.trust == Trust::System {
                http.trust = Trust::File(self.folder.path().join(AUTHORITY).display().to_string());
            }
        }
    }
}
