//! What paces packets before the path: a constant rate, or ABR end systems.

use crate::quantity::{Duration, Rate, Share};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// What paces packets before the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// A constant bit rate service: one cell (or frame) a slot of this rate, framing included.
    pub cbr: Rate,
}

/// ABR end systems: a preset, and what differs from it. A preset's name alone will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abr(pub AbrParameters);

/// ABR parameters as source 003 and TM 4.0 name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the parameters' names are the standard's
pub struct AbrParameters {
    pub preset: AbrPreset,
    pub pcr: Option<Rate>,
    pub icr: Option<Rate>,
    pub mcr: Option<Rate>,
    pub air: Option<Rate>,
    /// A divisor.
    pub rdf: Option<u32>,
    /// Cells.
    pub nrm: Option<u32>,
    /// Cells.
    pub mrm: Option<u32>,
    pub trm: Option<Duration>,
    /// Cells a second.
    pub tcr: Option<u32>,
    pub tof: Option<u32>,
    pub tdff: Option<Share>,
    /// Forward RM cells outstanding.
    pub xrm: Option<u32>,
    pub xdf: Option<Share>,
    pub adtf: Option<Duration>,
    pub mark: Option<AbrMark>,
    pub decrease: Option<AbrDecrease>,
    pub idle: Option<AbrIdle>,
}

/// A named set of ABR parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum AbrPreset {
    /// Table 1 of source 003.
    #[serde(rename = "eprca-1995")]
    Eprca1995,
    /// ATM Forum Traffic Management 4.0.
    #[serde(rename = "tm-4.0")]
    Tm40,
}

/// Where an ABR switch marks a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrMark {
    /// On its arrival.
    Arrival,
    /// On its departure.
    Departure,
}

/// When an ABR source decreases its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrDecrease {
    /// On a backward RM cell.
    PerRm,
    /// After each cell sent.
    PerCell,
}

/// What an idle ABR source loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AbrIdle {
    /// Use it or lose it, after TOF·Nrm/ACR.
    Tof,
    /// Back to the initial rate after ADTF (TM 4.0).
    Adtf,
    /// Nothing.
    None,
}

impl<'de> Deserialize<'de> for Abr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AbrVisitor)
    }
}

struct AbrVisitor;

impl<'de> Visitor<'de> for AbrVisitor {
    type Value = Abr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a preset's name, like \"eprca-1995\", or a table with `preset`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Abr, E> {
        let map = [("preset", name)].into_iter();
        AbrParameters::deserialize(de::value::MapDeserializer::new(map)).map(Abr)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Abr, A::Error> {
        AbrParameters::deserialize(de::value::MapAccessDeserializer::new(map)).map(Abr)
    }
}

impl JsonSchema for Abr {
    fn schema_name() -> Cow<'static, str> {
        "Abr".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A preset's name, or a preset and what differs from it.",
            "anyOf": [
                generator.subschema_for::<AbrPreset>(),
                generator.subschema_for::<AbrParameters>(),
            ],
        })
    }
}
