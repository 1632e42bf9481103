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

/// Prints a man page.
pub fn man(command: Option<&str>) -> Result<(), Failed> {
    let mut root = args::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => root.find_subcommand(name).cloned().ok_or_else(|| {
            let names: Vec<_> = args::command()
                .get_subcommands()
                .map(|c| c.get_name().to_owned())
                .collect();
            Failed::usage(format!(
                "there is no command `{name}`: it is one of {}",
                names.join(", ")
            ))
        })?,
    };
    let mut roff = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut roff);
    rendered.map_err(|error| Failed::new(Exit::Internal, error))?;
    write(&roff)
}

/// Prints a JSON Schema.
pub fn schema(document: &Listed) -> Result<(), Failed> {
    write(format!("{:#}\n", (document.schema)()))
}
