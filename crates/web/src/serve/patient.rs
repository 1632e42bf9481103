//! A stream to a reader that takes what it is sent, be it slowly.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// The time that a writer may wait for its reader in all, ...
const PATIENCE: Duration = Duration::from_secs(20);
/// ... and a second more for so many bytes taken.
const SLOWEST: u64 = 16 << 10;

/// Writing fails once the reader was waited for too long. Time in which there is nothing to write does not count.
pub(super) struct Patient {
    stream: TcpStream,
    waited: Duration,
    written: u64,
    /// Since when it waits for the reader now, and until when it may.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patient {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            waited: Duration::ZERO,
            written: 0,
            waiting: None,
        }
    }

    pub(super) fn into_inner(self) -> TcpStream {
        self.stream
    }

    fn counted(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                if let Some((since, _)) = self.waiting.take() {
                    self.waited += since.elapsed();
                }
                self.written += *written.as_ref().unwrap_or(&0) as u64;
                Poll::Ready(written)
            }
            Poll::Pending => {
                let may_wait = PATIENCE + Duration::from_secs(self.written / SLOWEST);
                let left = may_wait.saturating_sub(self.waited);
                let timer = || (Instant::now(), Box::pin(tokio::time::sleep(left)));
                let (_, timer) = self.waiting.get_or_insert_with(timer);
                ready!(timer.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.counted(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.counted(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
