//! What is said of runs that were killed.

use crate::terminal;
use delaylab_model::shell::quoted;
use delaylab_runner::run_folder::shortest;
use delaylab_store::killed::{Killed, Remedy, remedy};
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

/// Which run was interrupted last, and what to do with it; `None` where none was.
pub fn interrupted(killed: &Killed) -> Option<String> {
    let (last, earlier) = killed.interrupted.split_last()?;
    let others = match earlier.len() {
        0 => String::new(),
        1 => ", and one before it".to_owned(),
        more => format!(", and {more} before it"),
    };
    let shown = shortest(last);
    let named = quoted(&shown);
    let what_to_do = match remedy(last) {
        Remedy::Continue => {
            format!("Continue it with `delaylab resume {named}`, or remove the folder")
        }
        Remedy::EndAsItStands => {
            format!(
                "Make a complete run of it with `delaylab resume {named}`, or remove the folder"
            )
        }
        Remedy::Remove => {
            "No packet of this ping is recorded, and a ping is not repeated: remove the folder"
                .to_owned()
        }
    };
    Some(format!("{shown} was interrupted{others}. {what_to_do}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_ping_of_which_nothing_is_recorded_is_not_to_be_resumed() {
        let runs = tempfile::tempdir().unwrap();
        let says = |name: &str, environment: &str| {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("environment.json"), environment).unwrap();
            interrupted(&Killed::among(runs.path())).unwrap()
        };
        let said = says("a-20260101T000000Z.partial", "{}");
        assert!(
            said.contains("Continue it with `delaylab resume "),
            "{said}"
        );
        let ping = r#"{"live": {"as_it_stands": true}}"#;
        let said = says("ping-20260102T000000Z.partial", ping);
        assert!(
            said.ends_with(
                "ping-20260102T000000Z.partial was interrupted, and one before it. No packet of this ping is recorded, and a \
                 ping is not repeated: remove the folder"
            ),
            "{said}"
        );
    }
}
