//! What is said of runs that were killed.

use crate::terminal;
use delaylab_model::shell::quoted;
use delaylab_runner::run_folder::shortest;
use delaylab_store::killed::Killed;
use std::path::Path;

/// Names what killed processes left among these runs, and says what to do with it.
pub fn say(runs: &Path) {
    let killed = Killed::among(runs);
    if let Some(sentence) = interrupted(&killed) {
        terminal::say(sentence);
    }
    for folder in &killed.nameless {
        terminal::say(format!(
            "{} is what a run left that was killed as it began: nothing is recorded in it, and it can be removed",
            shortest(folder)
        ));
    }
    for folder in &killed.imports {
        terminal::say(format!(
            "{} is what an import left that was killed: it can be removed, and the file imported again",
            shortest(folder)
        ));
    }
}

/// How to continue the run that was interrupted last; `None` where none was.
pub fn interrupted(killed: &Killed) -> Option<String> {
    let (last, earlier) = killed.interrupted.split_last()?;
    let others = match earlier.len() {
        0 => String::new(),
        1 => ", and one before it".to_owned(),
        more => format!(", and {more} before it"),
    };
    let last = shortest(last);
    let named = quoted(&last);
    Some(format!(
        "{last} was interrupted{others}. Continue it with `delaylab resume {named}`, or remove the folder"
    ))
}
