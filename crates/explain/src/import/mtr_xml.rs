//! `mtr --xml`: a report.
//!
//! ```text
//! <MTR SRC="vm" DST="10.77.2.2" TOS="0x0" PSIZE="64" BITPATTERN="0x00" TESTS="10">
//!     <HUB COUNT="1" HOST="10.77.1.1">
//!         <Loss>  0.0%</Loss>
//!         <Snt>    10</Snt>
//! ```

use super::text::head;
use super::xml::{Part, Parts, attribute, warn_if_cut};
use super::{Format, ImportError, Imported, Input, Options, Rules, mtr};

pub static FORMAT: Format = Format {
    name: "mtr --xml",
    command: "mtr --xml -c 100 TARGET > FILE",
    looks: "tags `<MTR …>` and `<HUB …>`",
    signs: &["<MTR", "<HUB"],
    rules: Rules::USUAL,
    is,
    read,
};

fn is(bytes: &[u8]) -> bool {
    head(bytes).contains("<MTR ")
}

fn read(input: Input<'_>, _: &Options) -> Result<Imported, ImportError> {
    let bytes = input.bytes()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut imported = mtr::report(&FORMAT);
    let mut parts = Parts::new(&text);
    let mut column = String::new();
    let mut target = String::new();
    let mut place = 0;
    let mut ended = false;
    for part in parts.by_ref() {
        match part {
            Part::Open("MTR", attributes) => {
                target = attribute(attributes, "DST").unwrap_or_default().to_owned();
            }
            Part::Open("HUB", attributes) => {
                place += 1;
                let number = attribute(attributes, "COUNT").and_then(|count| count.parse().ok());
                let host = attribute(attributes, "HOST").unwrap_or_default();
                let hop = mtr::hop(number.unwrap_or(place), host, &target);
                imported.streams.push(hop);
            }
            // A name of XML cannot have a per cent sign.
            Part::Open("Loss", _) => "Loss%".clone_into(&mut column),
            Part::Open(name, _) => name.clone_into(&mut column),
            Part::Text(value) => mtr::say(&mut imported, &column, value.trim()),
            Part::Close(name) => ended |= name == "MTR",
            Part::Comment(_) => {}
        }
    }
    warn_if_cut(ended, &mut imported);
    Ok(mtr::finish(imported))
}
