//! The shortest request of each method.

use delaylab_model::method::Method;
use delaylab_wire::echo::{self, Mode};
use delaylab_wire::stamp::Form;
use delaylab_wire::tcp;

/// Why a request of this payload is too short; `None` where it is not.
pub fn too_short(method: Method, payload: u32, with_key: bool) -> Option<String> {
    let tag = if with_key { " and its 16-byte tag" } else { "" };
    let header = format!(" for its header{tag}");
    let (least, what, why) = match method {
        Method::Udp => (echo::smallest(Mode::Plain, with_key), "udp", &*header),
        Method::Tcp => (tcp::smallest_request(with_key), "a tcp request", &*header),
        Method::Stamp if with_key => (Form::Authenticated.size(), "stamp with a key", ""),
        Method::Stamp => (Form::Unauthenticated.size(), "stamp", ""),
        _ => return None,
    };
    ((payload as usize) < least)
        .then(|| format!("{what} needs at least {least} B{why}, not {payload} B"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_shortest_request_of_each_method_is_known_before_it_is_sent() {
        for (method, with_key, least) in [
            (Method::Udp, false, 8),
            (Method::Udp, true, 24),
            (Method::Tcp, false, 12),
            (Method::Tcp, true, 28),
            (Method::Stamp, false, 44),
            (Method::Stamp, true, 112),
        ] {
            assert_eq!(too_short(method, least, with_key), None, "{method}");
            let why = too_short(method, least - 1, with_key).unwrap();
            assert!(why.contains(&format!("at least {least} B")), "{why}");
        }
        assert_eq!(too_short(Method::Icmp, 0, false), None);
    }
}
