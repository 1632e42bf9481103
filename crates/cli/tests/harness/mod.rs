//! What the tests stand on.
//!
//! | module | gives |
//! |---|---|
//! | [`netns`] | two namespaces and the veth pair between them, gone with the test |
//! | [`process`] | the binary under test: `ping`, `reflect`, signals to them |
//! | [`pty`] | a terminal, and what stands on it |
//! | [`run`] | what `ping --json` and `--json-stream` said |
//! | [`stages`] | the stages of a response, computed anew from a record's stamps |
//! | [`routers`] | a network of the test's imagination, behind a TUN device |
//! | [`forwarder`] | a path that delays, drops and repeats as the test says |
//! | [`http2_server`] | the same by HTTP/2 |
//! | [`web_server`] | a web server that does as the path of a request says, and knows how long it took |
//! | [`scratch`] | a directory, gone with the test |

pub mod forwarder;
pub mod http2_server;
pub mod netns;
pub mod process;
pub mod pty;
pub mod routers;
pub mod run;
pub mod scratch;
pub mod stages;
pub mod web_server;

/// A key, as a key file holds it.
pub const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";

/// Ends a test that this machine cannot carry out, and says why. Under `CI=true` that is a failure:
/// there, what the tests need is to be had.
#[macro_export]
macro_rules! skip {
    ($($why:tt)+) => {{
        $crate::harness::skipped(&format!($($why)+));
        return;
    }};
}

/// The value, or [`skip!`] with the reason why there is none.
#[macro_export]
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(why) => $crate::skip!("{why}"),
        }
    };
}

/// Says what is not tested here, and why.
pub fn skipped(why: &str) {
    let in_ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!in_ci, "cannot be skipped in CI: {why}");
    println!("skipped: {why}");
}

/// What is planted, or what a line is, must be found in one run of three: whatever else this machine does
/// may be worse in a run, and then rightly comes first, or hides what is to be found.
pub fn in_one_of_three(found: impl Fn() -> Result<(), String>) {
    let tries = (0..3).map(|_| found().err());
    let failed: Vec<String> = tries.take_while(Option::is_some).flatten().collect();
    assert!(failed.len() < 3, "{}", failed.join("\n"));
}

/// The middle one of these values.
pub fn median(mut values: Vec<i64>) -> i64 {
    assert!(!values.is_empty(), "no values to take a median of");
    values.sort_unstable();
    values[values.len() / 2]
}
