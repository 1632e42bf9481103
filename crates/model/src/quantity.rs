//! Quantities as an experiment file has them: text with a unit, kept as a whole number.
//!
//! They are read by [`crate::units`]: a bare number is refused where a unit is owed. A traffic class
//! is beside them because a file has its name, where records have its code point.

use crate::dscp::Dscp;
use crate::units::{UnitError, format_duration, parse_duration, parse_rate, parse_size};
use crate::{Nanos, PICOS_PER_NANO, Picos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A duration in nanoseconds: `"20ms"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(pub Nanos);

impl Duration {
    /// In picoseconds; what is below zero is zero.
    pub fn picos(self) -> Picos {
        self.0.max(0).unsigned_abs().saturating_mul(PICOS_PER_NANO)
    }
}

/// A size in bytes: `"64B"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

/// A rate in bits a second: `"10Mbit/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

/// A share in parts of 10⁹: `"49.8%"`. May exceed the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(pub u64);

impl Share {
    /// All of it: 100 %.
    pub const WHOLE: Share = Share(1_000_000_000);

    /// So many hundredths.
    pub const fn of_percent(percent: u64) -> Self {
        Share(percent * 10_000_000)
    }

    /// 1 is the whole.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::WHOLE.0 as f64
    }
}

/// How much a queue holds, or from where on it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Bytes: `"64KiB"`.
    Bytes(u64),
    /// ATM cells: `"13000cells"`.
    Cells(u64),
    /// Packets: `"1000packets"`.
    Packets(u64),
    /// A share of the buffer: `"50%"`.
    Share(Share),
    /// No limit: `"unlimited"`.
    Unlimited,
}

/// A traffic class: `"ef"`, or its code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Class(pub Dscp);

/// A quantity that is written as a number and a unit.
trait Quantity: Sized {
    const NAME: &'static str;
    const EXPECTS: &'static str;
    fn read(text: &str) -> Result<Self, UnitError>;
}

impl Quantity for Duration {
    const NAME: &'static str = "Duration";
    const EXPECTS: &'static str = "a duration with its unit, like \"20ms\"";
    fn read(text: &str) -> Result<Self, UnitError> {
        parse_duration(text).map(Self)
    }
}

impl Quantity for Size {
    const NAME: &'static str = "Size";
    const EXPECTS: &'static str = "a size with its unit, like \"64B\"";
    fn read(text: &str) -> Result<Self, UnitError> {
        parse_size(text).map(Self)
    }
}

impl Quantity for Rate {
    const NAME: &'static str = "Rate";
    const EXPECTS: &'static str = "a rate with its unit, like \"10Mbit/s\"";
    fn read(text: &str) -> Result<Self, UnitError> {
        parse_rate(text).map(Self)
    }
}

impl Quantity for Share {
    const NAME: &'static str = "Share";
    const EXPECTS: &'static str = "a share, like \"50%\"";
    fn read(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let percent = text.strip_suffix('%').map(|number| (number, 7));
        let parts = percent.or_else(|| Some((text.strip_suffix("ppm")?, 3)));
        parts
            .and_then(|(number, digits)| scaled(number.trim(), digits).map(Self))
            .ok_or_else(|| unlike::<Self>(text))
    }
}

impl Quantity for Limit {
    const NAME: &'static str = "Limit";
    const EXPECTS: &'static str =
        "a limit, like \"64KiB\", \"13000cells\", \"1000packets\", \"50%\" or \"unlimited\"";
    fn read(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let counted = |unit: &str| {
            let number = trimmed.strip_suffix(unit)?;
            scaled(number.trim_end(), 0)
        };
        if trimmed == "unlimited" {
            Ok(Self::Unlimited)
        } else if let Some(cells) = counted("cells").or_else(|| counted("cell")) {
            Ok(Self::Cells(cells))
        } else if let Some(packets) = counted("packets").or_else(|| counted("packet")) {
            Ok(Self::Packets(packets))
        } else if trimmed.ends_with('%') {
            Share::read(trimmed).map(Self::Share)
        } else {
            parse_size(text)
                .map(Self::Bytes)
                .map_err(|error| match error {
                    // Some units of limits are none of sizes.
                    UnitError::NotANumber { .. } | UnitError::UnknownUnit { .. } => {
                        unlike::<Self>(text)
                    }
                    other => other,
                })
        }
    }
}

fn unlike<Q: Quantity>(text: &str) -> UnitError {
    UnitError::Unlike {
        text: text.to_owned(),
        expected: Q::EXPECTS,
    }
}

/// A decimal number times 10^`digits`, if that is whole and fits. Exact.
fn scaled(number: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > digits || !plain(whole) || !plain(fraction) {
        return None;
    }
    format!("{whole}{fraction:0<digits$}").parse().ok()
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format_duration(self.0))
    }
}

struct QuantityVisitor<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTS)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        Q::read(text).map_err(E::custom)
    }

    // A bare number: the reader of text knows which unit it owes.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Q, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! in_files {
    ($($quantity:ident)*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(PhantomData))
            }
        }

        impl std::str::FromStr for $quantity {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                Self::read(text)
            }
        }

        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": Self::EXPECTS })
            }
        }
    )*};
}

in_files!(Duration Size Rate Share Limit);

struct ClassVisitor;

impl Visitor<'_> for ClassVisitor {
    type Value = Class;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a traffic class, like \"ef\", or a code point from 0 to 63")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Class, E> {
        text.parse().map(Class).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Class, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ClassVisitor)
    }
}

impl JsonSchema for Class {
    fn schema_name() -> Cow<'static, str> {
        "Class".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A traffic class by its RFC name, like \"ef\", or its code point.",
            "anyOf": [
                { "type": "string" },
                { "type": "integer", "minimum": 0, "maximum": 63 },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wrong_limit_names_every_unit_of_limits() {
        for wrong in ["1.5packets", "100pkts", "many"] {
            let why = wrong.parse::<Limit>().unwrap_err().to_string();
            assert!(why.contains("1000packets") && why.contains("50%"), "{why}");
        }
    }

    #[test]
    fn shares_are_exact() {
        assert_eq!("49.8%".parse(), Ok(Share(498_000_000)));
        assert_eq!("100 %".parse(), Ok(Share::WHOLE));
        assert_eq!("0.0000001%".parse(), Ok(Share(1)));
        assert_eq!("100ppm".parse(), Ok(Share(100_000)));
        assert_eq!("0.001 ppm".parse(), Ok(Share(1)));
        for wrong in [
            "50",
            "%",
            "-1%",
            "1e2%",
            "0.00000001%",
            "0.0001ppm",
            "ppm",
            "99999999999999999999%",
        ] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_say_what_they_count() {
        assert_eq!("13000cells".parse(), Ok(Limit::Cells(13_000)));
        assert_eq!("1 packet".parse(), Ok(Limit::Packets(1)));
        assert_eq!("64KiB".parse(), Ok(Limit::Bytes(65_536)));
        assert_eq!("unlimited".parse(), Ok(Limit::Unlimited));
        assert_eq!("1%".parse(), Ok(Limit::Share(Share(10_000_000))));
        let bare = "500".parse::<Limit>().unwrap_err();
        assert!(bare.to_string().contains("no unit"), "{bare}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (text.parse::<Share>(), text.parse::<Limit>());
        }
    }
}
