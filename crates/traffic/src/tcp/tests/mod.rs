#![allow(clippy::unwrap_used)]
//! Both halves together: on a path of constant delay ([`path`]), and segment by segment.

mod acks;
mod bottleneck;
mod ecn;
mod exchange;
mod formulas;
mod ns3;
mod path;
mod properties;

use delaylab_model::{PICOS_PER_SECOND, Picos};

const MS: Picos = PICOS_PER_SECOND / 1000;
