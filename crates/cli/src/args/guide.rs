//! Which page of the guide says more of a command: one line at the end of its help.

use clap::Command;

/// The page for readers who do not know which command to take.
const QUESTIONS: &str = "questions.md";

/// The same command line; each help ends with its page, which `pages` have by the name of the command.
pub fn linked(mut root: Command, pages: &[(&str, &str)]) -> Command {
    for &(name, page) in pages {
        root = root.mut_subcommand(name, |command| with_page(command, page));
    }
    ended(root, QUESTIONS)
}

/// And of the commands of this one.
fn with_page(command: Command, page: &str) -> Command {
    let inner: Vec<_> = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    let command = inner.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |one| with_page(one, page))
    });
    ended(command, page)
}

fn ended(command: Command, page: &str) -> Command {
    let line = format!("Guide: docs/{page}");
    let help = match command.get_after_help() {
        Some(before) => format!("{before}\n\n{line}"),
        None => line,
    };
    command.after_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;
    use std::path::Path;

    /// Also of what a command has for commands.
    fn assert_linked(command: &Command) {
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let page = help
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("Guide: docs/"));
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let exists = page.is_some_and(|page| docs.join(page).is_file());
        assert!(exists, "{}: {page:?}", command.get_name());
        command.get_subcommands().for_each(assert_linked);
    }

    #[test]
    fn every_command_has_a_page_that_is_there() {
        assert_linked(&command());
    }
}
