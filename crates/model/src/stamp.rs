//! The stamps of a record by name, and whether they were delivered.

use crate::method::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the stamps of a record, in the order in which a packet passes them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // named after the record's columns, which document them
pub enum StampPoint {
    TSched,
    TTx,
    TTxHw,
    RRx,
    RUser,
    RTx,
    TAck,
    TFirst,
    TRx,
    TRxHw,
}

impl StampPoint {
    /// Those of a packet that a reflector or a host answers. They may or may not be delivered.
    pub const ALL: [StampPoint; 8] = [
        StampPoint::TSched,
        StampPoint::TTx,
        StampPoint::TTxHw,
        StampPoint::RRx,
        StampPoint::RUser,
        StampPoint::RTx,
        StampPoint::TRx,
        StampPoint::TRxHw,
    ];
    /// Those of a request to a server.
    pub const OF_REQUESTS: [StampPoint; 7] = [
        StampPoint::TSched,
        StampPoint::TTx,
        StampPoint::TTxHw,
        StampPoint::TAck,
        StampPoint::TFirst,
        StampPoint::TRx,
        StampPoint::TRxHw,
    ];

    /// Those of a request to a reflector on a connection.
    pub const OF_STREAMS: [StampPoint; 10] = [
        StampPoint::TSched,
        StampPoint::TTx,
        StampPoint::TTxHw,
        StampPoint::RRx,
        StampPoint::RUser,
        StampPoint::RTx,
        StampPoint::TAck,
        StampPoint::TFirst,
        StampPoint::TRx,
        StampPoint::TRxHw,
    ];

    /// Those that packets of this method can have.
    pub const fn of_method(method: Method) -> &'static [StampPoint] {
        match method.is_stream() {
            _ if method.asks_server() => &Self::OF_REQUESTS,
            true => &Self::OF_STREAMS,
            false => &Self::ALL,
        }
    }

    /// The record's column.
    pub const fn name(self) -> &'static str {
        match self {
            StampPoint::TSched => "t_sched",
            StampPoint::TTx => "t_tx",
            StampPoint::TTxHw => "t_tx_hw",
            StampPoint::RRx => "r_rx",
            StampPoint::RUser => "r_user",
            StampPoint::RTx => "r_tx",
            StampPoint::TAck => "t_ack",
            StampPoint::TFirst => "t_first",
            StampPoint::TRx => "t_rx",
            StampPoint::TRxHw => "t_rx_hw",
        }
    }
}

/// Whether a stamp that could have come did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It came back with the packets.
    Delivered,
    /// It was accepted when asked for and never came.
    Missing,
    /// Refused, or this method has no such stamp.
    Unsupported,
    /// Not asked for.
    Off,
}
