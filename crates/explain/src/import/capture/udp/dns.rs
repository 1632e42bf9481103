//! The head of a message of DNS (RFC 1035 §4.1): a query has a number and one question, and its answer repeats both.

use delaylab_model::record::Answer;

pub struct Dns<'a> {
    pub id: u16,
    /// Of a reply: what it says.
    pub answer: Option<Answer>,
    /// Name, type and class, as far as they were kept.
    pub question: &'a [u8],
}

impl<'a> Dns<'a> {
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        const REPLY: u16 = 1 << 15;
        const OPCODE: u16 = 15 << 11;
        const TRUNCATED: u16 = 1 << 9;
        const CODE: u16 = 15;
        let (head, rest) = payload.split_at_checked(12)?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (flags, questions, answers) = (word(2), word(4), word(6));
        let code = flags & CODE;
        let answer = (flags & REPLY != 0).then_some(match flags & TRUNCATED {
            0 => Answer::Code(code),
            _ => Answer::Truncated(code),
        });
        if flags & OPCODE != 0 || questions != 1 || (answer.is_none() && answers != 0) {
            return None;
        }
        Some(Self {
            id: word(0),
            answer,
            question: &rest[..question(rest)?],
        })
    }
}

/// How long the question is of which this is the beginning; `None` if it is none.
fn question(bytes: &[u8]) -> Option<usize> {
    /// A label is no longer (RFC 1035 §2.3.4).
    const LABEL: u8 = 63;
    const TYPE_AND_CLASS: usize = 4;
    let mut at = 0;
    loop {
        match bytes.get(at) {
            Some(0) => return Some((at + 1 + TYPE_AND_CLASS).min(bytes.len())),
            Some(&label) if label <= LABEL => at += 1 + usize::from(label),
            Some(_) => return None,
            // The capture has no more of it.
            None => return Some(bytes.len()),
        }
    }
}
