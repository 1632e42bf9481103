//! Names of addresses, as this host's resolver knows them.

use socket2::SockAddr;
use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};

/// The name of an address, if it has one. Waits for the resolver as long as that takes.
pub fn of_address(address: IpAddr) -> Option<String> {
    let address = SockAddr::from(SocketAddr::new(address, 0));
    let mut name = [0 as libc::c_char; libc::NI_MAXHOST as usize];
    // SAFETY: the pointers and lengths describe the address and the buffer; no service is asked for.
    let code = unsafe {
        libc::getnameinfo(
            address.as_ptr().cast(),
            address.len(),
            name.as_mut_ptr(),
            name.len() as libc::socklen_t,
            std::ptr::null_mut(),
            0,
            libc::NI_NAMEREQD,
        )
    };
    if code != 0 {
        return None;
    }
    // SAFETY: the resolver has written a name that ends in a zero byte, within the buffer.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    // It is what somebody else's server says: nothing of it may reach the terminal but a name.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let name = name.to_str().ok()?;
    name.chars().all(plain).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn loopback_has_a_name_in_the_hosts_file() {
        let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
        if !hosts.lines().any(|line| line.starts_with("127.0.0.1")) {
            println!("skipped: this host's file of names has no loopback");
            return;
        }
        assert!(of_address(Ipv4Addr::LOCALHOST.into()).is_some());
    }
}
