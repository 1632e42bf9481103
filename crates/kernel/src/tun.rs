//! TUN devices: interfaces whose packets a process reads and answers, as networks of the imagination.

use crate::ifreq;
use crate::socket_options::check;
use crate::wait::{self, Woken};
use delaylab_model::Nanos;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};

/// The kernel's end is an interface, this is the other. The interface is gone with it.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes the interface, in the network namespace of the calling thread. Needs `CAP_NET_ADMIN`.
    pub fn new(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")?;
        let request = ifreq::named(name);
        let mut request = request.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: this call reads and writes a whole ifreq at the address given.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) })?;
        Ok(Self(file))
    }

    /// The next IP packet that leaves by the interface; `None` if none does before this time of
    /// `CLOCK_MONOTONIC`.
    pub fn receive(&mut self, buffer: &mut [u8], deadline: Nanos) -> io::Result<Option<usize>> {
        match wait::until_readable(self.0.as_fd(), Some(deadline))? {
            Woken::Ready => self.0.read(buffer).map(Some),
            Woken::Deadline | Woken::Signal => Ok(None),
        }
    }

    /// Lets an IP packet arrive by the interface.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.0.write(packet).map(drop)
    }
}
