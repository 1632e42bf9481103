//! Servers at hosts: first come, first served, by a number of workers, with the same service time for each request.

use super::{Engine, Flow};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::packet::{ChannelId, Content, Echo};
use crate::slots::Event;
use delaylab_model::Picos;
use delaylab_model::path::HostServer;
use delaylab_topology::time::picos;
use std::collections::VecDeque;

/// A server.
pub(super) struct Server {
    think: Picos,
    /// When each of its workers has done what it was given, the earliest first.
    workers: VecDeque<Picos>,
    /// Replies that are not ready, in the order in which they will be.
    due: VecDeque<(Picos, Work)>,
}

/// Which visit of a server: one of its connections that a probe opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VisitId {
    /// Of which probe.
    pub(super) probe: u32,
    /// Its place among those of the probe.
    pub(super) place: usize,
}

/// What is replied to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// A request on the connections of this probe.
    Stream { flow: u32 },
    /// The request on a connection of its own, of this number.
    Visit { visit: VisitId, number: u32 },
    /// Its handshake of TLS.
    Flight { visit: VisitId, number: u32 },
    /// A datagram: its reply goes from this host by this channel.
    Datagram {
        host: u32,
        back: ChannelId,
        ip_size: u32,
        echo: Echo,
    },
}

impl Server {
    pub(super) fn new(section: &HostServer) -> Self {
        Self {
            think: picos(section.think),
            workers: vec![0; section.workers() as usize].into(),
            due: VecDeque::new(),
        }
    }

    /// All requests take equally long; a handshake of TLS waits for a worker as well, and takes no time.
    fn take(&mut self, now: Picos, work: Work) {
        let takes = match work {
            Work::Flight { .. } => 0,
            Work::Stream { .. } | Work::Visit { .. } | Work::Datagram { .. } => self.think,
        };
        let free = self.workers.pop_front().unwrap_or(0);
        let done = now.max(free) + takes;
        let later = self.workers.partition_point(|&free| free <= done);
        self.workers.insert(later, done);
        let later = self.due.partition_point(|&(at, _)| at <= done);
        self.due.insert(later, (done, work));
    }

    fn done(&mut self, now: Picos) -> Option<Work> {
        let (_, work) = self.due.pop_front_if(|(at, _)| *at <= now)?;
        Some(work)
    }

    /// Does nothing wait for its reply?
    pub(super) fn is_idle(&self) -> bool {
        self.due.is_empty()
    }

    fn next(&self) -> Option<Picos> {
        self.due.front().map(|(at, _)| *at)
    }
}

impl<E: EventSet> Engine<E> {
    /// A server has read a request.
    pub(super) fn asked(&mut self, server: u32, work: Work) {
        let now = self.now;
        self.servers[server as usize].take(now, work);
        self.server_replies(server);
    }

    /// Replies that are ready go, and the next is waited for.
    pub(super) fn server_replies(&mut self, server: u32) {
        while let Some(work) = self.servers[server as usize].done(self.now) {
            self.reply(work);
        }
        let next = self.servers[server as usize].next();
        self.set(Event::Server(server), next);
    }

    /// On a connection, where a reply acknowledges what it replies to (RFC 9293 §3.8.6.3 lets an acknowledgement wait for one).
    fn reply_on(&mut self, flow: u32) {
        let Flow::TcpProbe(probe) = &self.flows[flow as usize] else {
            return;
        };
        let (requests, replies, bytes) = (probe.requests, probe.replies, probe.reply);
        self.acknowledge_now(requests);
        self.write(replies, bytes);
    }

    fn reply(&mut self, work: Work) {
        match work {
            Work::Stream { flow } => self.reply_on(flow),
            Work::Visit { visit, number } => self.visit_replies(visit, number, false),
            Work::Flight { visit, number } => self.visit_replies(visit, number, true),
            Work::Datagram {
                host,
                back,
                ip_size,
                echo,
            } => {
                let reply = self.packet(back, ip_size, Content::Reply(echo));
                self.submit(host, Job::Send(reply));
            }
        }
    }
}
