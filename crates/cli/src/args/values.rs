//! Values with units and names, read from flags.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use delaylab_model::Nanos;
use delaylab_model::dscp::{Dscp, ecn_name};
use delaylab_model::experiment::WorldName;
use delaylab_model::family::Family;
use delaylab_model::method::Method;
use delaylab_model::probe::{DontFragment, Fill, HostCondition, StampRequest, WaitMode};
use delaylab_model::request::{Close, DnsTransport, HttpVersion};
use delaylab_model::units;

/// The family that `-4` and `-6` ask for.
pub const fn family(v4: bool, v6: bool) -> Family {
    match (v4, v6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    }
}

/// A duration that is not zero.
pub fn positive_duration(text: &str) -> Result<Nanos, String> {
    positive(units::parse_duration(text).map_err(|error| error.to_string())?)
}

/// A rate that is not zero.
pub fn positive_rate(text: &str) -> Result<u64, String> {
    positive(units::parse_rate(text).map_err(|error| error.to_string())?)
}

/// A size that is not zero.
pub fn positive_size(text: &str) -> Result<u32, String> {
    positive(size(text)?)
}

fn positive<T: Default + PartialEq>(value: T) -> Result<T, String> {
    match value == T::default() {
        true => Err("must be more than 0".to_owned()),
        false => Ok(value),
    }
}

/// A size with its unit, as far as any packet goes.
pub fn size(text: &str) -> Result<u32, String> {
    let bytes = units::parse_size(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).map_err(|_| format!("`{text}` is more than any packet holds"))
}

/// A TOS byte as `ping -Q` takes it: decimal, 0x hexadecimal, or a class by name.
pub fn tos(text: &str) -> Result<(Dscp, u8), String> {
    let lower = text.to_ascii_lowercase();
    let number = match lower.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => lower.parse().ok(),
    };
    match number {
        Some(byte) => Ok(Dscp::from_traffic_class(byte)),
        None => text.parse().map(|class: Dscp| (class, 0)).map_err(|_| {
            format!(
                "`{text}` is neither a TOS byte (0 to 255, or 0x00 to 0xff) nor a traffic class"
            )
        }),
    }
}

/// ECN bits by their RFC 3168 names or as 0 to 3.
pub fn ecn(text: &str) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    let named = (0..4).find(|&bits| ecn_name(bits) == lower || bits.to_string() == lower);
    named.ok_or_else(|| format!("`{text}` is not an ECN codepoint: use not-ect, ect0, ect1 or ce"))
}

/// Bytes in hexadecimal, as `ping -p` takes them.
pub fn pattern(text: &str) -> Result<Fill, String> {
    Fill::hexadecimal(text)
        .ok_or_else(|| format!("`{text}` is not hexadecimal: write pairs of digits, like ff00"))
}

/// Makes a clap value parser of names.
macro_rules! names {
    ($(#[$doc:meta])* $function:ident -> $type:ty { $($name:literal => $value:expr),+ $(,)? }) => {
        $(#[$doc])*
        pub fn $function() -> impl TypedValueParser<Value = $type> {
            PossibleValuesParser::new([$($name),+]).map(|name| match name.as_str() {
                $($name => $value,)+
                _ => unreachable!("clap lets only the names above through"),
            })
        }
    };
}

/// Probe methods that are answered.
pub fn method() -> impl TypedValueParser<Value = Method> {
    one_of(Method::asking(), Method::name)
}

/// One of these, by its name.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<T> = all.into_iter().collect();
    let names: Vec<_> = all.iter().map(|&one| name(one)).collect();
    PossibleValuesParser::new(names).map(move |typed| {
        let named = all.iter().find(|&&one| name(one) == typed);
        *named.unwrap_or_else(|| unreachable!("clap lets only the names above through"))
    })
}

/// Methods whose packets have the size that is asked for, and a delay that is the path's.
pub fn cells_method() -> impl TypedValueParser<Value = Method> {
    one_of([Method::Icmp, Method::Udp], Method::name)
}

/// Methods that a path can be traced by.
pub fn trace_method() -> impl TypedValueParser<Value = Method> {
    one_of(
        Method::asking().filter(|method| method.traces()),
        Method::name,
    )
}

/// What carries a question to a name server.
pub fn dns_transport() -> impl TypedValueParser<Value = DnsTransport> {
    one_of(DnsTransport::ALL, DnsTransport::name)
}

/// Host conditions.
pub fn condition() -> impl TypedValueParser<Value = HostCondition> {
    one_of(HostCondition::ALL, HostCondition::name)
}

/// Worlds.
pub fn world() -> impl TypedValueParser<Value = WorldName> {
    one_of(WorldName::ALL, WorldName::name)
}
names! {
    /// Modes of path MTU discovery.
    dont_fragment -> DontFragment {
        "do" => DontFragment::Do, "want" => DontFragment::Want, "dont" => DontFragment::Dont,
        "probe" => DontFragment::Probe,
    }
}
names! {
    /// Versions of HTTP.
    http_version -> HttpVersion { "1.1" => HttpVersion::One, "2" => HttpVersion::Two, "best" => HttpVersion::Best }
}
names! {
    /// Ways to end a connection.
    close -> Close { "fin" => Close::Fin, "rst" => Close::Rst }
}
names! {
    /// Ways to wait.
    wait_mode -> WaitMode { "block" => WaitMode::Block, "spin" => WaitMode::Spin }
}
names! {
    /// Stamps to ask for.
    stamps -> StampRequest {
        "none" => StampRequest::None, "software" => StampRequest::Software,
        "hardware" => StampRequest::Hardware,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tos_bytes_and_classes() {
        assert_eq!(tos("0xb8").unwrap(), ("ef".parse().unwrap(), 0));
        assert_eq!(tos("185").unwrap(), ("ef".parse().unwrap(), 1));
        assert_eq!(tos("ef").unwrap(), ("ef".parse().unwrap(), 0));
        assert!(tos("256").is_err());
        assert!(tos("gold").is_err());
    }

    #[test]
    fn patterns_are_pairs_of_digits() {
        assert_eq!(pattern("ff00").unwrap(), Fill::Pattern(vec![255, 0]));
        for wrong in ["", "f", "xy", "é0"] {
            assert!(pattern(wrong).is_err(), "{wrong}");
        }
    }
}
