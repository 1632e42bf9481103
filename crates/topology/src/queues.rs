//! What `[path.switch]` means for the queues of a switch on this path, and where it is written.

use crate::classes::QUEUES;
use crate::framing::{in_cells, mtu, wire};
use delaylab_model::path::{Framing, PacketDiscard, Path, Switch as SwitchSection};
use delaylab_model::quantity::Share;
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_switch::discard::Discard;
use delaylab_switch::{Counts, Settings};
use delaylab_traffic::abr::Parameters;

/// Where the settings of a path's switches stand.
const SECTION: &str = "path.switch";

/// An IP packet that is sent without padding.
const LARGE: u32 = 1_000;

/// The queues of a switch between links of this framing.
///
/// # Errors
/// Names the field that means nothing.
pub fn switch_settings(
    section: &SwitchSection,
    path: &Path,
    framing: Framing,
) -> Result<Settings, Refusal> {
    let counts = if in_cells(framing) {
        Counts::Cells
    } else {
        Counts::Packets
    };
    let settings = Settings::read(section, counts, &QUEUES);
    let settings = settings.map_err(|refusal| refusal.within(SECTION))?;
    // Of a packet that needs no padding.
    let overhead = match counts {
        Counts::Cells => 0,
        Counts::Packets => wire(framing, LARGE).bytes - LARGE,
    };
    let settings = settings.with_framing(overhead, section);
    let settings = match counts {
        Counts::Cells => settings,
        Counts::Packets => {
            let largest = mtu(path)?;
            settings.with_largest(largest, wire(framing, largest).bytes, section)
        }
    };
    let discard = section.packet_discard.unwrap_or_default();
    if discard != PacketDiscard::None && counts == Counts::Packets {
        return refuse(
            "path.switch.packet_discard",
            "is about cells: give `framing = \"aal5\"` too",
        );
    }
    if discard != PacketDiscard::None && settings.kind.drops_at_departure() {
        return refuse(
            "path.switch.packet_discard",
            "is about cells that arrive, and this discipline drops them when they leave, with the rest of their packet \
             behind them: leave it out",
        );
    }
    if discard != PacketDiscard::None && settings.never_drops() {
        return refuse(
            "path.switch.packet_discard",
            "of an unlimited buffer no cell is lost: limit `buffer`, or leave it out",
        );
    }
    let settings = settings.with_discard(packet_discard(discard));
    let Some(abr) = &path.abr else {
        return Ok(settings);
    };
    let rate = path.rate.map_or(u64::MAX, |rate| rate.0);
    let parameters = Parameters::read(&abr.0, rate)?;
    Ok(settings.with_mark(parameters.mark))
}

/// Early packet discard begins at four fifths of what a port may hold (Romanow and Floyd 1995 leave it open).
const EARLY_FROM: Share = Share(Share::WHOLE.0 / 5 * 4);

const fn packet_discard(how: PacketDiscard) -> Discard {
    match how {
        PacketDiscard::None => Discard::Cells,
        PacketDiscard::Partial => Discard::Partial,
        PacketDiscard::Early => Discard::Early { from: EARLY_FROM },
    }
}

/// Where the settings of the switch of this name stand in the file: in a section of its own, or in that of all.
pub fn switch_section(path: &Path, name: &str) -> String {
    let mut nodes = path.node.iter();
    if nodes.any(|node| node.name == name && node.switch.is_some()) {
        format!("path.node.{name}.switch")
    } else {
        SECTION.to_owned()
    }
}

/// A refusal of `path.switch` for a switch whose settings stand in `section`.
pub fn in_section(refusal: Refusal, section: &str) -> Refusal {
    match refusal.field.strip_prefix(SECTION) {
        Some(below) => Refusal {
            field: format!("{section}{below}"),
            ..refusal
        },
        None => refusal,
    }
}
