//! Values with units and names, read from flags.

use delaylab_model::Nanos;
use delaylab_model::dscp::Dscp;
use delaylab_model::method::Method;
use delaylab_model::probe::{DontFragment, Fill, HostCondition, StampRequest, WaitMode};
use delaylab_model::request::{Close, DnsTransport, HttpVersion};
use delaylab_model::units::{self, UnitError};
use delaylab_runner::target::AddressFamily;

/// The family that `-4` and `-6` ask for.
pub const fn family(v4: bool, v6: bool) -> AddressFamily {
    match (v4, v6) {
        (true, _) => AddressFamily::V4,
        (_, true) => AddressFamily::V6,
        _ => AddressFamily::Any,
    }
}

/// A duration with its unit.
pub fn duration(text: &str) -> Result<Nanos, UnitError> {
    units::parse_duration(text)
}

/// A duration that is not zero.
pub fn positive_duration(text: &str) -> Result<Nanos, String> {
    match units::parse_duration(text) {
        Ok(0) => Err("must be more than 0".to_owned()),
        Ok(ns) => Ok(ns),
        Err(error) => Err(error.to_string()),
    }
}

/// A size with its unit, as far as any packet goes.
pub fn size(text: &str) -> Result<u32, String> {
    let bytes = units::parse_size(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).map_err(|_| format!("`{text}` is more than any packet holds"))
}

/// A rate with its unit, in bits a second.
pub fn rate(text: &str) -> Result<u64, UnitError> {
    units::parse_rate(text)
}

/// A traffic class by name or code point.
pub fn class(text: &str) -> Result<Dscp, String> {
    text.parse()
        .map_err(|error: delaylab_model::dscp::DscpError| error.to_string())
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
        None => class(text).map(|class| (class, 0)).map_err(|_| {
            format!(
                "`{text}` is neither a TOS byte (0 to 255, or 0x00 to 0xff) nor a traffic class"
            )
        }),
    }
}

/// ECN bits by their RFC 3168 names or as 0 to 3.
pub fn ecn(text: &str) -> Result<u8, String> {
    match text.to_ascii_lowercase().as_str() {
        "not-ect" | "0" => Ok(0),
        "ect1" | "1" => Ok(1),
        "ect0" | "2" => Ok(2),
        "ce" | "3" => Ok(3),
        _ => Err(format!(
            "`{text}` is not an ECN codepoint: use not-ect, ect0, ect1 or ce"
        )),
    }
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
        pub fn $function() -> impl clap::builder::TypedValueParser<Value = $type> {
            use clap::builder::{PossibleValuesParser, TypedValueParser};
            PossibleValuesParser::new([$($name),+]).map(|name| match name.as_str() {
                $($name => $value,)+
                _ => unreachable!("clap lets only the names above through"),
            })
        }
    };
}

/// Probe methods that are answered.
pub fn method() -> impl clap::builder::TypedValueParser<Value = Method> {
    one_of(Method::asking())
}

/// One of these methods, by its name.
fn one_of(
    methods: impl Iterator<Item = Method>,
) -> impl clap::builder::TypedValueParser<Value = Method> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names: Vec<_> = methods.map(Method::name).collect();
    PossibleValuesParser::new(names).map(|name| {
        let mut all = Method::ALL.into_iter();
        let named = all.find(|method| method.name() == name);
        named.unwrap_or_else(|| unreachable!("clap lets only the names above through"))
    })
}

/// Methods whose packets have the size that is asked for, and a delay that is the path's.
pub fn cells_method() -> impl clap::builder::TypedValueParser<Value = Method> {
    one_of([Method::Icmp, Method::Udp].into_iter())
}

/// Methods that a path can be traced by.
pub fn trace_method() -> impl clap::builder::TypedValueParser<Value = Method> {
    let own = [Method::Udp, Method::Icmp, Method::Tcp];
    let asking = [Method::TcpConnect, Method::Http, Method::Dns];
    one_of(own.into_iter().chain(asking))
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
    /// What carries a question to a name server.
    dns_transport -> DnsTransport { "udp" => DnsTransport::Udp, "tcp" => DnsTransport::Tcp, "tls" => DnsTransport::Tls }
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
names! {
    /// Host conditions.
    condition -> HostCondition {
        "normal" => HostCondition::Normal, "quiet" => HostCondition::Quiet,
        "stressed" => HostCondition::Stressed,
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
