//! `delaylab serve`.

use crate::args::serve::ServeArgs;
use crate::exit::Failed;
use crate::experiment;
use crate::secret_file;
use crate::terminal;
use delaylab_kernel::privilege::{self, lock_down_beneath};
use delaylab_web::serve::{ServeError, Server, Token};
use std::net::SocketAddr;
use std::path::Path;

/// Runs the command: until it is interrupted.
pub fn run(args: &ServeArgs) -> Result<(), Failed> {
    let runs = std::fs::canonicalize(&args.runs).map_err(|error| {
        let runs = args.runs.display();
        Failed::environment(format!(
            "cannot look for runs in {runs}: {error}. `delaylab run` makes the first"
        ))
    })?;
    if !runs.is_dir() {
        return Err(Failed::usage(format!(
            "{} is no directory",
            args.runs.display()
        )));
    }
    let token = args.token_file.as_deref().map(token).transpose()?;
    let address = SocketAddr::new(args.listen, args.port);
    let server = Server::bind(address, token, runs.clone(), experiment::conclude::run_data)
        .map_err(failed)?;
    let holds = lock_down_beneath(&runs, privilege::Options::default())
        .map_err(|error| Failed::environment(format!("cannot give up privileges: {error}")))?;
    terminal::print(format!(
        "Runs in {}: http://{}/\n",
        args.runs.display(),
        server.address()
    ))?;
    terminal::say(format!("privileges    {holds}"));
    let error = server.run();
    Err(Failed::environment(format!(
        "cannot wait for connections: {error}"
    )))
}

fn token(path: &Path) -> Result<Token, Failed> {
    let text = secret_file::read(path, "token")?;
    secret_file::warn_if_readable(path, "token");
    Token::from_text(&text).map_err(|error| Failed::usage(format!("{}: {error}", path.display())))
}

fn failed(error: ServeError) -> Failed {
    match error {
        ServeError::NoToken(_) => Failed::usage(error),
        ServeError::Address { .. } => Failed::environment(error),
    }
}
