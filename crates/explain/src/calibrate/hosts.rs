//! What the hosts cost: each a constant and a slope, and what is left over, their noise.

use super::line::{self, Line, on_the_wire};
use super::passage::Ways;
use super::run_trials::{ProbeStream, Trial};
use delaylab_model::Nanos;
use delaylab_model::path::Framing;
use delaylab_model::record::Record;

/// The lines of both hosts, against the size of the IP packet. `None` where a stamp is missing.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// From the send call to the driver.
    pub prober_send: Option<Line>,
    /// From the kernel to the process.
    pub prober_receive: Option<Line>,
    /// The same at the reflector.
    pub reflector_receive: Option<Line>,
    /// From the reflector's process to its driver.
    pub reflector_send: Option<Line>,
    /// What the lines do not say.
    pub noise: Noise,
}

/// Measured less the lines' value, in nanoseconds, for packets of unloaded trials that were alone on the
/// path.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noise {
    /// Of the response.
    pub response: Vec<f64>,
    /// Of the network.
    pub network: Vec<f64>,
}

impl Hosts {
    /// `network` are the lines there and back: of all probes, or of `probe` alone.
    pub(super) fn estimate(
        trials: &[&Trial],
        framing: Framing,
        ways: Ways,
        network: [&Option<Line>; 2],
        probe: Option<&str>,
    ) -> Self {
        let handed_over = handed_over(trials);
        let [prober_send, prober_receive] = line::of_host(
            trials,
            [
                &|_, record| {
                    // What waited for the line behind others of its own is the line's.
                    let sched = record.t_sched.map_or(Nanos::MAX, |at| at + handed_over);
                    Some((record.t_send?, record.t_tx?.min(sched)))
                },
                &|stream, record| {
                    let asks = !stream.method.is_one_way();
                    asks.then_some((record.t_rx?, record.t_recv?))
                },
            ],
        );
        let [reflector_receive, reflector_send] = line::of_host(
            trials,
            [
                &|_, record| Some((record.r_rx?, record.r_user?)),
                &|_, record| Some((record.r_user?, record.r_tx?)),
            ],
        );
        let mut hosts = Self {
            prober_send,
            prober_receive,
            reflector_receive,
            reflector_send,
            noise: Noise::default(),
        };
        let alone = trials.iter().flat_map(|trial| alone(trial));
        let alone = alone.filter(|(stream, _)| probe.is_none_or(|probe| stream.probe == probe));
        hosts.noise = hosts.noise(alone, framing, ways, network);
        hosts
    }

    /// Each line with what it is of.
    pub fn lines(&self) -> [(&'static str, Option<&Line>); 4] {
        [
            ("prober sends", self.prober_send.as_ref()),
            ("prober receives", self.prober_receive.as_ref()),
            ("reflector receives", self.reflector_receive.as_ref()),
            ("reflector sends", self.reflector_send.as_ref()),
        ]
    }

    /// What the simulation's one cost for both directions is at each end: nanoseconds a packet, and a byte.
    pub(super) fn of_each(&self) -> [Option<[f64; 2]>; 2] {
        let mean = |send: &Option<Line>, receive: &Option<Line>| {
            let (send, receive) = (send.as_ref()?, receive.as_ref()?);
            let mean = |a: f64, b: f64| f64::midpoint(a, b).max(0.0);
            Some([
                mean(send.constant.value, receive.constant.value),
                mean(send.slope.value, receive.slope.value),
            ])
        };
        [
            mean(&self.prober_send, &self.prober_receive),
            mean(&self.reflector_send, &self.reflector_receive),
        ]
    }

    fn noise<'a>(
        &self,
        alone: impl Iterator<Item = (&'a ProbeStream, &'a Record)>,
        framing: Framing,
        ways: Ways,
        network: [&Option<Line>; 2],
    ) -> Noise {
        let [Some(forward), back] = network else {
            return Noise::default();
        };
        let of_hosts = |ip_size: f64| -> f64 {
            let lines = self.lines().into_iter().filter_map(|(_, line)| line);
            lines.map(|line| line.at(ip_size)).sum()
        };
        let mut noise = Noise::default();
        for (stream, record) in alone {
            let Some(ip_size) = record.ip_size.filter(|_| !stream.method.is_one_way()) else {
                continue;
            };
            let wire = f64::from(on_the_wire(framing, ip_size));
            let returns = match ways {
                Ways::Apart => back.as_ref().map_or(f64::NAN, |back| back.at(wire)),
                Ways::Together => 0.0,
            };
            let expected = forward.at(wire) + returns;
            if let Some(found) = stream.network(record).filter(|_| expected.is_finite()) {
                noise.network.push(found as f64 - expected);
            }
            let expected = expected + of_hosts(f64::from(ip_size));
            if let Some(found) = record.response().filter(|_| expected.is_finite()) {
                noise.response.push(found as f64 - expected);
            }
        }
        noise
    }
}

/// From the queueing discipline to the driver, where nothing waits.
fn handed_over(trials: &[&Trial]) -> Nanos {
    let streams = trials.iter().flat_map(|trial| &trial.streams);
    let records = streams.flat_map(|stream| &stream.records);
    let each = records.filter_map(|record| Some(record.t_tx? - record.t_sched?));
    each.min().unwrap_or(0).max(0)
}

/// The packets that shared the path with no other.
fn alone(trial: &Trial) -> Vec<(&ProbeStream, &Record)> {
    let streams = trial.streams.iter();
    let each = streams.flat_map(|stream| {
        let records = stream.records.iter();
        records.filter_map(move |record| Some((stream.sent(record)?, stream, record)))
    });
    let mut each: Vec<_> = each.collect();
    each.sort_by_key(|(sent, ..)| *sent);
    let mut busy_until = i64::MIN;
    let mut alone = Vec::new();
    for (at, &(sent, stream, record)) in each.iter().enumerate() {
        let end = record.t_rx.unwrap_or(i64::MAX);
        let next = each.get(at + 1).map(|(next, ..)| *next);
        if busy_until < sent && next.is_none_or(|next| end < next) && record.answered() {
            alone.push((stream, record));
        }
        busy_until = busy_until.max(record.t_rx.unwrap_or(sent));
    }
    alone
}
