//! Requests of browsers: a request that is read is written and read again as the same.
//!
//! The file under test is taken alone: the crate that it belongs to is large.

#[allow(dead_code)]
#[path = "../../../crates/web/src/serve/http.rs"]
mod requests;

use crate::text;
use requests::{Request, encode};

/// Checks one input.
pub fn check(data: &[u8]) {
    let Ok(request) = Request::read(data) else {
        return;
    };
    assert!(request.path.iter().all(|segment| !segment.is_empty()));
    let segments: Vec<_> = request.path.iter().map(|segment| encode(segment)).collect();
    let pair = |(name, value): &(String, String)| format!("{}={}", encode(name), encode(value));
    let pairs: Vec<_> = request.query.iter().map(pair).collect();
    let target = format!("/{}?{}", segments.join("/"), pairs.join("&"));
    let again = Request::of_target(&target);
    assert_eq!(
        again.map(|again| (again.path, again.query)),
        Some((request.path, request.query))
    );
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "GET / HTTP/1.1\r\n\r\n",
        "GET /run/a%20b/window?from=1&to=2 HTTP/1.1\r\nHost: localhost:8864\r\n\r\n",
        "GET /events?token=a+b HTTP/1.0\r\nHost: [::1]:8864\r\nCookie: a=b; c=d\r\nAccept: */*\r\n\r\n",
    ])
}
