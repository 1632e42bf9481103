//! Which setting of a switch bounds the queue of one of its output ports, in what that queue counts.

use delaylab_model::path::{Discipline, Pool, Switch};
use delaylab_model::plan::Unit;
use delaylab_model::quantity::Limit;

/// From where on its discipline marks packets or tells senders their rate.
pub(super) fn threshold(switch: &Switch, unit: Unit) -> Option<f64> {
    let acts = switch.threshold.filter(|_| acts_at_threshold(switch));
    within(switch, acts?, unit)
}

/// How much the queue may hold, or each class queue of it. `None` where no setting says so: buffers at the inputs hold
/// packets for every output, a dynamic share depends on what else waits, and what flow control keeps from being lost has
/// buffers of its own.
pub(super) fn limit(switch: &Switch, unit: Unit) -> Option<f64> {
    let is_at_inputs = switch.pool == Some(Pool::Input) || switch.crossbar.is_some();
    if is_at_inputs || switch.alpha.is_some() || switch.flow_control.is_some() {
        return None;
    }
    let share = switch.threshold.filter(|_| !acts_at_threshold(switch));
    let limits = [switch.queue_buffer, share, switch.buffer];
    let limits = limits.into_iter().flatten();
    let limits = limits.filter_map(|limit| within(switch, limit, unit));
    limits.min_by(f64::total_cmp)
}

/// Of all other disciplines the threshold is how much of the buffer a port may use.
fn acts_at_threshold(switch: &Switch) -> bool {
    matches!(
        switch.discipline,
        Some(Discipline::Efci | Discipline::ExplicitRate)
    )
}

/// In this unit; `None` where it is said in another one. A share is of the buffer.
fn within(switch: &Switch, limit: Limit, unit: Unit) -> Option<f64> {
    match limit {
        Limit::Share(share) => match switch.buffer? {
            Limit::Share(_) => None,
            whole => Some(share.as_f64() * within(switch, whole, unit)?),
        },
        Limit::Cells(cells) => (unit == Unit::Cells).then_some(cells as f64),
        Limit::Bytes(bytes) => (unit == Unit::Bytes).then_some(bytes as f64),
        Limit::Packets(packets) => (unit == Unit::Packets).then_some(packets as f64),
        Limit::Unlimited => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use delaylab_model::quantity::Share;

    const KIB: u64 = 1_024;

    fn switch(discipline: Discipline, buffer: Limit) -> Switch {
        Switch {
            discipline: Some(discipline),
            buffer: Some(buffer),
            ..Switch::default()
        }
    }

    #[test]
    fn of_class_queues_the_limit_of_each_is_the_one_that_binds() {
        let switch = Switch {
            queue_buffer: Some(Limit::Bytes(64 * KIB)),
            ..switch(Discipline::Wfq, Limit::Bytes(256 * KIB))
        };
        assert_eq!(limit(&switch, Unit::Bytes), Some(65_536.0));
        assert_eq!(limit(&switch, Unit::Cells), None);
    }

    #[test]
    fn a_share_of_the_buffer_is_counted_as_the_buffer_is() {
        let half = Switch {
            threshold: Some(Limit::Share(Share::of_percent(50))),
            ..switch(Discipline::Fifo, Limit::Bytes(160 * KIB))
        };
        assert_eq!(limit(&half, Unit::Bytes), Some(81_920.0));
        assert_eq!(threshold(&half, Unit::Bytes), None);
        let marks = Switch {
            discipline: Some(Discipline::Efci),
            ..half
        };
        assert_eq!(threshold(&marks, Unit::Bytes), Some(81_920.0));
        assert_eq!(limit(&marks, Unit::Bytes), Some(163_840.0));
    }

    #[test]
    fn where_no_setting_bounds_an_output_there_is_no_limit() {
        let per_flow = || switch(Discipline::PerFlow, Limit::Cells(2_000));
        assert_eq!(limit(&per_flow(), Unit::Cells), Some(2_000.0));
        let at_inputs = Switch {
            pool: Some(Pool::Input),
            ..per_flow()
        };
        let dynamic = Switch {
            alpha: Some(Share::WHOLE),
            ..per_flow()
        };
        let unlimited = switch(Discipline::Efci, Limit::Unlimited);
        for switch in [at_inputs, dynamic, unlimited] {
            assert_eq!(limit(&switch, Unit::Cells), None, "{switch:?}");
        }
    }
}
