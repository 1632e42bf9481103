//! Packets that were lost in a host and not on the path: what the user should know of them, and do.

use delaylab_model::trial::{LossDirection, LostInHost};

/// A sentence for each way in which a host lost some.
pub(super) fn warnings(lost: LostInHost) -> Vec<String> {
    let said = |count: u64, sentence: &str| (count > 0).then(|| format!("{count} {sentence}"));
    [
        said(
            lost.reflector_buffer,
            "packets reached the reflector's host and were dropped there, not on the path: the receive buffer of its socket \
             was full. Let it have more (`sysctl -w net.core.rmem_max=8388608` there, then start it again), a free CPU, or \
             send at a lower rate",
        ),
        said(
            lost.reflector_limit,
            "packets reached the reflector and were not answered, as its rate limit was reached: they are no loss of the path. \
             Start it with a larger --max-rate and --max-total-rate, or send at a lower rate",
        ),
        said(
            lost.own_buffer,
            "replies reached this host and were dropped here, not on the path: the receive buffer was full. Let it have more \
             (`sysctl -w net.core.rmem_max=8388608`), let the prober spin or have a quiet CPU (--condition quiet), or send at \
             a lower rate",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A sentence, where the reflector's buffer dropped packets that may be this probe's.
pub(super) fn of_several(loss: LossDirection, dropped: u64) -> Option<String> {
    let most = dropped.min(loss.unknown);
    (most > 0).then(|| {
        format!(
            "up to {most} of the lost packets reached the reflector's host: the receive buffer of its socket was full. Others \
             send there as well, so which packets were dropped is not known. Measure at a time without others, or let it have \
             more (`sysctl -w net.core.rmem_max=8388608` there, then start it again)"
        )
    })
}
