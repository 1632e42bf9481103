//! A load's streams to `iperf3 -s`, which takes one test at a time.

use super::bulk::{self, Bulk};
use super::error::LoadError;
use super::paced::{self, Heading, Paced};
use super::session::{no_longer_says, set_up_control};
use super::{Flow, HORIZON, StreamRun};
use delaylab_kernel::datagram::{Blocking, DatagramSocket};
use delaylab_kernel::{random, socket_options};
use delaylab_model::load::{Direction, LoadKind};
use delaylab_model::refusal::Refusal;
use delaylab_model::stream_report::{Amount, Received, StreamReport};
use delaylab_model::trial::Server;
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::arrival::section;
use delaylab_wire::iperf3::{
    COOKIE, Parameters, Results, State, StreamResult, UDP_HELLO, cookie, length, stream_id,
};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer comes by then: it may wait in a queue that the load has filled.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A udp stream's first datagram may be lost.
const TRIES: u32 = 3;
/// From a udp stream's last packet to the end of the test: the server discards what arrives later.
const TAIL: Duration = Duration::from_secs(1);

/// The server gives a test up that brings nothing for 120 s (`--rcv-timeout`). Setting it up takes its time, too.
const LATEST_START: Nanos = 100 * SECOND;

/// A test that is set up: the server waits for its streams' packets.
pub(super) struct Test {
    control: TcpStream,
}

impl Test {
    /// Agrees on a test of these streams, which are those of one load.
    pub(super) fn open(runs: &[StreamRun]) -> Result<(Self, Vec<Flow>), LoadError> {
        let run = &runs[0];
        let parameters = parameters(runs)?;
        let cookie = cookie(&random::bytes().map_err(LoadError::Thread)?);
        let mut test = Self {
            control: connect(run, &cookie)?,
        };
        let asks = |error| asking(run.target, error);
        test.expect(State::ParamExchange).map_err(asks)?;
        test.control.write_all(&parameters.frame()).map_err(asks)?;
        test.expect(State::CreateStreams).map_err(asks)?;
        let flows = runs.iter().map(|run| flow(run, &cookie));
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        test.expect(State::TestStart).map_err(asks)?;
        test.expect(State::TestRunning).map_err(asks)?;
        Ok((test, flows))
    }

    /// The streams are over: tells what was sent and asks what arrived.
    pub(super) fn end(mut self, flows: Vec<Flow>, reports: &mut [StreamReport]) {
        let has_sent = |report: &StreamReport| report.sent.packets > 0 && report.failed.is_none();
        let is_paced = flows.iter().any(|flow| matches!(flow, Flow::Paced(_)));
        if is_paced && reports.iter().any(has_sent) {
            std::thread::sleep(TAIL);
        }
        match self.results(reports) {
            Ok(results) => take(&results, reports),
            Err(error) => without_results(&error, reports),
        }
        // Only now: a stream that breaks off before is an error there.
        for flow in flows {
            flow.abort();
        }
    }

    fn results(&mut self, reports: &[StreamReport]) -> io::Result<Results> {
        self.say(State::TestEnd)?;
        self.expect(State::ExchangeResults)?;
        let result = |(report, index): (&StreamReport, u32)| StreamResult {
            id: stream_id(index),
            bytes: report.sent.bytes,
            retransmits: report.retransmits.unwrap_or(0),
            packets: report.sent.packets,
            errors: 0,
        };
        let ours = Results {
            streams: reports.iter().zip(0..).map(result).collect(),
        };
        let lasted = reports.iter().filter_map(|report| report.lasted).max();
        let seconds = lasted.unwrap_or(0) as f64 / SECOND as f64;
        self.control.write_all(&ours.frame(seconds))?;
        let theirs = self.json()?;
        self.expect(State::DisplayResults)?;
        self.say(State::Done)?;
        // Until it has closed the connection it refuses the next test.
        let _ = self.control.read(&mut [0]);
        Results::parse(&theirs).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn json(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; 4];
        self.control.read_exact(&mut prefix)?;
        let length = length(&prefix);
        let length = length.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let mut json = vec![0; length];
        self.control.read_exact(&mut json)?;
        Ok(json)
    }

    fn say(&mut self, state: State) -> io::Result<()> {
        self.control.write_all(&[state.byte()])
    }

    fn expect(&mut self, state: State) -> io::Result<()> {
        let mut byte = [0];
        self.control.read_exact(&mut byte)?;
        let said = State::from_byte(byte[0]);
        let other = |what: &str| Err(io::Error::other(what.to_owned()));
        match said {
            said if said == state => Ok(()),
            State::AccessDenied => other("it is busy with another test"),
            State::ServerError => other("it reports an error: its own output says which"),
            State::ServerTerminate => other("it has ended the test"),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The test that an `iperf3 -s` is asked for.
///
/// # Errors
/// It has no such test.
pub(super) fn parameters(runs: &[StreamRun]) -> Result<Parameters, LoadError> {
    let (run, load) = (&runs[0], &runs[0].load);
    let refuse =
        |field: &str, reason: String| Refusal::new(format!("load.{}.{field}", load.name), reason);
    if load.direction == Direction::Down {
        let reason = "`iperf3 -s` does not send on its own".to_owned();
        let remedy = "start `delaylab reflect --accept-load`";
        return Err(refuse("direction", reason).remedy(remedy).into());
    }
    if load.start.is_some_and(|start| start.0 > LATEST_START) {
        let reason = "`iperf3 -s` ends a test that brings nothing for 120 s".to_owned();
        let remedy = "start the load within 100s, or use `delaylab reflect --accept-load`";
        return Err(refuse("start", reason).remedy(remedy).into());
    }
    let tcp = match load.kind {
        LoadKind::Tcp => true,
        LoadKind::Cbr => false,
        LoadKind::Poisson | LoadKind::OnOff | LoadKind::Replay | LoadKind::Transfers => {
            let remedy = format!(
                "for {} start `delaylab reflect --accept-load`",
                load.kind.name()
            );
            let refusal = refuse("kind", "`iperf3 -s` takes tcp and cbr".to_owned());
            return Err(refusal.remedy(remedy).into());
        }
    };
    let small = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
    let usual = if tcp { 128 << 10 } else { section::PAYLOAD };
    Ok(Parameters {
        tcp,
        time_s: HORIZON,
        parallel: runs.len() as u32,
        len: small(load.payload.map_or(usual, |size| size.0)),
        bandwidth: load.rate.map_or(0, |rate| rate.0),
        window: small(load.window.map_or(0, |window| window.0)),
        tos: load.class.0.traffic_class(0),
        congestion: tcp.then(|| bulk::congestion_control(run).to_owned()),
    })
}

fn connect(run: &StreamRun, cookie: &[u8; COOKIE]) -> Result<TcpStream, LoadError> {
    let connecting = |source| LoadError::connecting(run.target, run.server, source);
    let mut stream = TcpStream::connect_timeout(&run.target, ANSWER_WITHIN).map_err(connecting)?;
    // In the load's queues: the end of the test comes after the load's packets.
    set_up_control(&stream, run, ANSWER_WITHIN)
        .and_then(|()| stream.write_all(cookie))
        .map_err(connecting)?;
    Ok(stream)
}

fn asking(target: SocketAddr, error: io::Error) -> LoadError {
    match error.kind() {
        io::ErrorKind::Other => LoadError::Refused {
            target,
            text: error.to_string(),
        },
        _ => LoadError::asking(target, Server::Iperf3, ANSWER_WITHIN, &error),
    }
}

/// Says to the server that a stream of datagrams begins, until it answers.
fn greet(socket: &DatagramSocket) -> io::Result<()> {
    let greet = || {
        socket.send(&UDP_HELLO)?;
        socket.receive_plain(&mut [0; 64], Blocking::Yes)
    };
    let mut greeted = greet();
    for _ in 1..TRIES {
        if greeted.is_ok() {
            break;
        }
        greeted = greet();
    }
    greeted.map(drop)
}

fn flow(run: &StreamRun, cookie: &[u8; COOKIE]) -> Result<Flow, LoadError> {
    let connecting = |source| LoadError::connecting(run.target, run.server, source);
    if run.load.kind == LoadKind::Tcp {
        let mut stream = bulk::connect(run)?;
        stream.write_all(cookie).map_err(connecting)?;
        return Bulk::new(stream, run).map(Flow::Bulk);
    }
    let socket = paced::socket(run)?;
    socket_options::set_receive_timeout(&socket, SECOND).map_err(connecting)?;
    greet(&socket).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused => {
            let target = run.target;
            LoadError::NoUdp { target }
        }
        _ => connecting(error),
    })?;
    let paced = Paced::new(socket, Heading::Iperf3, run)?;
    Ok(Flow::Paced(Box::new(paced)))
}

/// The server does not say what arrived.
fn without_results(error: &io::Error, reports: &mut [StreamReport]) {
    for report in reports {
        let why = match error.kind() {
            io::ErrorKind::WouldBlock => no_longer_says(error, ANSWER_WITHIN),
            _ => error.to_string(),
        };
        let why = format!("`iperf3 -s` no longer says what arrived: {why}");
        report.failed.get_or_insert(why);
    }
}

/// What the server counted. Its packets are the highest number that came, and its errors those missing below it: what was
/// lost behind the last that came, only the sender can tell.
fn take(results: &Results, reports: &mut [StreamReport]) {
    for (report, index) in reports.iter_mut().zip(0..) {
        let theirs = results
            .streams
            .iter()
            .find(|stream| stream.id == stream_id(index));
        let Some(theirs) = theirs else { continue };
        let tcp = report.kind == LoadKind::Tcp;
        let packets = theirs.packets.saturating_sub(theirs.errors);
        report.received = Some(Received {
            amount: Amount {
                packets: if tcp { 0 } else { packets },
                bytes: theirs.bytes,
            },
            ..Received::default()
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use delaylab_model::load::Load;
    use delaylab_model::quantity::Duration;

    fn run(kind: LoadKind) -> StreamRun {
        StreamRun {
            trial: 0,
            load: Load::new("bulk", kind),
            number: 1,
            target: "127.0.0.1:5201".parse().unwrap(),
            server: Server::Iperf3,
            seed: 0,
        }
    }

    fn results(packets: u64, errors: u64) -> Results {
        let stream = StreamResult {
            id: stream_id(0),
            bytes: packets * 1000,
            retransmits: 0,
            packets,
            errors,
        };
        Results {
            streams: vec![stream],
        }
    }

    #[test]
    fn a_server_does_not_wait_for_long() {
        let refused = |seconds: Nanos| {
            let mut run = run(LoadKind::Tcp);
            run.load.start = Some(Duration(seconds * SECOND));
            match parameters(&[run]) {
                Err(LoadError::Setting(refusal)) => Some(refusal.field),
                _ => None,
            }
        };
        assert_eq!(refused(60), None);
        assert_eq!(refused(180).as_deref(), Some("load.bulk.start"));
    }

    #[test]
    fn what_is_lost_at_the_end_is_lost() {
        let run = run(LoadKind::Cbr);
        let mut report = StreamReport::new(&run);
        report.sent.packets = 1000;
        for (packets, errors, lost) in [(1000, 0, 0), (1000, 7, 7), (900, 7, 107), (0, 0, 1000)] {
            take(&results(packets, errors), std::slice::from_mut(&mut report));
            assert_eq!(report.lost(), Some(lost), "{packets} and {errors}");
        }
    }
}
