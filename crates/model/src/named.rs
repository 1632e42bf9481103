//! Enums whose variants have names.

/// `ALL` and `name` of an enum, in an `impl` of it: a line for each variant, `LocalError "local_error";`.
#[macro_export]
macro_rules! named {
    ($($variant:ident $name:literal;)+) => {
        /// Every one, in this order.
        pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

        /// Its name in files, documents and flags.
        pub const fn name(self) -> &'static str {
            match self {
                $(Self::$variant => $name,)+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::experiment::{Draw, WorldName};
    use crate::hop::Direction;
    use crate::icmp::IcmpReason;
    use crate::load::{self, LoadKind};
    use crate::noise::NoiseKind;
    use crate::path::Software;
    use crate::plan::Unit;
    use crate::probe::HostCondition;
    use crate::record::{ClockEvent, Outcome};
    use crate::request::DnsTransport;
    use serde::de::DeserializeOwned;
    use std::fmt::Debug;

    fn reads<T: DeserializeOwned + PartialEq + Debug>(
        all: impl IntoIterator<Item = (T, &'static str)>,
    ) {
        for (one, name) in all {
            let read: T = toml::Value::from(name).try_into().unwrap();
            assert_eq!(read, one);
        }
    }

    #[test]
    fn names_are_those_that_files_are_read_by() {
        reads(Outcome::ALL.map(|it| (it, it.name())));
        reads(ClockEvent::ALL.map(|it| (it, it.name())));
        reads(Unit::ALL.map(|it| (it, it.name())));
        reads(Draw::ALL.map(|it| (it, it.name())));
        reads(NoiseKind::ALL.map(|it| (it, it.name())));
        reads(IcmpReason::ALL.map(|it| (it, it.name())));
        reads(WorldName::ALL.map(|it| (it, it.name())));
        reads(Direction::ALL.map(|it| (it, it.name())));
        reads(DnsTransport::ALL.map(|it| (it, it.name())));
        reads(HostCondition::ALL.map(|it| (it, it.name())));
        reads(LoadKind::ALL.map(|it| (it, it.name())));
        reads(load::Direction::ALL.map(|it| (it, it.name())));
        reads(Software::ALL.map(|it| (it, it.name())));
    }
}
