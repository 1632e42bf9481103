//! The tables: their rows' fields, in the order of the files.

use super::{Column, Row, columns};
use delaylab_model::record::Record;
use delaylab_model::with_tables;

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
}

macro_rules! rows_besides_records {
    ({} $($(#[$doc:meta])* $table:ident $field:ident: $row:ty { $($column:ident)* },)+) => {
        $(impl Row for $row {
            const TABLE: &'static str = stringify!($field);
            const COLUMNS: &'static [Column<Self>] = columns! { $row: $($column)* };
        })+
    };
}
with_tables!((rows_besides_records) {});
