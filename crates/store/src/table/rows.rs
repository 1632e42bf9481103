//! The tables: their rows' fields, in the order of the files.

use super::{Column, Row, columns};
use delaylab_model::Nanos;
use delaylab_model::hop::{Direction, Hop};
use delaylab_model::noise::{ClockReads, NoiseEvent};
use delaylab_model::record::Record;
use delaylab_model::series::{SeriesPoint, SeriesValue};
use delaylab_model::transfer::Transfer;

impl Row for Record {
    const TABLE: &'static str = "records";
    const COLUMNS: &'static [Column<Self>] = columns! { Record:
        trial probe seq method dscp ip_size
        t_intended t_send t_sched t_tx t_tx_hw r_rx r_user r_tx t_rx t_rx_hw t_recv
        cpu r_dscp reply_dscp reply_ecn reply_ttl reflector_seq
        copies reorder_extent retransmits outcome refused_by icmp icmp_type icmp_code path_mtu errno clock_event
        t_begin t_resolved t_connected t_secured t_ack t_first
        least_round_trip answer reply_bytes connection answer_ttl server_says
    };
    type Key<'a> = u64;

    fn key(&self) -> Self::Key<'_> {
        self.seq
    }

    fn stream(&self) -> u16 {
        self.probe
    }
}

impl Row for NoiseEvent {
    const TABLE: &'static str = "noise";
    const COLUMNS: &'static [Column<Self>] = columns! { NoiseEvent:
        trial start length cpu kind who pid preempted
    };
    type Key<'a> = Nanos;

    fn key(&self) -> Self::Key<'_> {
        self.start
    }
}

impl Row for ClockReads {
    const TABLE: &'static str = "clock_reads";
    const COLUMNS: &'static [Column<Self>] = columns! { ClockReads:
        trial from_ns to_ns count
    };
    type Key<'a> = Nanos;

    fn key(&self) -> Self::Key<'_> {
        self.from_ns
    }
}

impl Row for Hop {
    const TABLE: &'static str = "hops";
    const IS_OPTIONAL: bool = true;
    const COLUMNS: &'static [Column<Self>] = columns! { Hop:
        trial probe seq direction hop port t_enqueue t_dequeue backlog
    };
    type Key<'a> = (u64, Direction, u16);

    fn key(&self) -> Self::Key<'_> {
        (self.seq, self.direction, self.hop)
    }

    fn stream(&self) -> u16 {
        self.probe
    }
}

impl Row for SeriesPoint {
    const TABLE: &'static str = "series";
    const IS_OPTIONAL: bool = true;
    /// All at once: a world that has series thins them.
    const WINDOW: usize = usize::MAX / 2;
    const COLUMNS: &'static [Column<Self>] = columns! { SeriesPoint:
        trial series of unit t length min mean max
    };
    type Key<'a> = (&'a str, &'a str, Nanos);

    fn key(&self) -> Self::Key<'_> {
        (&self.series, &self.of, self.t)
    }
}

impl Row for SeriesValue {
    const TABLE: &'static str = "series_values";
    const IS_OPTIONAL: bool = true;
    /// All at once, as the series themselves.
    const WINDOW: usize = usize::MAX / 2;
    const COLUMNS: &'static [Column<Self>] = columns! { SeriesValue:
        trial series of unit value length
    };
    /// Values are not below zero, so that their bits have their order.
    type Key<'a> = (&'a str, &'a str, u64);

    fn key(&self) -> Self::Key<'_> {
        (&self.series, &self.of, self.value.max(0.0).to_bits())
    }
}

impl Row for Transfer {
    const TABLE: &'static str = "transfers";
    const IS_OPTIONAL: bool = true;
    /// All at once, when the trial has ended.
    const WINDOW: usize = usize::MAX / 2;
    const COLUMNS: &'static [Column<Self>] = columns! { Transfer:
        trial of number bytes start end
    };
    type Key<'a> = (&'a str, u64);

    fn key(&self) -> Self::Key<'_> {
        (&self.of, self.number)
    }
}
