#![allow(clippy::unwrap_used)]
//! Both halves together: on a path of constant delay ([`path`]), and segment by segment.

mod acks;
mod bottleneck;
mod ecn;
mod exchange;
mod formulas;
mod handshake;
mod ns3;
mod paced;
mod path;
mod properties;
mod selective;

use delaylab_model::{PICOS_PER_SECOND, Picos};

const MS: Picos = PICOS_PER_SECOND / 1000;
