//! What `explain` says of runs and files of which everything is known.
//!
//! | module | tests |
//! |---|---|
//! | [`calibrate`] | simulated paths are found again |
//! | [`import`] | files that other tools wrote |
//! | [`import_broken`] | files that were cut, changed or made up |
//! | [`losses`] | packets that were lost: how many in a row, and why |
//! | [`processes`] | processes that had the prober's CPU, as recorded: one by one, in pieces, woken by the probe |
//! | [`recorded`] | packets whose every stamp is known: repeats, sizes and conditions that differ |
//! | [`requests`] | requests to servers whose every stamp is known: late, lost, on new connections |
//! | [`steady`] | causes that every packet of simulated runs pays |
//! | [`causes`] | causes of late packets in simulated runs |
#![allow(clippy::unwrap_used)]

mod calibrate;
mod causes;
mod import;
mod import_broken;
mod losses;
mod processes;
mod recorded;
mod requests;
mod steady;
