//! The cause of one late packet.
//!
//! The delay is attributed to the stage that took longest beyond its usual time. Of a stage at the prober's own
//! host the noise table says who had the CPU in that stretch of time, as long as the thread that the packet waited for can have
//! waited for a CPU ([`crate::stalls`]) and was not stopped: the process that had it for half of what was lost or more, or several that did together. Of
//! the network, and of stages that stamps do not tell
//! apart, in worlds that see into their path, the queues say whether one of them held the packet for half of it or
//! more. What is left has a stage and no name.

use crate::anatomy::{Place, StageSet};
use crate::excursion::{Excess, Excursion};
use crate::noise_join::{Join, Overlap};
use crate::stage::Stage;
use crate::stalls::Stalls;
pub use crate::trains::family;
use crate::trains::{Owner, Trains};
use delaylab_model::Nanos;
use delaylab_model::hop::Direction;
use delaylab_model::noise::{NoiseEvent, NoiseKind};
use delaylab_model::record::Bounds;
use delaylab_model::trial::{RecordFacts, ReflectorClock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Share of the excess that a process or a queue must have taken to be named as its cause.
const ENOUGH: f64 = 0.5;

/// The cause of late packets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LateCause {
    /// Something else had the CPU of the prober, or of a reflector on the same host.
    Ran {
        /// Which process; for sources without names, what they saw.
        who: Owner,
        /// Where it was seen.
        kind: NoiseKind,
    },
    /// Several others had that CPU one after the other, none of them for half of the time.
    Others,
    /// The prober's host took its time, and no process is known for it.
    Prober {
        /// In which stages.
        stages: StageSet,
    },
    /// The reflector's host took its time.
    Reflector {
        /// It is the prober's own host.
        here: bool,
    },
    /// A queue of the path held them.
    Queue {
        /// The port whose queue it is.
        port: Arc<str>,
    },
    /// A port of the path was paused, and held them.
    Paused {
        /// Which port.
        port: Arc<str>,
    },
    /// A segment was lost, and TCP sent it again; or they waited behind one that was.
    SentAgain,
    /// The network took its time, and no queue that is seen into held them.
    Network {
        /// In which stages.
        stages: StageSet,
    },
    /// The server took its time, or all that is behind what acknowledges for it.
    Server,
    /// A connection had to be made for them, which the others have already.
    NewConnection {
        /// Every other connection waited for a reply; else those before had ended.
        busy: bool,
    },
    /// Looking the name up took its time.
    Resolver,
    /// Stamps are missing: host and network are not told apart.
    Unclear {
        /// In which stages.
        stages: StageSet,
    },
    /// The clock was set, or the host suspended, while they were under way.
    Clock,
}

impl LateCause {
    /// The process that had the CPU.
    pub const fn process(&self) -> Option<&Owner> {
        match self {
            LateCause::Ran { who, .. } => Some(who),
            _ => None,
        }
    }

    /// Host or network.
    pub const fn place(&self) -> Place {
        match self {
            LateCause::Ran { .. } | LateCause::Others | LateCause::Prober { .. } => Place::Prober,
            LateCause::Reflector { .. } => Place::Reflector,
            LateCause::Queue { .. }
            | LateCause::Paused { .. }
            | LateCause::SentAgain
            | LateCause::Network { .. } => Place::Network,
            LateCause::Server | LateCause::NewConnection { busy: false } => Place::Server,
            LateCause::Resolver => Place::Resolver,
            LateCause::NewConnection { busy: true }
            | LateCause::Unclear { .. }
            | LateCause::Clock => Place::Unclear,
        }
    }
}

/// What held a packet in a queue of its path, beyond what is usual for that queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The queue.
    pub port: Arc<str>,
    /// On the way there or back.
    pub direction: Direction,
    /// Its port was paused, which is what held the packet.
    pub paused: bool,
    /// Beyond its usual time there, ns.
    pub ns: f64,
}

impl Held {
    /// Of the queues that held this packet the one that did so longest: where its stamps tell on which way it was late, of those on
    /// this way.
    pub fn longest<'h>(all: &'h [Held], late: &Excursion) -> Option<&'h Held> {
        let stages = late.main()?.stages;
        let on_its_way = |held: &&Held| {
            let [own, other] = match held.direction {
                Direction::Forward => [Stage::ForwardPath, Stage::ReturnPath],
                Direction::Return => [Stage::ReturnPath, Stage::ForwardPath],
            };
            stages.contains(own) || !stages.contains(other)
        };
        let of_way = all.iter().filter(on_its_way);
        of_way.max_by(|a, b| a.ns.total_cmp(&b.ns))
    }
}

/// What is known of the hosts while the packets of one stream were under way.
#[derive(Debug)]
pub struct HostView<'a, 'n> {
    facts: RecordFacts,
    noise: &'a Join<'n>,
    trains: &'a Trains,
    /// Packets are segments of a connection, which the kernel may keep back.
    over_tcp: bool,
    /// When the prober did not run, and when the reflector did not.
    prober: Stalls,
    reflector: Stalls,
}

impl<'a, 'n> HostView<'a, 'n> {
    /// Of a stream with these late packets. `trains` say which events are one process's.
    pub fn new(
        facts: RecordFacts,
        noise: &'a Join<'n>,
        trains: &'a Trains,
        late: impl Iterator<Item = Excursion>,
    ) -> Self {
        let (mut prober, mut reflector) = (Vec::new(), Vec::new());
        for main in late.filter_map(|late| late.main().copied()) {
            match main.stages.place() {
                Place::Prober => prober.extend(main.window),
                Place::Reflector => reflector.extend(main.window),
                _ => {}
            }
        }
        Self {
            facts,
            noise,
            trains,
            over_tcp: false,
            prober: Stalls::new(prober, noise),
            reflector: Stalls::new(reflector, noise),
        }
    }

    /// Are its packets segments of a connection?
    pub fn over_tcp(self, over_tcp: bool) -> Self {
        Self { over_tcp, ..self }
    }

    /// Does no thread wait for a CPU here?
    fn waits_in_tcp(&self, stages: StageSet) -> bool {
        self.over_tcp && waits_in_tcp(stages)
    }
}

/// A segment in the stack waits for a window or an acknowledgement, and no thread for a CPU.
pub(crate) const fn waits_in_tcp(stages: StageSet) -> bool {
    StageSet::span(Stage::SendStack, Stage::LocalQueue).covers(stages)
}

/// The cause of a late packet, and the event that names it, or that says that its thread was stopped.
pub fn whose<'n>(
    late: &Excursion,
    host: &HostView<'_, 'n>,
    held: Option<&Held>,
) -> (LateCause, Option<&'n NoiseEvent>) {
    let Some(main) = late.main() else {
        return (LateCause::Clock, None);
    };
    let stages = main.stages;
    match stages.place() {
        Place::Prober => {
            let window = main.window.filter(|_| !host.waits_in_tcp(stages));
            if let Some(stop) = stopped(main, window, host) {
                return (LateCause::Prober { stages }, Some(stop));
            }
            let overlap = window.map(|(from, to)| host.noise.on(late.cpu, from, to));
            let named = named(main, overlap, &host.prober, host);
            named.unwrap_or((LateCause::Prober { stages }, None))
        }
        Place::Reflector => {
            // Where the clocks are one, so are the hosts: the noise is that of the reflector, too.
            let same = host.facts.reflector_clock == ReflectorClock::Same;
            let window = main.window.filter(|_| same);
            let unnamed = LateCause::Reflector { here: same };
            if let Some(stop) = stopped(main, window, host) {
                return (unnamed, Some(stop));
            }
            let overlap = window.map(|(from, to)| host.noise.on_busiest(from, to));
            named(main, overlap, &host.reflector, host).unwrap_or((unnamed, None))
        }
        Place::Server => (LateCause::Server, None),
        Place::Resolver => (LateCause::Resolver, None),
        // What waited in a queue for half of it did so there, whatever its stamps tell apart.
        place => match held.filter(|held| enough(held.ns, main)) {
            Some(held) => {
                let port = held.port.clone();
                let what = match held.paused {
                    true => LateCause::Paused { port },
                    false => LateCause::Queue { port },
                };
                (what, None)
            }
            None if place == Place::Network => (LateCause::Network { stages }, None),
            None => (LateCause::Unclear { stages }, None),
        },
    }
}

/// Is what it was late by the usual length of a stage that those do not have which were not late, as a request that has to make a
/// connection? `usual` is that length.
pub fn is_set_up(late: &Excursion, usual: impl Fn(StageSet) -> Option<f64>) -> bool {
    let main = late
        .main()
        .filter(|main| StageSet::SETUP.covers(main.stages));
    let Some((main, (from, to))) = main.and_then(|main| Some((main, main.window?))) else {
        return false;
    };
    let others_have_none = ((to - from) as f64 - main.ns).abs() < 1.0;
    others_have_none && usual(main.stages).is_some_and(|usual| enough(usual, main))
}

/// The same where the stamps do not tell network and server apart, but bound what the server took: if even the least that it
/// may have taken, beyond the most that is usual for it, is half of what was lost, it is the server. The network is it, if it
/// took so much beyond all that is usual for both together.
pub fn by_bounds(what: LateCause, late: &Excursion, server: Bounds) -> LateCause {
    let LateCause::Unclear { stages } = what else {
        return what;
    };
    let window = late.main().and_then(|main| Some((main, main.window?)));
    let Some((main, (from, to))) = window.filter(|_| stages.covers(StageSet::NETWORK_AND_SERVER))
    else {
        return what;
    };
    let took = (to - from) as f64;
    let usual = took - main.ns;
    let network = took - server.most as f64;
    // A network that took as much as both usually do together says nothing of what is usual for it.
    let usual_of_server = if network < usual {
        usual - network
    } else {
        usual
    };
    if enough(server.least as f64 - usual_of_server, main) {
        LateCause::Server
    } else if enough(network - usual, main) {
        let stages = StageSet::BOTH_WAYS;
        LateCause::Network { stages }
    } else {
        what
    }
}

/// When what the packet waited for was stopped for half of what was lost: who had the CPU meanwhile did not keep it waiting.
fn stopped<'n>(
    main: &Excess,
    window: Option<(Nanos, Nanos)>,
    host: &HostView<'_, 'n>,
) -> Option<&'n NoiseEvent> {
    let (from, to) = window?;
    let (stop, ns) = host.noise.stopped(from, to)?;
    enough(ns as f64, main).then_some(stop)
}

fn named<'n>(
    main: &Excess,
    overlap: Option<Overlap<'n>>,
    stalls: &Stalls,
    host: &HostView<'_, 'n>,
) -> Option<(LateCause, Option<&'n NoiseEvent>)> {
    let cpu = overlap?.longest?.cpu;
    let (from, to) = stalls.waited(cpu, main.window?);
    if !enough(host.noise.on(cpu, from, to).ns as f64, main) {
        return None;
    }
    // A process that others interrupt has several events there.
    let mut by_owner = BTreeMap::<(Owner, NoiseKind), (Nanos, Nanos, &NoiseEvent)>::new();
    for (event, ns) in host.noise.each(cpu, from, to) {
        let owner = host.trains.owner(event);
        let owner = owner.unwrap_or_else(|| Owner::named(event.kind.name()));
        let known = by_owner.entry((owner, event.kind));
        let (all, longest, of) = known.or_insert((0, 0, event));
        *all += ns;
        if ns > *longest {
            (*longest, *of) = (ns, event);
        }
    }
    let most = by_owner.into_iter().max_by_key(|(_, (all, ..))| *all);
    let ((who, kind), (all, _, event)) = most?;
    let what = match enough(all as f64, main) {
        true => LateCause::Ran { who, kind },
        false => LateCause::Others,
    };
    Some((what, Some(event)))
}

fn enough(ns: f64, main: &Excess) -> bool {
    ns >= ENOUGH * main.ns
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SAME: RecordFacts = RecordFacts {
        reflector_clock: ReflectorClock::Same,
        residence: delaylab_model::trial::Residence::ToDriver,
    };

    /// Late by 3 ms in one stage, from 1 s to 1.003 s, on CPU 1.
    fn late(stages: impl Into<StageSet>) -> Excursion {
        Excursion {
            seq: 7,
            due: 1_000_000_000,
            cpu: Some(1),
            response: 3_070_000,
            excess: 3e6,
            parts: vec![
                Excess {
                    stages: stages.into(),
                    ns: 3e6,
                    window: Some((1_000_000_000, 1_003_000_000)),
                },
                Excess {
                    stages: Stage::SendStack.into(),
                    ns: 10.0,
                    window: Some((999_000_000, 1_000_000_000)),
                },
            ],
        }
    }

    fn event(who: &str, cpu: u16, start: i64, length: i64) -> NoiseEvent {
        NoiseEvent {
            trial: 0,
            start,
            length,
            cpu: Some(cpu),
            kind: NoiseKind::Scheduled,
            who: Some(who.to_owned()),
            pid: None,
            preempted: None,
        }
    }

    fn cause_of(late: &Excursion, facts: &RecordFacts, noise: &[NoiseEvent]) -> LateCause {
        let (noise, trains) = (Join::new(noise), Trains::default());
        let host = HostView::new(*facts, &noise, &trains, std::iter::once(late.clone()));
        whose(late, &host, None).0
    }

    #[test]
    fn who_had_the_cpu_for_most_of_the_time_is_named() {
        let stages = Stage::ReceiveWakeup;
        let cron = event("cron", 1, 1_000_100_000, 2_800_000);
        let ran = |who: &str| LateCause::Ran {
            who: Owner::named(who),
            kind: NoiseKind::Scheduled,
        };
        assert_eq!(
            cause_of(&late(stages), &SAME, std::slice::from_ref(&cron)),
            ran("cron")
        );
        // Another CPU, another time, or too short: nobody is named.
        let elsewhere = [
            event("cron", 0, 1_000_100_000, 2_800_000),
            event("cron", 1, 1_003_000_000, 2_800_000),
            event("cron", 1, 1_000_100_000, 1_400_000),
        ];
        for noise in elsewhere {
            let stages = stages.into();
            assert_eq!(
                cause_of(&late(stages), &SAME, &[noise]),
                LateCause::Prober { stages }
            );
        }
        // Of several that had it together for most of the time, none is responsible for all of it.
        let several = [
            event("sshd", 1, 1_000_000_000, 700_000),
            event("cron", 1, 1_000_700_000, 1_000_000),
        ];
        assert_eq!(cause_of(&late(stages), &SAME, &several), LateCause::Others);
        // Something short in between does not make it two.
        let mut interrupted = vec![event("sshd", 1, 1_001_700_000, 1_100_000)];
        interrupted.extend([0, 900_000].map(|at| event("cron", 1, 1_000_000_000 + at, 800_000)));
        assert_eq!(cause_of(&late(stages), &SAME, &interrupted), ran("cron"));
    }

    /// A reflector that is stopped for 398 ms, while a compiler runs that kernel threads interrupt: it was given the CPU again and
    /// again, and the reflector was not.
    #[test]
    fn a_thread_that_is_stopped_does_not_wait_for_the_cpu() {
        const MS: i64 = 1_000_000;
        let lengths = [12, 3, 8, 32, 3, 7].repeat(8);
        let mut start = 0;
        let spell = |length: i64| {
            let mut spell = event("rustc", 1, start, length * MS);
            (spell.pid, spell.preempted) = (Some(7), Some(true));
            start += length * MS + 30_000;
            spell
        };
        let noise: Vec<NoiseEvent> = lengths.into_iter().map(spell).collect();
        let waited = |from: i64| {
            let mut late = late(Stage::Reflector);
            late.parts[0].window = Some((from * MS, 398 * MS + from));
            late.parts[0].ns = ((398 - from) * MS) as f64;
            late
        };
        let stopped: Vec<Excursion> = (0..66).map(|n| waited(6 * n)).collect();
        let (join, trains) = (Join::new(&noise), Trains::default());
        let host = HostView::new(SAME, &join, &trains, stopped.iter().cloned());
        for late in &stopped {
            let what = whose(late, &host, None).0;
            assert_eq!(what, LateCause::Reflector { here: true }, "{late:?}");
        }
        // One that waits for its turn alone.
        let waits = [waited(390)];
        let host = HostView::new(SAME, &join, &trains, waits.iter().cloned());
        assert!(matches!(
            whose(&waits[0], &host, None).0,
            LateCause::Ran { .. }
        ));
    }

    /// What TCP keeps back waits for a window, an acknowledgement or a time-out.
    #[test]
    fn a_segment_in_the_stack_of_tcp_does_not_wait_for_the_cpu() {
        let noise = [event("rustc", 1, 1_000_000_000, 3_000_000)];
        let late = late(Stage::SendStack);
        let (join, trains) = (Join::new(&noise), Trains::default());
        let of = |over_tcp: bool| {
            let host = HostView::new(SAME, &join, &trains, std::iter::once(late.clone()));
            whose(&late, &host.over_tcp(over_tcp), None).0
        };
        let stages = Stage::SendStack.into();
        assert_eq!(of(true), LateCause::Prober { stages });
        assert!(matches!(of(false), LateCause::Ran { .. }));
    }

    #[test]
    fn a_reflector_of_this_host_waits_for_any_of_its_cpus_and_another_hosts_for_none() {
        let noise = [event("cron", 0, 1_000_100_000, 2_800_000)];
        let of = |facts: &RecordFacts| cause_of(&late(Stage::Reflector), facts, &noise);
        assert!(matches!(of(&SAME), LateCause::Ran { who, .. } if who.name == "cron"));
        let other = RecordFacts {
            reflector_clock: ReflectorClock::Unrelated,
            ..SAME
        };
        assert_eq!(of(&other), LateCause::Reflector { here: false });
        let nothing = cause_of(&late(Stage::Reflector), &SAME, &[]);
        assert_eq!(nothing, LateCause::Reflector { here: true });
    }

    #[test]
    fn who_was_stopped_did_not_wait_for_the_process_that_had_the_cpu() {
        let busy = event("busy", 1, 900_000_000, 500_000_000);
        let stop = |start: i64, length: i64| NoiseEvent {
            kind: NoiseKind::Stopped,
            ..event("delaylab", 1, start, length)
        };
        let of = |stages: StageSet, stop: NoiseEvent| {
            cause_of(&late(stages), &SAME, &[busy.clone(), stop])
        };
        let (wakeup, reflector) = (Stage::ReceiveWakeup.into(), Stage::Reflector.into());
        for start in [800_000_000, 1_000_200_000] {
            let stop = stop(start, 1_002_900_000 - start);
            assert_eq!(
                of(wakeup, stop.clone()),
                LateCause::Prober { stages: wakeup }
            );
            assert_eq!(of(reflector, stop), LateCause::Reflector { here: true });
        }
        // Too short, over before, and of another thread, which continues later.
        for other in [
            stop(1_000_000_000, 1_400_000),
            stop(900_000_000, 100_000_000),
            stop(900_000_000, 200_000_000),
        ] {
            for stages in [wakeup, reflector] {
                let what = of(stages, other.clone());
                assert!(matches!(what, LateCause::Ran { .. }), "{what:?}");
            }
        }
    }

    #[test]
    fn the_network_is_never_the_fault_of_a_process() {
        let noise = [event("cron", 1, 1_000_000_000, 3_000_000)];
        let late = late(Stage::ForwardPath);
        let stages = Stage::ForwardPath.into();
        assert_eq!(
            cause_of(&late, &SAME, &noise),
            LateCause::Network { stages }
        );
        let of_queue = |ns: f64| {
            let port: Arc<str> = "s1→s2".into();
            let held = Held {
                port: port.clone(),
                direction: Direction::Forward,
                paused: false,
                ns,
            };
            let (join, trains) = (Join::new(&noise), Trains::default());
            let host = HostView::new(SAME, &join, &trains, std::iter::empty());
            whose(&late, &host, Some(&held)).0 == LateCause::Queue { port }
        };
        assert!(of_queue(2e6) && !of_queue(1e6));
    }

    #[test]
    fn a_queue_of_the_other_way_did_not_hold_it() {
        let held = Direction::ALL.map(|direction| Held {
            port: direction.name().into(),
            direction,
            paused: false,
            ns: if direction == Direction::Return {
                2e6
            } else {
                1e6
            },
        });
        let longest =
            |stages: StageSet| Held::longest(&held, &late(stages)).map(|held| held.direction);
        for (stages, expected) in [
            (Stage::ForwardPath.into(), Direction::Forward),
            (Stage::ReturnPath.into(), Direction::Return),
            (StageSet::BOTH_WAYS, Direction::Return),
            (Stage::Connect.into(), Direction::Return),
        ] {
            assert_eq!(longest(stages), Some(expected), "{stages}");
        }
        assert_eq!(Held::longest(&held[1..], &late(Stage::ForwardPath)), None);
    }

    #[test]
    fn merged_stages_blame_nobody() {
        let stages = StageSet::span(Stage::LocalQueue, Stage::ForwardPath);
        let noise = [event("cron", 1, 1_000_000_000, 3_000_000)];
        assert_eq!(
            cause_of(&late(stages), &SAME, &noise),
            LateCause::Unclear { stages }
        );
        let port: Arc<str> = "s1→s2".into();
        let held = |ns, paused| Held {
            port: port.clone(),
            direction: Direction::Forward,
            paused,
            ns,
        };
        let by = |ns, paused| {
            let (join, trains) = (Join::new(&noise), Trains::default());
            let host = HostView::new(SAME, &join, &trains, std::iter::empty());
            whose(&late(stages), &host, Some(&held(ns, paused))).0
        };
        let queue = LateCause::Queue { port: port.clone() };
        let unclear = LateCause::Unclear { stages };
        assert_eq!([by(2e6, false), by(1e6, false)], [queue, unclear.clone()]);
        let pause = LateCause::Paused { port: port.clone() };
        assert_eq!([by(2e6, true), by(1e6, true)], [pause, unclear]);
    }

    #[test]
    fn a_connection_that_others_have_already_is_no_delay_of_the_network() {
        let connect: StageSet = Stage::Connect.into();
        let is_set_up = |stages: StageSet, usual_ms: f64, of_others: f64| {
            let mut late = late(stages);
            late.parts[0].ns -= of_others;
            is_set_up(&late, |asked| (asked == connect).then_some(usual_ms * 1e6))
        };
        assert!(is_set_up(connect, 3.0, 0.0) && is_set_up(connect, 1.5, 0.0));
        // The handshake itself was late.
        assert!(!is_set_up(connect, 1.4, 0.0));
        // Others make connections as well.
        assert!(!is_set_up(connect, 3.0, 1e5));
        assert!(!is_set_up(Stage::Tls.into(), 3.0, 0.0));
        assert!(!is_set_up(Stage::ForwardPath.into(), 3.0, 0.0));
    }

    #[test]
    fn bounds_of_the_server_tell_where_they_leave_enough() {
        let stages = StageSet::NETWORK_AND_SERVER;
        // 224 ms, 200 of them beyond what is usual.
        let mut late = late(stages);
        late.parts[0].ns = 200e6;
        late.parts[0].window = Some((1_000_000_000, 1_224_000_000));
        let of = |least: i64, most: i64| {
            let bounds = Bounds { least, most };
            by_bounds(LateCause::Unclear { stages }, &late, bounds)
        };
        assert_eq!(of(162_000_000, 203_000_000), LateCause::Server);
        // Of the 24 ms that are usual, the network takes 20 at least.
        assert_eq!(of(110_000_000, 204_000_000), LateCause::Server);
        assert_eq!(of(103_000_000, 204_000_000), LateCause::Unclear { stages });
        // A network that takes 34 now, more than both usually do, leaves the server what both do.
        assert_eq!(of(120_000_000, 190_000_000), LateCause::Unclear { stages });
        let network = StageSet::BOTH_WAYS;
        assert_eq!(of(0, 60_000_000), LateCause::Network { stages: network });
        assert_eq!(of(60_000_000, 180_000_000), LateCause::Unclear { stages });
        assert_eq!(
            by_bounds(LateCause::Clock, &late, Bounds { least: 0, most: 0 }),
            LateCause::Clock
        );
    }
}
