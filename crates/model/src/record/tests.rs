//! What answers are called.

#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn an_answer_is_read_back_as_it_is_written() {
    for (answer, written) in [
        (Answer::Open, "open"),
        (Answer::Closed, "closed"),
        (Answer::Status(404), "404"),
        (Answer::Code(3), "NXDOMAIN"),
        (Answer::Code(9), "RCODE9"),
        (Answer::Truncated(0), "NOERROR+TC"),
        (Answer::Truncated(4095), "RCODE4095+TC"),
    ] {
        assert_eq!(answer.to_string(), written);
        assert_eq!(written.parse(), Ok(answer));
    }
    for wrong in ["", "+TC", "404+TC", "open+TC", "NOERROR+TC+TC", "RCODE"] {
        assert!(wrong.parse::<Answer>().is_err(), "{wrong}");
    }
}
