//! What links are like: rates and propagation, of all or of one by its name.

use crate::network::{Line, Network};
use crate::time::{in_time, picos};
use delaylab_model::path::{ACCESS, Line as LineSection, Path};
use delaylab_model::quantity::{Duration, Rate};
use delaylab_model::refusal::{Refusal, refuse};

/// A line that can be: it has a rate, and its propagation is no longer than anything may last.
pub(crate) fn line(
    rate: Option<Rate>,
    propagation: Option<Duration>,
    field: &str,
) -> Result<Line, Refusal> {
    let Some(Rate(rate)) = rate else {
        return refuse(
            format!("{field}.rate"),
            "links need a rate, like \"155.52Mbit/s\"",
        );
    };
    if rate == 0 {
        return refuse(
            format!("{field}.rate"),
            "nothing gets through a rate of zero",
        );
    }
    in_time(format!("{field}.propagation"), propagation)?;
    Ok(Line {
        rate,
        propagation: picos(propagation),
    })
}

/// None of the lines that differ is impossible.
pub(crate) fn possible_lines(path: &Path) -> Result<(), Refusal> {
    for (name, own) in &path.line {
        let field = format!("path.line.{name}");
        line(own.rate.or(path.rate), own.propagation, &field)?;
    }
    Ok(())
}

/// Every line that differs is there.
pub(crate) fn known_lines(path: &Path, network: &Network) -> Result<(), Refusal> {
    let known = |name: &str| name == ACCESS || network.ports.iter().any(|port| port.link == name);
    match path.line.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => refuse(
            format!("path.line.{name}"),
            format!(
                "there is no link `{name}`: a host's link has the host's name, those of all are `{ACCESS}`"
            ),
        ),
    }
}

/// This line with what `[path.line]` says of this name.
pub(crate) fn differing(path: &Path, name: &str, line: Line) -> Line {
    let own: LineSection = path.line.get(name).copied().unwrap_or_default();
    let propagation = own.propagation.map(|time| picos(Some(time)));
    Line {
        rate: own.rate.map_or(line.rate, |rate| rate.0),
        propagation: propagation.unwrap_or(line.propagation),
    }
}
