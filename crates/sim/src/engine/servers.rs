//! Servers at hosts: first come, first served, by a number of workers, with the same service time for each request.

use super::{Engine, Flow};
use crate::cpu::Job;
use crate::event_set::EventSet;
use crate::packet::{ChannelId, Content, Echo};
use crate::slots::Event;
use delaylab_model::Picos;
use delaylab_model::path::HostServer;
use delaylab_model::path::server::page_size;
use delaylab_model::request::{DnsTransport, Request, Verb};
use delaylab_topology::time::picos;
use delaylab_wire::{dns, http};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// A server.
pub(super) struct Server {
    think: Picos,
    /// When each of its workers has done what it was given, the next one first.
    workers: VecDeque<Picos>,
    /// Replies that are not ready, in the order in which they will be.
    due: VecDeque<(Picos, Work)>,
}

/// What is replied to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// A request on the connections of this probe.
    Stream { flow: u32 },
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

    /// All requests take equally long, so that the first that is begun is the first that is done.
    fn take(&mut self, now: Picos, work: Work) {
        let free = self.workers.pop_front().unwrap_or(0);
        let done = now.max(free) + self.think;
        self.workers.push_back(done);
        self.due.push_back((done, work));
    }

    fn done(&mut self, now: Picos) -> Option<Work> {
        let (_, work) = self.due.pop_front_if(|(at, _)| *at <= now)?;
        Some(work)
    }

    fn next(&self) -> Option<Picos> {
        self.due.front().map(|(at, _)| *at)
    }
}

/// Bytes of a request and of its reply, without headers of TCP, UDP and IP: those of delaylab's own server.
pub(super) fn sizes(request: &Request) -> (u32, u32) {
    match request {
        Request::Connect { .. } => (1, 1),
        Request::Http(asked) => {
            let (verb, url) = (asked.verb.to_string(), &asked.url);
            let head = http::request(
                &verb,
                &url.path,
                &url.authority(),
                &asked.headers,
                asked.fresh,
            );
            let body = page_size(&url.path);
            let head_alone = http::reply_head(body, true, 0).len() as u64;
            let reply = match asked.verb {
                Verb::Get => head_alone + body,
                Verb::Head => head_alone,
            };
            (head.len() as u32, u32::try_from(reply).unwrap_or(u32::MAX))
        }
        Request::Dns(asked) => {
            // A label of its own is as long in each.
            let question = dns::question(&asked.question.numbered(0), 0).unwrap_or_default();
            let reply = dns::reply(&question, Ipv4Addr::UNSPECIFIED, 0, 0).unwrap_or_default();
            let length = match asked.transport {
                DnsTransport::Udp => 0,
                DnsTransport::Tcp | DnsTransport::Tls => dns::LENGTH,
            };
            let bytes = |message: Vec<u8>| (message.len() + length) as u32;
            (bytes(question), bytes(reply))
        }
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

    fn reply(&mut self, work: Work) {
        match work {
            Work::Stream { flow } => {
                let Flow::TcpProbe(probe) = &self.flows[flow as usize] else {
                    return;
                };
                let (requests, replies, bytes) = (probe.requests, probe.replies, probe.reply);
                // A reply acknowledges what it replies to (RFC 9293 §3.8.6.3 lets an acknowledgement wait for one).
                self.acknowledge_now(requests);
                self.write(replies, bytes);
            }
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
