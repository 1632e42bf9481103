//! Requests of browsers: whatever is read is said again as the same, and no bytes panic. The file is taken
//! alone: the crate that it is of is large.
#![no_main]
#![allow(dead_code)]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/report/src/serve/http.rs"]
mod http;

fuzz_target!(|data: &[u8]| {
    let Ok(request) = http::Request::read(data) else {
        return;
    };
    assert!(request.path.iter().all(|segment| !segment.is_empty()));
    let segments: Vec<_> = request.path.iter().map(|segment| http::encode(segment)).collect();
    let pairs: Vec<_> = request.query.iter().map(|(k, v)| format!("{}={}", http::encode(k), http::encode(v))).collect();
    let target = format!("/{}?{}", segments.join("/"), pairs.join("&"));
    let again = http::Request::of_target(&target);
    assert_eq!(again.map(|again| (again.path, again.query)), Some((request.path, request.query)));
});
