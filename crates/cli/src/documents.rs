//! Completions, man pages and schemas, from the same source as `--help`.

use crate::args;
use crate::exit::{Exit, Failed};
use crate::terminal::write;
use clap_complete::Shell;
use delaylab_view::published::Listed;

/// Prints a completion script.
pub fn completions(shell: Shell) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "delaylab", &mut script);
    write(&script)
}

/// Prints the man page of a command, or of one of its commands.
pub fn man(command: &[String]) -> Result<(), Failed> {
    // `help` has no page.
    let mut root = args::command().disable_help_subcommand(true);
    root.build();
    let source = format!("delaylab {}", root.get_version().unwrap_or_default());
    let page = command.iter().try_fold(&root, |above, name| {
        let found = above.find_subcommand(name);
        found.ok_or_else(|| no_such_command(above, name))
    })?;
    let mut roff = Vec::new();
    let rendered = clap_mangen::Man::new(page.clone())
        .source(source)
        .render(&mut roff);
    rendered.map_err(|error| Failed::new(Exit::Internal, error))?;
    write(&roff)
}

fn no_such_command(above: &clap::Command, name: &str) -> Failed {
    let names = above.get_subcommands().map(clap::Command::get_name);
    let names: Vec<_> = names.collect();
    let those = match names.is_empty() {
        true => "it has no commands".to_owned(),
        false => format!("it is one of {}", names.join(", ")),
    };
    let whole = above.get_bin_name().unwrap_or_else(|| above.get_name());
    Failed::usage(format!("there is no command `{whole} {name}`: {those}"))
}

/// Prints a JSON Schema.
pub fn schema(document: &Listed) -> Result<(), Failed> {
    let text = document.schema();
    write(text.map_err(|error| Failed::new(Exit::Internal, error))?)
}
