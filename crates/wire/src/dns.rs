//! Questions to name servers and what of their answers counts here (RFC 1035).

use delaylab_model::Nanos;
use delaylab_model::request::Question;
use simple_dns::rdata::{A, OPT, OPTCode, RData};
use simple_dns::{
    CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question as Asked, ResourceRecord, TYPE,
};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest answer that fits a datagram, as the question says (RFC 6891; as the flag day of 2020 has it).
pub const MOST_DATAGRAM: u16 = 1232;
/// The bytes that say how long a message on a connection is (RFC 1035 §4.2.2).
pub const LENGTH: usize = 2;
/// Where the text of the first label of a question's name begins: behind the header and the label's length (RFC 1035 §4.1).
pub const FIRST_LABEL: usize = 13;

/// The question in words of the wire, with this number. `None`: its name is none.
pub fn question(question: &Question, id: u16) -> Option<Vec<u8>> {
    let name = Name::new(&question.name).ok()?;
    let kind = QTYPE::TYPE(TYPE::from(question.kind));
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    packet
        .questions
        .push(Asked::new(name, kind, QCLASS::CLASS(CLASS::IN), false));
    *packet.opt_mut() = Some(OPT {
        opt_codes: Vec::new(),
        udp_packet_size: MOST_DATAGRAM,
        version: 0,
    });
    packet.build_bytes_vec().ok()
}

/// The same as it goes over a connection.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes()[..], message].concat()
}

/// What of an answer counts here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The number of its question.
    pub id: u16,
    /// The response code, of twelve bits where the answer has EDNS (RFC 6891 §6.1.3).
    pub code: u16,
    /// Records in it that answer.
    pub answers: u16,
    /// The least time that one of those may be kept, in seconds.
    pub ttl: Option<u32>,
    /// The addresses among them, in order.
    pub addresses: Vec<IpAddr>,
    /// What delaylab's own server says that it took.
    pub says: Option<Nanos>,
    /// It did not fit: the whole of it is to be asked for by TCP.
    pub truncated: bool,
}

/// Reads an answer. `None`: it is none, or one to another question.
pub fn answer(bytes: &[u8], asked: &Question) -> Option<Answered> {
    let bytes = &*without_reserved(bytes);
    let packet = Packet::parse(bytes).ok()?;
    if !packet.has_flags(PacketFlag::RESPONSE) {
        return None;
    }
    // Who knows the number alone may have guessed it: the question comes back too (RFC 5452 §9.1).
    let same = |back: &Asked<'_>| {
        let name = back.qname.to_string();
        name.eq_ignore_ascii_case(&asked.name) && u16::from(back.qtype) == asked.kind
    };
    let code = bytes.get(3)? & 0xf;
    let is_ours = match &packet.questions[..] {
        [back] => same(back),
        // A server that refuses the question or does not understand it may send its header back alone: nothing but the code is
        // read from that.
        [] => code != 0 && packet.answers.is_empty(),
        _ => false,
    };
    if !is_ours {
        return None;
    }
    // The parser does not keep these bits of the record, and takes others for them.
    let extended = packet.opt().and_then(|_| extended_code(bytes));
    Some(Answered {
        id: packet.id(),
        code: u16::from(extended.unwrap_or(0)) << 4 | u16::from(code),
        answers: u16::try_from(packet.answers.len()).unwrap_or(u16::MAX),
        ttl: packet.answers.iter().map(|record| kept(record.ttl)).min(),
        addresses: addresses(&packet),
        says: packet.opt().and_then(said_to_take),
        truncated: packet.has_flags(PacketFlag::TRUNCATION),
    })
}

/// The bit of the header that is reserved (RFC 1035 §4.1.1), in its fourth byte: a server may use it for what is not known yet.
const RESERVED: u8 = 0x40;

fn without_reserved(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes.get(3) {
        Some(flags) if flags & RESERVED != 0 => {
            let mut cleared = bytes.to_vec();
            cleared[3] &= !RESERVED;
            cleared.into()
        }
        _ => bytes.into(),
    }
}

/// Bytes of a header, of a question behind its name, and of a record between its name and its data (RFC 1035 §4.1).
const HEADER: usize = 12;
const BEHIND_QUESTION: usize = 4;
const BEHIND_RECORD: usize = 10;
const OPT_TYPE: [u8; 2] = 41_u16.to_be_bytes();

/// The upper bits of the response code, which stand where another record has the first byte of its TTL.
fn extended_code(bytes: &[u8]) -> Option<u8> {
    let (header, mut left) = bytes.split_first_chunk::<HEADER>()?;
    let [_, _, _, _, counts @ ..] = *header;
    let count = |of: usize| usize::from(u16::from_be_bytes([counts[2 * of], counts[2 * of + 1]]));
    for _ in 0..count(0) {
        left = behind_name(left)?.get(BEHIND_QUESTION..)?;
    }
    for _ in 0..count(1) + count(2) + count(3) {
        let (record, data) = behind_name(left)?.split_first_chunk::<BEHIND_RECORD>()?;
        let [kind @ .., _, _, extended, _, _, _, high, low] = *record;
        if kind == OPT_TYPE {
            return Some(extended);
        }
        left = data.get(usize::from(u16::from_be_bytes([high, low]))..)?;
    }
    None
}

/// A name ends with its root or with a pointer (RFC 1035 §4.1.4).
fn behind_name(mut left: &[u8]) -> Option<&[u8]> {
    loop {
        let (&length, rest) = left.split_first()?;
        match length {
            0 => return Some(rest),
            0xc0.. => return rest.get(1..),
            _ => left = rest.get(usize::from(length)..)?,
        }
    }
}

/// An option for local use (RFC 6891 §9), with a mark that no other server's has.
const TOOK: u16 = 65_001;
const MARK: [u8; 8] = *b"delaylab";

fn said_to_take(opt: &OPT<'_>) -> Option<Nanos> {
    let mut options = opt.opt_codes.iter();
    let option = options.find(|option| option.code == TOOK)?;
    let took = option.data.strip_prefix(&MARK)?;
    Some(Nanos::from_be_bytes(took.try_into().ok()?)).filter(|took| *took >= 0)
}

/// Of every answer; servers give them in another order each time.
fn addresses(packet: &Packet<'_>) -> Vec<IpAddr> {
    let answers = packet
        .answers
        .iter()
        .filter_map(|record| match &record.rdata {
            RData::A(a) => Some(Ipv4Addr::from_bits(a.address).into()),
            RData::AAAA(aaaa) => Some(Ipv6Addr::from_bits(aaaa.address).into()),
            _ => None,
        });
    let mut addresses: Vec<IpAddr> = answers.collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// A time with its highest bit set is none at all (RFC 2181 §8).
const fn kept(ttl: u32) -> u32 {
    if ttl > i32::MAX as u32 { 0 } else { ttl }
}

/// What a server that knows one address answers to every question, for this many seconds, having taken this long for it. `None`: it
/// was no question.
pub fn reply(question: &[u8], address: Ipv4Addr, ttl: u32, took: Nanos) -> Option<Vec<u8>> {
    let packet = Packet::parse(question).ok()?;
    if packet.has_flags(PacketFlag::RESPONSE) {
        return None;
    }
    let asked = packet.questions.first()?;
    let is_address = asked.qtype == QTYPE::TYPE(TYPE::A);
    let name = asked.qname.clone().into_owned();
    // Who sends no EDNS gets none (RFC 6891 §6.1.1).
    let knows_edns = packet.opt().is_some();
    let mut packet = packet.into_reply();
    if knows_edns {
        *packet.opt_mut() = Some(OPT {
            opt_codes: vec![OPTCode {
                code: TOOK,
                data: [MARK, took.to_be_bytes()].concat().into(),
            }],
            udp_packet_size: MOST_DATAGRAM,
            version: 0,
        });
    }
    if is_address {
        let address = RData::A(A {
            address: address.to_bits(),
        });
        packet
            .answers
            .push(ResourceRecord::new(name, CLASS::IN, ttl, address));
    }
    packet.build_bytes_vec().ok()
}

/// Writes into a message of [`reply`] that it took this long: where the reply is ready, only this is left to be done.
pub fn set_took(reply: &mut [u8], took: Nanos) {
    let at = reply.windows(MARK.len()).rposition(|bytes| bytes == MARK);
    let place = at.and_then(|at| reply.get_mut(at + MARK.len()..)?.first_chunk_mut());
    if let Some(place) = place {
        *place = took.to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use simple_dns::RCODE;

    fn asked(text: &str) -> Question {
        text.parse().unwrap()
    }

    /// What a server makes of a question.
    fn reply_with(question: &[u8], ttls: &[u32]) -> Vec<u8> {
        let packet = Packet::parse(question).unwrap();
        let name = packet.questions[0].qname.clone().into_owned();
        let mut packet = packet.into_reply();
        for &ttl in ttls {
            let address = RData::A(A { address: 1 });
            let record = ResourceRecord::new(name.clone(), CLASS::IN, ttl, address);
            packet.answers.push(record);
        }
        *packet.rcode_mut() = if ttls.is_empty() {
            RCODE::NameError
        } else {
            RCODE::NoError
        };
        packet.build_bytes_vec().unwrap()
    }

    #[test]
    fn an_answer_is_read_with_what_counts() {
        let kinds = Question::kinds().map(|kind| Question {
            name: "example.org".to_owned(),
            kind,
        });
        let kinds = kinds.map(|question| question.to_string());
        for text in kinds.chain([". NS".to_owned()]) {
            let text = text.as_str();
            let sent = question(&asked(text), 77).unwrap();
            let answered = answer(&reply_with(&sent, &[300, 60]), &asked(text)).unwrap();
            let expected = Answered {
                id: 77,
                code: 0,
                answers: 2,
                ttl: Some(60),
                addresses: vec![Ipv4Addr::from_bits(1).into()],
                says: None,
                truncated: false,
            };
            assert_eq!(answered, expected, "{text}");
        }
        let longest = ["*", &".x".repeat(118), "x"].concat();
        assert!(question(&asked(&longest).numbered(u64::MAX), 1).is_some());
        let sent = question(&asked("a.b"), 1).unwrap();
        let none = answer(&reply_with(&sent, &[]), &asked("a.b")).unwrap();
        assert_eq!((none.code, none.answers, none.ttl), (3, 0, None));
        assert_eq!(none.addresses, Vec::<IpAddr>::new());
        // RFC 2181 §8.
        let never = answer(&reply_with(&sent, &[0x8000_0001, 300]), &asked("a.b")).unwrap();
        assert_eq!(never.ttl, Some(0));
    }

    /// Its number alone may be guessed. A server that cannot read the question cannot repeat it, and one that refuses it need not.
    #[test]
    fn an_answer_repeats_its_question_or_is_an_error_code_alone() {
        let sent = question(&asked("a.b"), 1).unwrap();
        let replied = reply_with(&sent, &[60]);
        let with = |change: fn(&mut Packet<'_>)| {
            let mut packet = Packet::parse(&replied).unwrap();
            change(&mut packet);
            answer(&packet.build_bytes_vec().unwrap(), &asked("a.b"))
        };
        assert_eq!(with(|_| ()).map(|answered| answered.answers), Some(1));
        assert_eq!(with(|packet| packet.questions.clear()), None);
        let twice = |packet: &mut Packet<'_>| packet.questions.push(packet.questions[0].clone());
        assert_eq!(with(twice), None);
        let alone = |flags: [u8; 2]| {
            let counts = [0; 8];
            let message = [&[0, 1][..], &flags, &counts].concat();
            answer(&message, &asked("a.b")).map(|answered| (answered.id, answered.code))
        };
        assert_eq!(alone([0x81, 0]), None);
        // FORMERR, SERVFAIL, NOTIMP and, as some versions of Unbound send it, REFUSED.
        for code in [1, 2, 4, 5] {
            assert_eq!(alone([0x81, code]), Some((1, code.into())));
        }
        let with_records = |packet: &mut Packet<'_>| {
            packet.questions.clear();
            *packet.rcode_mut() = RCODE::Refused;
        };
        assert_eq!(with(with_records), None);
    }

    /// RFC 6891 §6.1.3: BADVERS is 16, and its lower bits are those of NOERROR.
    #[test]
    fn a_code_has_the_bits_that_edns_adds() {
        let sent = question(&asked("a.b"), 1).unwrap();
        let mut replied = reply(&sent, Ipv4Addr::LOCALHOST, 9, 0).unwrap();
        let of_opt = [0, 0, 41];
        let opt = replied.windows(3).rposition(|three| three == of_opt);
        let extended = opt.unwrap() + 5;
        let code = |replied: &[u8]| answer(replied, &asked("a.b")).unwrap().code;
        assert_eq!(code(&replied), 0);
        replied[extended] = 1;
        assert_eq!(code(&replied), 16);
        replied[3] |= 7;
        assert_eq!(code(&replied), 23);
        replied[extended] = 0xff;
        assert_eq!(code(&replied), 0xff7);
        // The flag DO beside it is no part of the code.
        replied[extended..extended + 3].copy_from_slice(&[0, 0, 0x80]);
        assert_eq!(code(&replied), 7);
        let without = reply_with(&sent, &[]);
        assert_eq!(code(&without), 3);
    }

    #[test]
    fn flags_are_read_and_the_reserved_one_is_not() {
        let sent = question(&asked("a.b"), 1).unwrap();
        let mut replied = reply_with(&sent, &[300]);
        let plain = answer(&replied, &asked("a.b"));
        replied[3] |= RESERVED;
        assert_eq!(answer(&replied, &asked("a.b")), plain);
        replied[2] |= 2;
        assert!(answer(&replied, &asked("a.b")).unwrap().truncated);
    }

    #[test]
    fn questions_and_answers_to_others_are_no_answers() {
        let sent = question(&asked("a.b"), 1).unwrap();
        assert_eq!(answer(&sent, &asked("a.b")), None);
        assert_eq!(answer(&reply_with(&sent, &[1]), &asked("a.c")), None);
        assert_eq!(answer(&reply_with(&sent, &[1]), &asked("a.b AAAA")), None);
        assert!(answer(&reply_with(&sent, &[1]), &asked("A.B")).is_some());
        assert_eq!(framed(&[1, 2, 3]), [0, 3, 1, 2, 3]);
    }

    #[test]
    fn a_server_of_one_address_answers_every_question() {
        let address = Ipv4Addr::new(192, 0, 2, 7);
        let sent = question(&asked("a.b"), 9).unwrap();
        let replied = reply(&sent, address, 30, 1_234_567).unwrap();
        let answered = answer(&replied, &asked("a.b")).unwrap();
        assert_eq!(
            (answered.id, answered.answers, answered.ttl),
            (9, 1, Some(30))
        );
        assert_eq!(answered.says, Some(1_234_567));
        let mut later = replied.clone();
        set_took(&mut later, 7_654_321);
        assert_eq!(answer(&later, &asked("a.b")).unwrap().says, Some(7_654_321));
        assert_eq!(later.len(), replied.len());
        set_took(&mut [0; 20], 1);
        let sent = question(&asked("a.b AAAA"), 9).unwrap();
        let none = answer(&reply(&sent, address, 30, 0).unwrap(), &asked("a.b AAAA")).unwrap();
        assert_eq!((none.code, none.answers), (0, 0));
        assert_eq!(reply(&replied, address, 30, 0), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..40, byte in any::<u8>()) {
            let _ = answer(&bytes, &asked("a.b"));
            let _ = reply(&bytes, Ipv4Addr::LOCALHOST, 1, 0);
            let mut near = reply_with(&question(&asked("a.b"), 1).unwrap(), &[1]);
            let at = at % near.len();
            near[at] = byte;
            let _ = answer(&near, &asked("a.b"));
        }
    }
}
