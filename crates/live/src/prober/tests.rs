//! A prober and a reflector in one process, each with clocks of its own.
#![allow(clippy::unwrap_used)]

use super::engine::Polled;
use super::*;
use crate::clocks::RealTime;
use crate::reflect::{self, bind::Bound};
use delaylab_kernel::datagram::Blocking;
use delaylab_model::probe::{Pacing, WaitMode};
use delaylab_model::record::{ClockEvent, Outcome};
use delaylab_model::request::{Close, HttpRequest, HttpVersion, Request, Trust, Verb};
use delaylab_model::stop::Stop;
use delaylab_model::trial::ReflectorClock;
use delaylab_model::{MICROSECOND, SECOND};
use delaylab_traffic::pacing::{Due, Pacer};
use delaylab_traffic::reflector::{Access, Policy};
use delaylab_wire::control::ClockFacts;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Each host says that its clock is right to a millisecond.
const ERROR: Nanos = MILLISECOND;

/// A host of its own, whose real time is the kernel's and `added`.
fn host(id: u64, added: &Arc<AtomicI64>) -> HostClock {
    HostClock {
        real_time: RealTime::with(added.clone()),
        facts: ClockFacts {
            id,
            synchronised: true,
            error_bound: ERROR.unsigned_abs(),
        },
    }
}

/// Longer than a busy machine keeps a thread from its CPU. A test whose packets are lost waits twice as long.
const PATIENCE: Nanos = SECOND;

/// Keeps records.
#[derive(Default)]
struct Kept(Vec<Record>);

impl Sink for Kept {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.push(*record);
        Ok(())
    }
}

fn probe_run(method: Method, target: SocketAddr, count: u64) -> ProbeRun {
    let probe = Probe {
        payload: 112,
        count: Some(count),
        duration: None,
        pacing: Pacing::Every {
            interval_ns: MILLISECOND,
        },
        timeout: PATIENCE,
        ..Probe::new("test", method)
    };
    ProbeRun {
        trial: 0,
        index: 0,
        target,
        probe,
        host: Default::default(),
        seed: 1,
    }
}

/// Runs a probe against a reflector; the prober's and the reflector's clock are stepped by so much in its midst.
fn stepped(method: Method, here: Nanos, there: Nanos) -> (ProbeFacts, Vec<Record>) {
    let (ours, theirs): (Arc<AtomicI64>, Arc<AtomicI64>) = Default::default();
    let mut reflector = Running::new(method);
    reflector.bound.clock = host(2, &theirs);
    let mut kept = Kept::default();
    let step = || {
        ours.fetch_add(here, Ordering::Relaxed);
        theirs.fetch_add(there, Ordering::Relaxed);
    };
    let facts = reflector.probed(&host(1, &ours), method, &mut kept, step);
    (facts, kept.0)
}

const PACKETS: u64 = 60;

/// A reflector that is about to run.
struct Running {
    bound: Bound,
    policy: Policy,
    target: SocketAddr,
}

impl Running {
    fn new(method: Method) -> Self {
        let mut bound = Bound::default();
        let local = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let target = match method {
            Method::Stamp => bound.open_stamp(&local, 0).unwrap()[0],
            _ => bound.open_echo(&local, 0..=0).unwrap()[0],
        };
        Self {
            bound,
            policy: Policy::new(Access::Open { allow: Vec::new() }),
            target,
        }
    }

    /// Runs it for as long as a probe of [`PACKETS`] takes. When it has read half of them it calls `halfway`.
    fn probed(
        self,
        here: &HostClock,
        method: Method,
        sink: &mut dyn Sink,
        halfway: impl Fn() + Sync,
    ) -> ProbeFacts {
        let run = probe_run(method, self.target, PACKETS);
        self.carries_out(here, &run, sink, halfway)
    }

    /// The same with any probe.
    fn carries_out(
        self,
        here: &HostClock,
        run: &ProbeRun,
        sink: &mut dyn Sink,
        halfway: impl Fn() + Sync,
    ) -> ProbeFacts {
        let stop = AtomicBool::new(false);
        // It looks whether to stop before each packet that it reads. So do its other threads now and then: whichever calls
        // `halfway`, the one that reads goes on behind it.
        let (looks, once) = (AtomicU64::new(0), Once::new());
        let stopped = || {
            if looks.fetch_add(1, Ordering::Relaxed) >= PACKETS / 2 {
                once.call_once(&halfway);
            }
            stop.load(Ordering::Relaxed)
        };
        let probing = Probing::new(None, Stop::default());
        std::thread::scope(|scope| {
            let (bound, policy) = (self.bound, self.policy);
            let serving = scope.spawn(|| reflect::serve(bound, policy, WaitMode::Block, &stopped));
            let facts = probing.run_by(here, run, sink);
            stop.store(true, Ordering::Relaxed);
            serving.join().unwrap().unwrap();
            facts.unwrap()
        })
    }
}

/// One-way delays out, by the process's stamps.
fn forward(records: &[Record]) -> Vec<Nanos> {
    let delays = records.iter().map(|r| Some(r.r_user? - r.t_send?));
    delays.map(|delay| delay.unwrap()).collect()
}

fn warned(facts: &ProbeFacts, of: &str) -> bool {
    facts.warnings.iter().any(|warning| warning.contains(of))
}

const AGREED: ReflectorClock = ReflectorClock::Bounded {
    error_ns: 2 * ERROR,
};

#[test]
fn a_step_moves_no_one_way_delay_and_ends_the_claim_about_them() {
    for method in [Method::Udp, Method::Tcp] {
        for (here, there) in [(-SECOND, 0), (0, -SECOND), (-SECOND, -SECOND), (0, 0)] {
            let (facts, records) = stepped(method, here, there);
            let delays = forward(&records);
            assert_eq!(records.len(), 60);
            let off = delays.iter().filter(|delay| delay.abs() > SECOND / 2);
            assert_eq!(off.count(), 0, "{method} {here} {there}: {delays:?}");
            let clock = facts.records.reflector_clock;
            let alike = here == there;
            let expected = if alike {
                AGREED
            } else {
                ReflectorClock::Unrelated
            };
            assert_eq!(
                clock, expected,
                "{method} {here} {there} {:?}",
                facts.warnings
            );
            assert_eq!(
                warned(&facts, "clock of this host was stepped by −1s"),
                here != 0
            );
            assert_eq!(
                warned(&facts, "clock of the reflector was stepped by −1s"),
                there != 0
            );
            assert_eq!(warned(&facts, "left out"), !alike);
        }
    }
}

/// What the reflector stamps of itself lies within the bounds that the acknowledgements give.
#[test]
fn by_tcp_the_far_kernel_acknowledges_each_request() {
    /// What threads and stamps of one kernel are apart.
    const OFF: Nanos = 200 * MICROSECOND;
    for (payload, stamped) in [(112, true), (20, false), (65_535, true)] {
        let reflector = Running::new(Method::Tcp);
        let mut kept = Kept::default();
        let mut run = probe_run(Method::Tcp, reflector.target, PACKETS);
        run.probe.payload = payload;
        run.probe.pacing = Pacing::Wait {
            wait_ns: MILLISECOND,
        };
        let facts = reflector.carries_out(&HostClock::of_kernel(), &run, &mut kept, || {});
        let is_stamped = facts.records.residence != Residence::Unknown;
        assert_eq!((kept.0.len(), is_stamped), (60, stamped), "{payload}");
        let (mut in_pieces, mut off) = (0, Vec::new());
        for record in &kept.0 {
            let stamps = [record.t_tx, record.t_ack, record.t_first, record.t_rx];
            let [Some(t_tx), Some(t_ack), Some(t_first), Some(t_rx)] = stamps else {
                off.push(record);
                continue;
            };
            assert!(
                t_tx <= t_ack && t_tx <= t_first && t_first <= t_rx,
                "{record:?}"
            );
            in_pieces += u64::from(t_first < t_rx);
            let bounds = record.server().unwrap();
            assert!(record.least_round_trip.is_some(), "{record:?}");
            if let (Some(r_rx), Some(r_tx)) = (record.r_rx, record.r_tx) {
                let within = bounds.least - OFF..=bounds.most + t_rx - t_first + OFF;
                off.extend((!within.contains(&(r_tx - r_rx))).then_some(record));
            }
        }
        // A machine that others share may stand still between two stamps of one packet, and a busy one sends a segment again,
        // which has no stamp.
        assert!(off.len() * 20 <= kept.0.len(), "{payload}: {off:?}");
        // What fits a segment is there at once.
        assert!(payload > 10_000 || in_pieces == 0, "{payload}: {in_pieces}");
        let delivered = |point| facts.stamps.contains(&(point, Delivery::Delivered));
        assert!(delivered(StampPoint::TAck) && delivered(StampPoint::TFirst));
    }
}

/// Whose stamps are real time: nothing tells of a step there but the packets.
#[test]
fn stamp_has_no_one_way_delays_once_a_clock_was_stepped() {
    for (here, there, said) in [
        (-SECOND, 0, "clock of this host was stepped by −1s"),
        (0, -SECOND, "outside the time between sending and reply"),
        (-SECOND, -SECOND, "clock of this host was stepped by −1s"),
    ] {
        let (facts, _) = stepped(Method::Stamp, here, there);
        let clock = facts.records.reflector_clock;
        assert_eq!(clock, ReflectorClock::Unrelated, "{here} {there}");
        assert!(warned(&facts, said), "{here} {there} {:?}", facts.warnings);
    }
    let (facts, _) = stepped(Method::Stamp, 0, 0);
    let clock = facts.records.reflector_clock;
    assert!(matches!(clock, ReflectorClock::Bounded { .. }));
    assert_eq!(facts.warnings, Vec::<String>::new());
}

/// Both read one clock, which is set in the midst: what was stamped before and what was stamped behind it is put on monotonic time.
#[test]
fn stamps_of_one_host_hold_over_a_step_of_its_clock() {
    for (by, stamps) in [
        (-SECOND, StampRequest::Software),
        (SECOND, StampRequest::Software),
        (-SECOND, StampRequest::None),
    ] {
        let added = Arc::<AtomicI64>::default();
        let here = host(1, &added);
        let mut reflector = Running::new(Method::Stamp);
        reflector.bound.clock = here.clone();
        let mut run = probe_run(Method::Stamp, reflector.target, PACKETS);
        run.probe.stamps = stamps;
        let mut kept = Kept::default();
        let step = || {
            added.fetch_add(by, Ordering::Relaxed);
        };
        let facts = reflector.carries_out(&here, &run, &mut kept, step);
        assert_eq!(facts.records.reflector_clock, ReflectorClock::Same);
        assert_eq!(kept.0.len() as u64, PACKETS);
        for record in &kept.0 {
            let there = [record.r_rx, record.r_user, record.r_tx];
            let (t_send, t_recv) = (record.t_send.unwrap(), record.t_recv.unwrap());
            let between = t_send - MILLISECOND..=t_recv + MILLISECOND;
            let known = there.into_iter().flatten();
            assert!(
                { known }.all(|at| between.contains(&at)),
                "{by} {stamps:?} {record:?}"
            );
        }
    }
}

/// The read that shows it brings a part of a reply.
#[test]
fn a_clock_that_is_set_while_a_reply_comes_marks_its_record() {
    let added = Arc::<AtomicI64>::default();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = listener.local_addr().unwrap();
    let step = added.clone();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        step.fetch_add(SECOND, Ordering::Relaxed);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
        std::thread::sleep(std::time::Duration::from_millis(10));
        let _ = stream.write_all(b"llo");
        let _ = stream.read(&mut [0; 4096]);
    });
    let probing = Probing::new(None, Stop::default());
    let mut kept = Kept::default();
    let run = get(target, 1);
    probing.run_by(&host(1, &added), &run, &mut kept).unwrap();
    assert_eq!(kept.0[0].clock_event, ClockEvent::Step, "{:?}", kept.0);
}

#[test]
fn what_a_stopped_reflector_had_no_room_for_is_not_lost_on_the_path() {
    let reflector = Running::new(Method::Udp);
    // As little as the kernel allows: a few packets.
    let served = &reflector.bound.datagrams[0];
    for socket in [Some(&served.socket), served.established.as_ref()]
        .into_iter()
        .flatten()
    {
        delaylab_kernel::socket_options::set_receive_buffer(socket, 1).unwrap();
    }
    let pause = || std::thread::sleep(std::time::Duration::from_millis(30));
    let (here, mut kept) = (HostClock::of_kernel(), Kept::default());
    let facts = reflector.probed(&here, Method::Udp, &mut kept, pause);
    let loss = facts.loss.unwrap();
    assert!(loss.in_host.reflector_buffer > 0, "{loss:?}");
    assert_eq!((loss.forward, loss.back, loss.unknown), (0, 0, 0));
    assert!(warned(&facts, "receive buffer of its socket was full"));
}

#[test]
fn what_a_rate_limit_refuses_is_not_lost_on_the_path() {
    for method in [Method::Udp, Method::Stamp] {
        let mut reflector = Running::new(method);
        reflector.policy.limits.loopback = true;
        reflector.policy.limits.each.packets = 100;
        reflector.policy.limits.each.burst = SECOND / 5;
        let (here, mut kept) = (HostClock::of_kernel(), Kept::default());
        let facts = reflector.probed(&here, method, &mut kept, || {});
        let loss = facts.loss.unwrap();
        assert!(loss.in_host.reflector_limit > 0, "{loss:?}");
        assert_eq!((loss.forward, loss.back), (0, 0), "{method}");
        // What came behind the last reply STAMP does not tell.
        assert!(method == Method::Stamp || loss.unknown == 0, "{loss:?}");
        assert!(warned(&facts, "rate limit was reached"));
    }
}

/// Counts packets that were given up, and has how many those were when the probe only waited.
#[derive(Default)]
struct GivenUp {
    lost: u64,
    lost_by_then: Vec<u64>,
}

impl Sink for GivenUp {
    fn begin(&mut self, _: u16, _: &RecordFacts) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.lost += u64::from(record.outcome == Outcome::Lost);
        Ok(())
    }

    fn only_waits(&mut self) {
        self.lost_by_then.push(self.lost);
    }
}

/// The last packets are not answered. Who waits for the probe hears of it long before they are given up, and once.
#[test]
fn a_probe_says_that_it_only_waits() {
    let mut reflector = Running::new(Method::Udp);
    reflector.policy.limits.loopback = true;
    reflector.policy.limits.each.packets = 100;
    reflector.policy.limits.each.burst = SECOND / 5;
    let (here, mut given_up) = (HostClock::of_kernel(), GivenUp::default());
    reflector.probed(&here, Method::Udp, &mut given_up, || {});
    assert!(given_up.lost > 0);
    assert_eq!(given_up.lost_by_then, [0]);
    // Where nothing is lost, when it is over.
    let mut given_up = GivenUp::default();
    Running::new(Method::Udp).probed(&here, Method::Udp, &mut given_up, || {});
    assert_eq!(given_up.lost_by_then.len(), 1);
}

/// Its packets are further apart than a silent session is kept.
#[test]
fn a_slow_probe_keeps_its_session() {
    let mut reflector = Running::new(Method::Udp);
    // A third of it is what a busy machine may keep a thread waiting.
    reflector.policy.max_idle = 1_500 * MILLISECOND;
    let mut run = probe_run(Method::Udp, reflector.target, 2);
    run.probe.pacing = Pacing::Every {
        interval_ns: 1_800 * MILLISECOND,
    };
    let (here, mut kept) = (HostClock::of_kernel(), Kept::default());
    let facts = reflector.carries_out(&here, &run, &mut kept, || {});
    assert_eq!(facts.warnings, Vec::<String>::new());
    // What keeps it takes neither a number of the kernel's stamps nor what the reflector had to tell.
    let whole = |record: &Record| record.t_tx.is_some() && record.r_tx.is_some();
    assert!(kept.0.iter().all(whole), "{:?}", kept.0);
}

/// However long a reply may take. No signal wakes the thread that sleeps in the receive call: another one asks.
#[test]
fn a_closed_loop_that_hears_nothing_is_stopped() {
    let reflector = Running::new(Method::Stamp);
    let mut run = probe_run(Method::Stamp, reflector.target, PACKETS);
    run.probe.pacing = Pacing::Wait { wait_ns: 0 };
    run.probe.timeout = 3600 * SECOND;
    let (stop, over, looks) = (Stop::default(), AtomicBool::new(false), AtomicU64::new(0));
    let probing = Probing::new(None, stop.clone());
    let once = Once::new();
    // It answers nothing until the probe has ended, which has time to fall asleep.
    let falls_silent = || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        stop.ask();
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    let stopped = || {
        if looks.fetch_add(1, Ordering::Relaxed) >= PACKETS / 2 {
            once.call_once(falls_silent);
        }
        over.load(Ordering::Relaxed)
    };
    let mut kept = Kept::default();
    std::thread::scope(|scope| {
        let (bound, policy) = (reflector.bound, reflector.policy);
        let serving = scope.spawn(|| reflect::serve(bound, policy, WaitMode::Block, &stopped));
        let ended = probing.run(&run, &mut kept);
        over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        ended.unwrap();
    });
    let sent = kept.0.iter().filter(|record| record.t_send.is_some());
    let unheard = sent.filter(|record| record.t_recv.is_none());
    assert_eq!(unheard.count(), 1, "{:?}", kept.0);
}

#[test]
fn a_session_that_was_forgotten_is_said() {
    let kept = KeptFor {
        max_duration: Some(100 * SECOND),
        max_idle: Some(10 * SECOND),
    };
    let report = |silent_for, forgotten| EngineReport {
        silent_for,
        forgotten,
        was_asked: true,
        ..EngineReport::default()
    };
    let [heard, silent, silent_for_long, forgotten] = [
        report(None, false),
        report(Some(10 * SECOND), false),
        report(Some(11 * SECOND), false),
        report(Some(2 * SECOND), true),
    ];
    let ended = |lasted, report| session_ended(kept, lasted, report);
    let may_have_ended = |report: &EngineReport| session_may_have_ended(kept, report, SECOND);
    for report in [&heard, &silent] {
        assert_eq!(
            (ended(50 * SECOND, report), may_have_ended(report)),
            (None, None)
        );
    }
    assert_eq!(ended(50 * SECOND, &silent_for_long), None);
    let said = may_have_ended(&silent_for_long).unwrap();
    assert!(said.contains("comes for 10s, and"), "{said}");
    let said = ended(50 * SECOND, &forgotten).unwrap();
    assert!(said.contains("in the last 2.00 s"), "{said}");
    assert_eq!(may_have_ended(&forgotten), None);
    assert_eq!(ended(101 * SECOND, &heard), None);
    let said = ended(101 * SECOND, &silent).unwrap();
    assert!(said.contains("--max-duration"), "{said}");
    // A few that are lost at the end are no silence, nor is what was sent last.
    for (unanswered, silent_for) in [(4, 10 * SECOND), (500, SECOND)] {
        let report = EngineReport {
            unanswered,
            ..report(Some(silent_for), false)
        };
        assert_eq!(may_have_ended(&report), None);
    }
    let report = EngineReport {
        unanswered: 5,
        ..silent
    };
    let said = may_have_ended(&report).unwrap();
    assert!(said.contains("the last 5 packets"), "{said}");
    let closed = EngineReport {
        port_closed: true,
        ..report
    };
    assert_eq!(may_have_ended(&closed), None);
    for (method, says) in [(Method::Stamp, true), (Method::Dns, false)] {
        let said = reflector_ended(method, &closed);
        let said = said.is_some_and(|said| said.contains("nothing listens on its port"));
        assert_eq!(said, says);
    }
}

/// A session with a key proves itself when it begins, not with its first request.
#[test]
fn a_first_request_that_comes_late_finds_its_session() {
    let key = Key::new(b"sixteen bytes ok").unwrap();
    for method in [Method::Udp, Method::Tcp] {
        let Running { bound, target, .. } = Running::new(method);
        let policy = Policy {
            prove_within: SECOND,
            ..Policy::new(Access::Keyed(key.clone().into()))
        };
        let pacing = Pacing::Poisson { mean_ns: SECOND };
        let is_late = |&seed: &u64| {
            let late = 3 * SECOND / 2..2 * SECOND;
            matches!(Pacer::new(pacing, 0, seed).due(), Due::At(due) if late.contains(&due))
        };
        let mut run = probe_run(method, target, 1);
        run.probe.pacing = pacing;
        run.seed = (0..).find(is_late).unwrap();
        let probing = Probing::new(Some(key.clone()), Stop::default());
        let (stop, mut kept) = (AtomicBool::new(false), Kept::default());
        let stopped = || stop.load(Ordering::Relaxed);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| reflect::serve(bound, policy, WaitMode::Block, &stopped));
            let ran = probing.run(&run, &mut kept);
            stop.store(true, Ordering::Relaxed);
            ran
        });
        assert_eq!(ran.unwrap().flaws, Vec::<String>::new(), "{method}");
        assert!(kept.0[0].t_recv.is_some(), "{method}: {:?}", kept.0);
    }
}

/// Sends everything back as it came.
fn echo_server(stop: &AtomicBool) -> (SocketAddr, impl FnOnce() + Send) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    let patience = std::time::Duration::from_millis(20);
    socket.set_read_timeout(Some(patience)).unwrap();
    let serve = move || {
        let mut buffer = [0; 2048];
        while !stop.load(Ordering::Relaxed) {
            if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                socket.send_to(&buffer[..length], from).unwrap();
            }
        }
    };
    (at, serve)
}

#[test]
fn an_echo_server_is_no_stamp_reflector() {
    for key in [None, Some(Key::new(b"sixteen bytes ok").unwrap())] {
        let stop = AtomicBool::new(false);
        let (target, serve) = echo_server(&stop);
        let probing = Probing::new(key, Stop::default());
        let run = probe_run(Method::Stamp, target, 3);
        let ran = std::thread::scope(|scope| {
            scope.spawn(serve);
            let ran = probing.run(&run, &mut Kept::default());
            stop.store(true, Ordering::Relaxed);
            ran
        });
        let error = ran.unwrap_err();
        assert!(
            matches!(error, RunError::Open(OpenError::NoStamp { .. })),
            "{error}"
        );
    }
}

/// Takes one session, answers five requests, and then sends bytes that are no frame. It reads on.
fn garbling(listener: std::net::TcpListener) {
    use delaylab_wire::control::{Accept, Control, SIZE};
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().unwrap();
    let mut hello = [0; SIZE];
    stream.read_exact(&mut hello).unwrap();
    let Ok(Control::Hello(hello)) = Control::parse(None, &hello) else {
        panic!("no Hello");
    };
    let accept = Accept {
        nonce: hello.nonce,
        salt: 0,
        token: 1,
        mode: hello.mode,
        clock: HostClock::of_kernel().facts,
        realtime_offset: 0,
        max_duration_s: 60,
        clock_steps: 0,
        max_idle_ms: 0,
    };
    let mut packet = [0; SIZE];
    Control::Accept(accept).emit(None, &mut packet).unwrap();
    stream.write_all(&packet).unwrap();
    let mut request = [0; 112];
    for _ in 0..5 {
        stream.read_exact(&mut request).unwrap();
        stream.write_all(&request).unwrap();
    }
    stream.write_all(&[0xff; 64]).unwrap();
    let _ = io::copy(&mut stream, &mut io::sink());
}

#[test]
fn a_stream_that_has_lost_its_frames_ends_the_run_and_says_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Far more than are sent by the time that the garbled bytes are read.
    let count = 200 * PACKETS;
    let run = probe_run(Method::Tcp, listener.local_addr().unwrap(), count);
    let probing = Probing::new(None, Stop::default());
    let mut kept = Kept::default();
    let facts = std::thread::scope(|scope| {
        scope.spawn(|| garbling(listener));
        probing.run(&run, &mut kept).unwrap()
    });
    assert!(
        facts.flaws[0].contains("cannot be read as replies"),
        "{:?}",
        facts.flaws
    );
    assert!((kept.0.len() as u64) < count, "{}", kept.0.len());
}

#[test]
fn more_waiting_packets_than_memory_is_taken_for_are_refused_before_the_run() {
    let probing = Probing::new(None, Stop::default());
    let mut run = probe_run(Method::Udp, SocketAddr::from(([127, 0, 0, 1], 9)), 1);
    run.probe.count = None;
    run.probe.pacing = Pacing::Every {
        interval_ns: SECOND / 100_000,
    };
    assert_eq!(probing.refusals(&run), []);
    run.probe.timeout = 10 * SECOND;
    let refused = probing.refusals(&run);
    assert_eq!(refused[0].field, "timeout");
    assert!(
        refused[0].reason.contains("packets would wait"),
        "{refused:?}"
    );
}

/// Nothing in an engine waits: one thread drives two probes, and sleeps until either has something to do.
#[test]
fn one_thread_drives_several_probes() {
    let reflector = Running::new(Method::Udp);
    let probe = probe_run(Method::Udp, reflector.target, PACKETS);
    let (clock, over) = (HostClock::of_kernel(), AtomicBool::new(false));
    let settings = Settings {
        run: &probe,
        target: reflector.target,
        key: None,
        clock: &clock,
        stop: &Stop::default(),
        shortest: &RoundTrips::default(),
    };
    let kept = std::thread::scope(|scope| {
        let (bound, policy) = (reflector.bound, reflector.policy);
        let stopped = || over.load(Ordering::Relaxed);
        let serving = scope.spawn(move || reflect::serve(bound, policy, WaitMode::Block, &stopped));
        let mut kept = [Kept::default(), Kept::default()];
        let mut parts = kept.each_mut().map(|kept| {
            let channel = udp::open(&settings).unwrap();
            let (config, how) = configured(&settings, channel.facts().residence);
            (channel, Prober::new(config), clock.watch(), kept, how)
        });
        let engines = parts.each_mut();
        let mut engines = engines.map(|(channel, prober, clocks, kept, how)| {
            Engine::new(channel, prober, clocks, *kept, how.clone())
        });
        let mut watched = wait::Watched::new(engines.iter().map(Engine::socket));
        loop {
            let now = clock::monotonic();
            let next = engines.each_mut().map(|engine| engine.poll(now).unwrap());
            if next == [Polled::Done; 2] {
                break;
            }
            let ends = next.iter().filter_map(|polled| match polled {
                Polled::Again => Some(now),
                Polled::Wait(wait) => wait.end(),
                Polled::Done => None,
            });
            let end = ends.min();
            for engine in &mut engines {
                engine.drain_queue().unwrap();
            }
            watched.until_readable(end).unwrap();
            for engine in &mut engines {
                while engine.receive(Blocking::No).unwrap().is_some() {}
            }
        }
        for engine in engines {
            engine.end(Ok(())).1.unwrap();
        }
        over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        kept
    });
    for Kept(records) in kept {
        assert_eq!(records.len() as u64, PACKETS);
        assert!(records.iter().all(Record::answered), "{records:?}");
    }
}

#[test]
fn a_session_ends_with_its_probe_with_and_without_room_for_stamps() {
    let reflector = Running::new(Method::Udp);
    let policy = Policy {
        max_sessions: 1,
        ..reflector.policy
    };
    let over = AtomicBool::new(false);
    let probing = Probing::new(None, Stop::default());
    let ran = std::thread::scope(|scope| {
        let bound = reflector.bound;
        let stopped = || over.load(Ordering::Relaxed);
        let serving = scope.spawn(move || reflect::serve(bound, policy, WaitMode::Block, &stopped));
        let ran = [12, 12, 112, 12].map(|payload| {
            let mut run = probe_run(Method::Udp, reflector.target, 3);
            run.probe.payload = payload;
            probing.run(&run, &mut Kept::default()).map(|_| ())
        });
        over.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        ran
    });
    assert!(ran.iter().all(Result::is_ok), "{ran:?}");
}

/// The records of a probe of a server.
fn recorded(run: &ProbeRun) -> Vec<Record> {
    let probing = Probing::new(None, Stop::default());
    let mut kept = Kept::default();
    probing
        .run_by(&HostClock::of_kernel(), run, &mut kept)
        .unwrap();
    kept.0
}

/// A server that takes every connection and, once it was asked, sends this and then that again and again.
fn sending_without_end(first: &'static [u8], again: &[u8]) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let again = again.repeat(1_000);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let again = again.clone();
            std::thread::spawn(move || {
                let asked = stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0);
                let begun = asked && stream.write_all(first).is_ok();
                while begun && stream.write_all(&again).is_ok() {}
            });
        }
    });
    at
}

/// `count` requests for the page at the root of this server, on connections that are kept.
fn get(target: SocketAddr, count: u64) -> ProbeRun {
    let mut run = probe_run(Method::Http, target, count);
    run.probe.request = Some(Request::Http(HttpRequest {
        url: format!("http://{target}/").parse().unwrap(),
        verb: Verb::Get,
        version: HttpVersion::One,
        fresh: false,
        resolves: false,
        trust: Trust::System,
        headers: Vec::new(),
    }));
    run
}

/// A server that answers each request on a connection with an empty page.
fn answering() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    at
}

/// A server ends a connection that is idle for long. The next request takes another, also where nothing sleeps until it is due.
#[test]
fn the_end_of_an_idle_connection_is_read_before_the_next_request() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                std::thread::sleep(std::time::Duration::from_millis(10));
            });
        }
    });
    for wait_mode in [WaitMode::Spin, WaitMode::Block] {
        let mut run = get(target, 4);
        run.probe.wait_mode = wait_mode;
        // The server has the time to end it, also where its thread gets a CPU late.
        run.probe.pacing = Pacing::Every {
            interval_ns: 400 * MILLISECOND,
        };
        let records = recorded(&run);
        let outcomes = Vec::from_iter(records.iter().map(|record| record.outcome));
        assert_eq!(outcomes, [Outcome::Ok; 4], "{wait_mode:?}");
    }
}

/// A kept connection has one handshake, which may have been held up: what others to this target took bounds its server, too.
#[test]
fn the_server_is_bounded_by_the_shortest_round_trip_of_all_connections() {
    let mut run = get(answering(), 3);
    // A request that finds the connection busy makes one of its own, with a handshake of its own.
    run.probe.pacing = Pacing::Wait {
        wait_ns: MILLISECOND,
    };
    let shared = |round_trip: Nanos| {
        let probing = Probing::new(None, Stop::default());
        let another = probing.shortest.to(run.target.ip());
        another.note(round_trip);
        let mut kept = Kept::default();
        probing.run(&run, &mut kept).unwrap();
        let kept = kept.0.iter().filter(|record| record.t_connected.is_none());
        Vec::from_iter(kept.map(|record| record.least_round_trip.unwrap()))
    };
    let (short, long) = (shared(1), shared(SECOND));
    assert!(!short.is_empty() && short.iter().all(|&least| least == 1));
    assert!(!long.is_empty() && long.iter().all(|&least| least < SECOND));
}

/// It keeps no other request waiting, and what it was asked is given up in time.
#[test]
fn a_server_that_sends_without_end_holds_nothing_up() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let target = sending_without_end(CHUNKED, b"1\r\nx\r\n");
    let mut run = get(target, 4);
    run.probe.pacing = Pacing::Every {
        interval_ns: 50 * MILLISECOND,
    };
    run.probe.timeout = SECOND;
    let begun = clock::monotonic();
    let records = recorded(&run);
    let took = clock::monotonic() - begun;
    assert_eq!(records.len(), 4);
    for record in &records {
        assert_eq!(record.outcome, Outcome::Lost, "{record:?}");
        // One that waited for another would wait until that is given up.
        let late = record.t_send.unwrap() - record.t_intended;
        assert!(late < 3 * SECOND / 4, "{record:?}");
    }
    assert!(took < 10 * SECOND, "{took} ns");
}

/// The end of a connection has no stamp. What the server took until then is no time that this host took to wake up.
#[test]
fn a_reply_that_ends_with_its_connection_has_no_stamp_of_its_end() {
    let asked = |reply: &'static [u8]| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let target = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(reply).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
        });
        let record = recorded(&get(target, 1))[0];
        serving.join().unwrap();
        assert_eq!(record.outcome, Outcome::Ok, "{record:?}");
        assert!(record.t_first.is_some(), "{record:?}");
        record
    };
    let with_length = asked(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert!(with_length.t_rx.is_some(), "{with_length:?}");
    let with_close = asked(b"HTTP/1.0 200 OK\r\n\r\nhello");
    assert_eq!(with_close.t_rx, None, "{with_close:?}");
    assert!(
        with_close.round_trip() > Some(SECOND / 11),
        "{with_close:?}"
    );
}

/// A SYN that is lost is the handshake's time, not this host's: the round trip that the kernel has is that of the next one.
#[test]
fn a_lost_syn_is_part_of_the_handshake() {
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    listener.bind(&any.into()).unwrap();
    // Room for one connection: while that is not taken, further SYNs are dropped.
    listener.listen(0).unwrap();
    let target = listener.local_addr().unwrap().as_socket().unwrap();
    let standing = std::net::TcpStream::connect(target).unwrap();
    let taking = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        [listener.accept(), listener.accept()]
    });
    let mut run = probe_run(Method::TcpConnect, target, 1);
    run.probe.timeout = 5 * SECOND;
    run.probe.request = Some(Request::Connect {
        port: target.port(),
        close: Close::Fin,
    });
    let record = recorded(&run)[0];
    drop((standing, taking.join()));
    assert_eq!((record.outcome, record.retransmits), (Outcome::Ok, Some(1)));
    let took = record.t_connected.unwrap() - record.t_send.unwrap();
    assert!(took > SECOND / 2, "{record:?}");
}
