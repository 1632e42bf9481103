//! What a tester is asked to do: streams of frames, and the ports that they go by.

use super::error::TesterError;
use super::port::Port;
use delaylab_model::frames::Frames;
use delaylab_model::probe::Probe;
use delaylab_model::stop::Stop;
use delaylab_wire::test_frame::Template;

/// A stream of frames, and its ports.
#[derive(Debug, Clone)]
pub struct FrameStream {
    /// Which probe of the trial.
    pub index: u16,
    /// What is sent.
    pub probe: Probe,
    /// By which port.
    pub from: Port,
    /// And where it should arrive.
    pub to: Port,
}

/// What a tester is asked to do.
#[derive(Debug, Clone, Default)]
pub struct Job {
    /// Number of the trial in its run.
    pub trial: u32,
    /// All at once.
    pub streams: Vec<FrameStream>,
    /// Draws the token.
    pub seed: u64,
    /// Ends it early.
    pub stop: Stop,
}

impl FrameStream {
    /// Its frame, ready to be signed.
    pub(super) fn template(&self, number: u16, token: u16) -> Result<Template, TesterError> {
        let frames = self.probe.frames.ok_or_else(|| TesterError::NoFrames {
            probe: self.probe.name.clone(),
        })?;
        let class = self.probe.dscp.traffic_class(self.probe.ecn);
        let ends = self.from.ends(&self.to, token);
        Template::new(&frames, ends, number, class).map_err(|source| TesterError::TooSmall {
            probe: self.probe.name.clone(),
            source,
        })
    }
}

impl Job {
    /// Every port of its streams, once.
    pub(super) fn ports(&self) -> Vec<Port> {
        let mut ports: Vec<Port> = Vec::new();
        for port in (self.streams.iter()).flat_map(|stream| [&stream.from, &stream.to]) {
            if !ports.iter().any(|other| other.is(port)) {
                ports.push(port.clone());
            }
        }
        ports
    }

    /// The largest of the frames that go by this port.
    pub(super) fn largest_frames(&self, port: &Port) -> Option<Frames> {
        let own = (self.streams.iter()).filter(|s| s.from.is(port) || s.to.is(port));
        let frames = own.filter_map(|stream| stream.probe.frames);
        frames.max_by_key(Frames::ip_size)
    }
}
