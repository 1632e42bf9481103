//! How many bytes of headers stand before what a packet carries.

/// UDP, and ICMP's echo.
pub const DATAGRAM: u32 = 8;
/// TCP without options.
pub const TCP: u32 = 20;

/// IP without options or extensions.
pub const fn ip(v6: bool) -> u32 {
    if v6 { 40 } else { 20 }
}

/// IP, and UDP or ICMP's echo.
pub const fn of_datagrams(v6: bool) -> u32 {
    ip(v6) + DATAGRAM
}

/// IP and TCP.
pub const fn of_segments(v6: bool) -> u32 {
    ip(v6) + TCP
}
