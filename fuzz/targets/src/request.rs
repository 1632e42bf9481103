//! URLs and questions to name servers. What is read is written and read again as the same.

use crate::text::{self, text};
use delaylab_model::record::Answer;
use delaylab_model::request::{Question, Url};

/// Checks one input.
pub fn check(data: &[u8]) {
    let text = text(data);
    if let Ok(url) = text.parse::<Url>() {
        assert_eq!(url.to_string().parse(), Ok(url));
    }
    if let Ok(question) = text.parse::<Question>() {
        assert_eq!(question.to_string().parse(), Ok(question));
    }
    if let Ok(answer) = text.parse::<Answer>() {
        assert_eq!(answer.to_string().parse(), Ok(answer));
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    text::seeds([
        "http://example.org/",
        "https://[2001:db8::1]:8443/a?b=c",
        "HTTP://A.b:80?x",
        "example.org AAAA",
        ". NS",
        "a.b.",
        "404",
        "RCODE9",
        "NXDOMAIN",
    ])
}
