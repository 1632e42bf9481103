//! Questions to a name server by UDP, each with a hop limit: no privilege is needed.
//!
//! A router where the limit runs out quotes the question, and the kernel hands the quote to the socket's error queue. One
//! socket asks them all, so that load balancers keep them to one path; one is under way at a time, because a router
//! may quote no more than the UDP header, which is the same in all of them.

use super::PathTracing;
use super::wires::{Arrived, Wires, connected, icmp_error};
use crate::prober::dns::first_number;
use crate::prober::error::OpenError;
use delaylab_kernel::ancillary::Ancillary;
use delaylab_kernel::datagram::{Blocking, DatagramSocket};
use delaylab_kernel::error_queue::ErrorQueue;
use delaylab_kernel::stamping::Flags;
use delaylab_kernel::{clock, random, socket_options as options};
use delaylab_model::Nanos;
use delaylab_model::headers;
use delaylab_model::method::Method;
use delaylab_model::request::Question;
use delaylab_traffic::path_trace::Said;
use delaylab_wire::dns;
use delaylab_wire::path_probe::Mark;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// The longest message that a server may send all the same.
const LONGEST: usize = 4096;

/// Questions to one server.
pub(super) struct Questions {
    socket: DatagramSocket,
    target: SocketAddr,
    question: Question,
    /// Of the first one, where each has a name of its own.
    first: u64,
    /// The identifier of a question is its number and this.
    secret: u16,
    /// The one that was asked last.
    last: u16,
    queue: ErrorQueue<4>,
    errors: VecDeque<Arrived>,
    buffer: Vec<u8>,
}

impl Questions {
    /// Opens a socket to the server.
    pub fn open(tracing: &PathTracing, question: &Question) -> Result<Self, OpenError> {
        let failed = |what| OpenError::socket(Method::Dns, what);
        let target = tracing.target;
        let v6 = target.is_ipv6();
        let socket = connected(tracing, target, failed("open"))?;
        options::receive_marks(&socket, v6).map_err(failed("receive marks"))?;
        options::receive_errors(&socket, v6, true).map_err(failed("receive errors"))?;
        // Without the kernel's stamps the reader's clock has to do.
        let _ = socket.set_stamping(Flags::arrivals());
        let [a, b, ..] = random::bytes().map_err(failed("random numbers"))?;
        Ok(Self {
            socket,
            target,
            question: question.clone(),
            first: first_number(),
            secret: u16::from_be_bytes([a, b]),
            last: 0,
            queue: ErrorQueue::new(),
            errors: VecDeque::new(),
            buffer: vec![0; LONGEST],
        })
    }

    fn asked(&self, number: u16) -> Cow<'_, Question> {
        self.question
            .numbered(self.first.wrapping_add(number.into()))
    }

    fn message(&self, number: u16) -> io::Result<Vec<u8>> {
        let id = number.wrapping_add(self.secret);
        let message = dns::question(&self.asked(number), id);
        message.ok_or_else(|| io::Error::other("this name cannot be asked for"))
    }

    /// Which question an answer or a quote with this identifier is of.
    fn number(&self, message: &[u8]) -> Option<u16> {
        let id = u16::from_be_bytes(*message.first_chunk()?);
        Some(id.wrapping_sub(self.secret))
    }

    fn answered(&self, message: &[u8], beside: &Ancillary) -> Option<Arrived> {
        let number = self.number(message)?;
        dns::answer(message, &self.asked(number))?;
        let from = self.target.ip();
        Some(Arrived::new(number, from, Said::Replied, beside))
    }

    fn read_errors(&mut self) -> io::Result<()> {
        let mut queue = std::mem::take(&mut self.queue);
        let mut found = Vec::new();
        let read = queue.read(self.socket.as_fd(), 1, |beside, quote| {
            if let Some((by, said)) = icmp_error(beside) {
                // A short quote ends with the header.
                let number = self.number(quote).unwrap_or(self.last);
                found.push(Arrived::new(number, by, said, beside));
            }
        });
        self.queue = queue;
        self.errors.extend(found);
        read.map(drop)
    }
}

impl Wires for Questions {
    fn packet_size(&self) -> usize {
        let before = headers::of_datagrams(self.target.is_ipv6());
        before as usize + self.message(0).map_or(0, |message| message.len())
    }

    fn readable(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    fn send(&mut self, _: usize, mark: Mark) -> io::Result<Nanos> {
        let v6 = self.target.is_ipv6();
        let message = self.message(mark.number)?;
        options::set_traffic_class(&self.socket, v6, mark.traffic_class)?;
        options::set_ttl(&self.socket, v6, mark.ttl)?;
        self.last = mark.number;
        let sent_at = clock::monotonic();
        match self.socket.send(&message) {
            Ok(_) => Ok(sent_at),
            // The error that a call returns may be the ICMP error of an earlier question: then nothing was sent.
            Err(_) if self.read_errors().is_ok() && !self.errors.is_empty() => {
                self.socket.send(&message).map(|_| sent_at)
            }
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self) -> io::Result<Option<Arrived>> {
        // An error that it returns is in the error queue as well.
        while let Ok(received) = self.socket.receive(&mut self.buffer, Blocking::No) {
            let message = &self.buffer[..received.length];
            if let Some(arrived) = self.answered(message, &received.beside) {
                return Ok(Some(arrived));
            }
        }
        self.read_errors()?;
        Ok(self.errors.pop_front())
    }
}
