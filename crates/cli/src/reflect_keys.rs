//! The keys of a reflector: read from their files, and read again on SIGHUP by a process that still may.

use crate::args::reflect::NamedFile;
use crate::exit::Failed;
use crate::{key, secret_file, terminal};
use delaylab_kernel::privilege::Attendant;
use delaylab_kernel::signals;
use delaylab_traffic::reflector::Keys;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the attendant says: texts of the files in order, or what is wrong.
type FileTexts = Result<Vec<String>, String>;

/// Keys from files, and how to read them again.
pub struct KeyFiles {
    files: Vec<NamedFile>,
    attendant: Attendant,
    hangups: u32,
    had_terminal: bool,
    quiet: bool,
}

/// The terminal that the reflector was started from is closed.
static TERMINAL_GONE: AtomicBool = AtomicBool::new(false);

/// Is the terminal closed that the reflector was started from?
pub fn is_terminal_gone() -> bool {
    TERMINAL_GONE.load(Ordering::Relaxed)
}

/// Was it started from a terminal that is still open, wherever its messages go?
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}

/// The keys in these files; without files that in the environment, if there is one.
pub fn read(files: &[NamedFile]) -> Result<Option<Keys>, Failed> {
    if files.is_empty() {
        return Ok(key::read(None)?.map(Keys::from));
    }
    let names: BTreeSet<_> = files.iter().map(|file| &file.name).collect();
    if names.len() != files.len() {
        return Err(Failed::usage(
            "two keys have one name: name them as in `--key-file old=FILE --key-file new=FILE`"
                .to_owned(),
        ));
    }
    let texts = texts(files)?;
    let keys = from_texts(files, &texts)?;
    for file in files {
        secret_file::warn_if_readable(&file.path, "key");
    }
    Ok(keys)
}

/// From now on SIGHUP does not end this process.
pub fn catch_hangup() -> Result<(), Failed> {
    signals::catch_hangup()
        .map_err(|error| Failed::environment(format!("cannot catch signals: {error}")))
}

fn texts(files: &[NamedFile]) -> Result<Vec<String>, Failed> {
    let text = |file: &NamedFile| secret_file::read(&file.path, "key");
    files.iter().map(text).collect()
}

fn from_texts(files: &[NamedFile], texts: &[String]) -> Result<Option<Keys>, Failed> {
    let named = |(file, text): (&NamedFile, &String)| {
        let key = key::from_text(text, &file.path.display().to_string())?;
        Ok((file.name.clone(), key))
    };
    let keys: Result<Vec<_>, Failed> = files.iter().zip(texts).map(named).collect();
    Ok(Keys::new(keys?))
}

impl KeyFiles {
    /// Starts the process that reads them again; a quiet one says only what went wrong. To be called before ports are
    /// bound.
    pub fn watch(files: Vec<NamedFile>, quiet: bool) -> Result<Self, Failed> {
        let theirs = files.clone();
        let attendant = Attendant::start(move || {
            let said: FileTexts = texts(&theirs).map_err(|error| error.message);
            serde_json::to_vec(&said).unwrap_or_default()
        });
        let attendant = attendant.map_err(Failed::environment)?;
        catch_hangup()?;
        Ok(Self {
            files,
            attendant,
            hangups: 0,
            had_terminal: has_terminal(),
            quiet,
        })
    }

    /// The keys as they are now, where SIGHUP has come since the last call.
    pub fn renewed(&mut self) -> Option<Keys> {
        let hangups = signals::hangups();
        if hangups == self.hangups {
            return None;
        }
        self.hangups = hangups;
        if self.had_terminal && !has_terminal() {
            TERMINAL_GONE.store(true, Ordering::Relaxed);
            return None;
        }
        match self.read_again() {
            Ok(keys) => {
                if !self.quiet {
                    let names: Vec<_> = keys.names().collect();
                    terminal::say(format!("keys          {}: read again", names.join(", ")));
                }
                Some(keys)
            }
            Err(why) => {
                terminal::say(format!("delaylab: the keys stay as they were: {why}"));
                None
            }
        }
    }

    fn read_again(&mut self) -> Result<Keys, String> {
        let answer = self.attendant.ask().map_err(|error| error.to_string())?;
        let said: FileTexts = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        let keys = from_texts(&self.files, &said?).map_err(|error| error.message)?;
        keys.ok_or_else(|| "there is none".to_owned())
    }
}
