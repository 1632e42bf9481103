//! Names of network interfaces.

use std::ffi::{CStr, CString};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The interface that has this address.
pub fn with_address(address: IpAddr) -> Option<String> {
    let mut first = std::ptr::null_mut();
    // SAFETY: fills in a list, which is freed below.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return None;
    }
    let mut found = None;
    let mut at = first;
    // SAFETY: a pointer of the list is null or to an entry, and the list is freed only below.
    while let Some(entry) = unsafe { at.as_ref() } {
        if address_of(entry) == Some(address) {
            // SAFETY: every entry has a name that ends in a zero byte.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
            break;
        }
        at = entry.ifa_next;
    }
    // SAFETY: the list from above, freed once.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// The kernel's number for an interface of the calling thread's network namespace.
pub fn index_of(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(index)
}

fn address_of(entry: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: null, or an address whose family says how it goes on.
    let family = i32::from(unsafe { entry.ifa_addr.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: of this family, so it is a whole `sockaddr_in`.
            let v4 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: of this family, so it is a whole `sockaddr_in6`.
            let v6 = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_its_address_and_nobody_has_a_documentation_address() {
        assert_eq!(
            with_address(Ipv4Addr::LOCALHOST.into()).as_deref(),
            Some("lo")
        );
        assert_eq!(with_address(Ipv4Addr::new(192, 0, 2, 251).into()), None);
    }
}
