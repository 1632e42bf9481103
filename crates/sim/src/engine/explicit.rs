//! What stands beside the queues of a switch that tells sources their rate: EPRCA or ERICA, port by port.

use delaylab_model::path::{Discipline, RateAlgorithm, Switch as SwitchSection};
use delaylab_model::quantity::{Rate, Share};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::{PICOS_PER_NANO, Picos};
use delaylab_switch::Settings;
use delaylab_switch::buffer::Bound;
use delaylab_switch::explicit_rate::{Eprca, Erica, ExplicitRate};
use delaylab_switch::settings::Kind as Queueing;
use delaylab_topology::time::{in_time, picos};
use delaylab_traffic::abr::CELL_BITS;

const MICROSECOND: Picos = 1_000 * PICOS_PER_NANO;
/// The share of the capacity that ERICA aims at (Jain et al. 1996).
const UTILISATION: Share = Share::of_percent(95);

/// A port: its rate in bit/s, and how many channels leave by it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlet {
    /// Its number in the network.
    pub(super) port: u32,
    pub(super) rate: u64,
    pub(super) channels: u64,
}

/// Port by port; none of a switch that tells no rates. EPRCA calls a queue very long at twice its threshold.
pub(super) fn explicit_rates(
    settings: &Settings,
    section: &SwitchSection,
    outlets: impl Iterator<Item = Outlet>,
) -> Vec<ExplicitRate> {
    let Queueing::ExplicitRate { threshold } = settings.kind else {
        return Vec::new();
    };
    let very = Bound {
        items: threshold.items.saturating_mul(2),
        bytes: threshold.bytes.saturating_mul(2),
    };
    let one = |outlet: Outlet| match section.explicit_rate.unwrap_or_default() {
        RateAlgorithm::Eprca => ExplicitRate::Eprca(Eprca::new(threshold, very)),
        RateAlgorithm::Erica => ExplicitRate::Erica(erica(section, outlet)),
    };
    outlets.map(one).collect()
}

fn erica(section: &SwitchSection, outlet: Outlet) -> Erica {
    let given = section.erica.unwrap_or_default();
    let capacity = outlet.rate as f64 / CELL_BITS;
    let interval = match given.interval {
        Some(interval) => picos(Some(interval)),
        None => Erica::interval_for(capacity, outlet.channels),
    };
    let utilisation = given.utilisation.unwrap_or(UTILISATION);
    Erica::new(capacity, utilisation.as_f64(), interval, outlet.channels)
}

/// Has it an ERICA whose settings are to be checked?
pub(super) fn has_erica(section: &SwitchSection) -> bool {
    section.discipline == Some(Discipline::ExplicitRate)
        && section.explicit_rate == Some(RateAlgorithm::Erica)
}

/// The least rate that so many channels can be promised on a line of `rate` bit/s with room left for what is allowed beyond
/// it: half an even share.
pub(super) const fn promised(outlet: Outlet) -> u64 {
    match outlet.channels {
        0 => outlet.rate,
        channels => outlet.rate / channels / 2,
    }
}

/// Least rates that no line has together, where the file gives them.
pub(super) fn of_the_least_rate(
    given: Option<Rate>,
    name: &str,
    outlet: Outlet,
) -> Result<(), Refusal> {
    let Outlet { rate, channels, .. } = outlet;
    match given {
        Some(Rate(least)) if least.saturating_mul(channels) > rate => {
            let why = format!(
                "{channels} channels with {} kbit/s each are more than the {} kbit/s of {name}: lower it to {} bit/s or less",
                least / 1_000,
                rate / 1_000,
                rate / channels.max(1)
            );
            refuse("path.abr.mcr", why)
        }
        _ => Ok(()),
    }
}

/// What is wrong with ERICA's settings whatever it stands beside; `under` is the switch's place in the file.
pub(super) fn of_erica(section: &SwitchSection, under: &str) -> Result<(), Refusal> {
    let Some(given) = section.erica else {
        return Ok(());
    };
    if !has_erica(section) {
        let why = "is of `discipline = \"explicit-rate\"` with `explicit_rate = \"erica\"`: give them, or leave it out";
        return refuse(format!("{under}.erica"), why);
    }
    in_time(format!("{under}.erica.interval"), given.interval)?;
    let utilisation = given.utilisation.unwrap_or(UTILISATION);
    if utilisation.0 == 0 || utilisation > Share::WHOLE {
        let why = "must be above 0 % and at most 100 %";
        return refuse(format!("{under}.erica.utilisation"), why);
    }
    Ok(())
}

/// An interval that misses channels tells the others more than there is.
pub(super) fn of_the_interval(
    section: &SwitchSection,
    under: &str,
    name: &str,
    outlet: Outlet,
) -> Result<(), Refusal> {
    let given = section.erica.and_then(|erica| erica.interval);
    let Some(interval) = given.filter(|_| has_erica(section)) else {
        return Ok(());
    };
    let capacity = outlet.rate as f64 / CELL_BITS;
    let least = Erica::least_interval(capacity, outlet.channels);
    if picos(Some(interval)) >= least {
        return Ok(());
    }
    let channels = outlet.channels;
    // In whole microseconds, not less.
    let in_file = |picos: Picos| format!("{}us", picos.div_ceil(MICROSECOND));
    let why = format!(
        "is {:.1} cell times at {name}, and {channels} channels go that way: of those that send no cell in an interval the others get the share. \
         Give {} (two cells of each) or more, or leave it out for {}",
        interval.0 as f64 / 1e9 * capacity,
        in_file(least),
        in_file(Erica::interval_for(capacity, channels)),
    );
    refuse(format!("{under}.erica.interval"), why)
}
