//! One descriptor to wait on in place of many (epoll).

use rustix::event::{Timespec, epoll};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Events that one call returns.
const BATCH: usize = 16;

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// By which it was added.
    pub token: u64,
    /// There is something to read, or its peer has ended.
    pub readable: bool,
    /// It takes something, or its connection is there.
    pub writable: bool,
    /// Its error queue has something, or an error has come.
    pub failed: bool,
}

/// Sockets that are watched.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// Watches nothing yet.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll })
    }

    /// Watches a socket: for what comes, and for `writing` also for room.
    pub fn add(&self, socket: impl AsFd, token: u64, writing: bool) -> io::Result<()> {
        epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(token),
            flags(writing),
        )?;
        Ok(())
    }

    /// Watches it for something else.
    pub fn change(&self, socket: impl AsFd, token: u64, writing: bool) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        epoll::modify(&self.epoll, socket, data, flags(writing))?;
        Ok(())
    }

    /// What is ready now. It does not wait: [`Self::as_fd`] is to be waited on.
    pub fn ready(&self, mut take: impl FnMut(Ready)) -> io::Result<()> {
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH];
        let now = Timespec::default();
        let (found, _) = epoll::wait(&self.epoll, &mut events, Some(&now))?;
        for event in found {
            // Its fields lie packed: they are copied before anything is asked of them.
            let (flags, data) = (event.flags, event.data);
            let is = |wanted: epoll::EventFlags| flags.intersects(wanted);
            take(Ready {
                token: data.u64(),
                readable: is(epoll::EventFlags::IN | epoll::EventFlags::HUP),
                writable: is(epoll::EventFlags::OUT),
                failed: is(epoll::EventFlags::ERR),
            });
        }
        Ok(())
    }
}

fn flags(writing: bool) -> epoll::EventFlags {
    match writing {
        true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        false => epoll::EventFlags::IN,
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_is_ready_is_told_by_its_token() {
        let poller = Poller::new().unwrap();
        let (mut here, there) = UnixStream::pair().unwrap();
        poller.add(&there, 7, false).unwrap();
        let ready = || {
            let mut all = Vec::new();
            poller.ready(|ready| all.push(ready)).unwrap();
            all
        };
        assert_eq!(ready(), []);
        here.write_all(b"x").unwrap();
        let expected = Ready {
            token: 7,
            readable: true,
            writable: false,
            failed: false,
        };
        assert_eq!(ready(), [expected]);
        poller.change(&there, 8, true).unwrap();
        assert_eq!(ready()[0].token, 8);
        assert!(ready()[0].writable);
        drop(there);
        assert_eq!(ready(), []);
    }
}
