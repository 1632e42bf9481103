//! Answers of name servers.

use delaylab_model::request::Question;
use delaylab_wire::dns;

fn asked() -> Question {
    Question {
        name: "example.org".to_owned(),
        kind: 1,
    }
}

/// Checks one input.
pub fn check(data: &[u8]) {
    if let Some(answered) = dns::answer(data, &asked()) {
        assert_eq!(&answered.id.to_be_bytes()[..], &data[..2]);
        assert!(answered.code < 1 << 12);
    }
}

/// Valid inputs.
pub fn seeds() -> Vec<Vec<u8>> {
    let question = dns::question(&asked(), 7).unwrap_or_default();
    let mut answer = question.clone();
    // A response, of one record: the name by a pointer, A, IN, 300 s, 4 bytes.
    answer[2] |= 0x80;
    answer[7] = 1;
    let end = 12 + 13 + 4;
    let record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 1];
    answer.splice(end..end, record);
    vec![question, answer]
}
