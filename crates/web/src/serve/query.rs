//! The parameters of an address (the URL Standard's `application/x-www-form-urlencoded`), and names as part of one.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What a segment of a path or a value of a query may not have as it is: all but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Parameters, decoded, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Of what stands behind the question mark.
    pub(super) fn new(text: &str) -> Self {
        Self(
            form_urlencoded::parse(text.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// The first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All parameters but this one, as they stand in an address.
    pub(super) fn without(&self, name: &str) -> String {
        let others = self.0.iter().filter(|(other, _)| other != name);
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(others).finish()
    }

    /// Every value of a parameter.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value.as_str())
    }
}

/// Any text as one segment of a path or one value of a query.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_decoded_and_may_be_there_twice() {
        let query = Query::new("run=a%26b+c&from=1.5&run=d&empty");
        assert_eq!(query.first("from"), Some("1.5"));
        assert_eq!(query.first("empty"), Some(""));
        assert_eq!(query.first("to"), None);
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["a&b c", "d"]);
    }

    #[test]
    fn a_name_is_one_segment_of_a_path() {
        assert_eq!(encode("../a b?c=d&e#f~"), "..%2Fa%20b%3Fc%3Dd%26e%23f~");
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in ".*") {
            let query = Query::new(&format!("name={}", encode(&text)));
            prop_assert_eq!(query.first("name"), Some(text.as_str()));
        }
    }
}
