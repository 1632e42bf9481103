//! Completions, man pages and schemas, from the same source as `--help`.

use crate::args::{Cli, SchemaOf};
use crate::exit::{Exit, Failed};
use crate::terminal::write;
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints a completion script.
pub fn completions(shell: Shell) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "delaylab", &mut script);
    write(&script)
}

/// Prints a man page.
pub fn man(command: Option<&str>) -> Result<(), Failed> {
    let mut root = Cli::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => root.find_subcommand(name).cloned().ok_or_else(|| {
            let names: Vec<_> = Cli::command()
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
    rendered.map_err(|error| Failed::new(Exit::Internal, error.to_string()))?;
    write(&roff)
}

/// Prints a JSON Schema.
pub fn schema(document: SchemaOf) -> Result<(), Failed> {
    let schema = match document {
        SchemaOf::Ping => delaylab_view::json::schema(),
        SchemaOf::PingStream => delaylab_view::stream::schema(),
        SchemaOf::Run => delaylab_view::json::run::schema(),
        SchemaOf::Trace => delaylab_view::trace::json::schema(),
        SchemaOf::Explain => delaylab_view::explain::json::schema(),
        SchemaOf::Compare => delaylab_view::compare::json::schema(),
        SchemaOf::Import => delaylab_view::import::schema(),
        SchemaOf::Verify => delaylab_view::verify::schema(),
    };
    write(format!("{schema:#}\n"))
}
