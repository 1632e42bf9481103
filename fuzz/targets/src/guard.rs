//! Who a server of runs answers: whatever a request says of itself, only one with the token is let through, and
//! without a token only one that names this host.
//!
//! The files under test are taken alone: the crate that they belong to is large. HTTP itself is read by a library.

#[path = "../../../crates/web/src/serve/guard.rs"]
mod admission;
#[allow(dead_code)] // its other users are in that crate
#[path = "../../../crates/web/src/serve/query.rs"]
mod query;

use crate::text;
use admission::{Admission, Token, admit};
use http::{HeaderMap, HeaderName, HeaderValue};
use query::{Query, encode};
use std::net::{Ipv4Addr, SocketAddr};

const TOKEN: &str = "0123456789abcdef";

/// Checks one input: a query, then lines of headers.
pub fn check(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let Ok(query) = std::str::from_utf8(lines.next().unwrap_or_default()) else {
        return;
    };
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(&line[colon + 1..]);
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 8864));
    let query = Query::new(query);

    if admit(&headers, &query, address, None) == Admission::Granted {
        let hosts: Vec<_> = headers.get_all("host").iter().collect();
        assert!(matches!(hosts.as_slice(), [host] if host.as_bytes().ends_with(b":8864")));
    }
    let Ok(token) = Token::from_text(TOKEN) else {
        panic!("the token is none");
    };
    let says_token = |name: &str| {
        let mut values = headers.get_all(name).iter();
        values.any(|value| value.to_str().is_ok_and(|value| value.contains(TOKEN)))
    };
    match admit(&headers, &query, address, Some(&token)) {
        Admission::Granted => assert!(says_token("cookie") || says_token("authorization")),
        Admission::SetCookie(_) => assert_eq!(query.first("token"), Some(TOKEN)),
        _ => {}
    }
    if let Some(name) = query.first("run") {
        let again = Query::new(&format!("run={}", encode(name)));
        assert_eq!(again.first("run"), Some(name));
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "\nhost:localhost:8864",
        "run=a%20b&run=c+d\nhost:[::1]:8864\nsec-fetch-site:same-origin",
        "token=0123456789abcdef",
        "\ncookie:a=b; delaylab-8864=0123456789abcdef",
        "\nauthorization:Bearer 0123456789abcdef\nsec-fetch-site:none",
    ])
}
