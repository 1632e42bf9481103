//! A column of a table, and what its name says that it is.

use super::marks::Mark;
use super::outcome::About;
use super::unit;
use delaylab_model::Nanos;
use delaylab_model::method::Method;

/// A column.
pub struct Column {
    pub name: String,
    pub role: Role,
    /// What stands before the decimals of its numbers, where they tell.
    pub mark: Option<Mark>,
}

/// What a column says of a packet.
#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    /// Its delay, there and back or one way.
    Delay(Unit, Method),
    /// When it was sent.
    Sent(Unit),
    /// When its reply was read.
    Read(Unit),
    /// Its number.
    Seq,
    /// Of which stream it is.
    Stream,
    /// Whether it was answered.
    Outcome(About),
    /// The reply's TTL.
    Ttl,
    /// Bytes of its IP packet.
    Size,
    /// Nothing that is read.
    Unread,
}

impl Role {
    pub const fn is_delay(self) -> bool {
        matches!(self, Role::Delay(..))
    }
}

/// What a column's numbers count.
#[derive(Clone, Copy, PartialEq)]
pub enum Unit {
    /// So many nanoseconds each.
    Is(Nanos),
    /// So many nanoseconds each, since 1970.
    Epoch(Nanos),
    /// They are dates.
    Date,
    /// They are dates whose time of day is in another column, which has [`Unit::TimeOfDay`].
    Day,
    /// They are times of day.
    TimeOfDay,
}

/// What a name means before its unit is known.
#[derive(Clone, Copy)]
pub enum Meaning {
    Delay(Method),
    Sent,
    Read,
    Is(Role),
}

/// Rows of [`NAMES`], a line each.
macro_rules! names {
    ($($meaning:expr, $names:literal;)*) => {
        [$(($meaning, $names)),*]
    };
}

/// What columns are called, each name in lower case.
const NAMES: [(Meaning, &str); 12] = names! {
    Meaning::Delay(Method::Icmp), "rtt round_trip roundtrip round_trip_time latency delay ping response_time response ping_time rtt_val lat";
    Meaning::Delay(Method::Frame), "owd one_way_delay oneway one_way";
    Meaning::Sent, "time timestamp t ts date datetime epoch unix unixtime unix_time sent sent_at send_time t_send start when";
    Meaning::Read, "received received_at recv recv_time t_recv rx_time";
    Meaning::Is(Role::Seq), "seq sequence n icmp_seq packet index number no i seqno";
    Meaning::Is(Role::Stream), "host target dst destination address addr stream server ip name";
    Meaning::Is(Role::Outcome(About::Answered)), "ok success answered alive";
    Meaning::Is(Role::Outcome(About::Status)), "status outcome result";
    Meaning::Is(Role::Outcome(About::Lost)), "lost loss error";
    Meaning::Is(Role::Outcome(About::Timeout)), "timeout";
    Meaning::Is(Role::Ttl), "ttl hop_limit hlim";
    Meaning::Is(Role::Size), "size ip_size packet_size size_b size_bytes ip_bytes";
};

/// A name as its meaning and its unit: `RTT (ms)`, `rtt_ms`, `latency-us`.
pub fn meaning(name: &str) -> Option<(Meaning, Option<Nanos>)> {
    let lower = name.trim().to_lowercase();
    let plain: String = lower
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect();
    let plain = plain.trim_matches('_');
    let known = |name: &str| {
        let is_one = |(_, names): &&(_, &str)| names.split(' ').any(|known| known == name);
        let of = NAMES.iter().find(is_one);
        of.map(|(meaning, _)| *meaning)
    };
    if let Some(meaning) = known(plain) {
        return Some((meaning, None));
    }
    let (before, behind) = plain.rsplit_once('_')?;
    let unit = unit::by_name(behind)?;
    Some((known(before.trim_end_matches('_'))?, Some(unit)))
}

/// Is it a name of something?
pub fn is_known(name: &str) -> bool {
    meaning(name).is_some()
}

/// Is it a name of a delay?
pub fn is_delay(name: &str) -> bool {
    matches!(meaning(name), Some((Meaning::Delay(_), _)))
}
