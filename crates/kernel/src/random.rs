//! Random bytes from the kernel.

use std::io;

/// 32 bytes that nobody can guess.
pub fn bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    // SAFETY: the pointer and length describe `bytes`. Reads of up to 256 bytes are never cut short.
    let code = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    crate::socket_options::check_len(code).map(|_| bytes)
}
