//! The parameters of an ABR connection.

use delaylab_model::path::{AbrDecrease, AbrIdle, AbrMark, AbrParameters, AbrPreset};
use delaylab_model::quantity::{Duration, Rate, Share};
use delaylab_model::refusal::{Refusal, refuse};
use delaylab_model::{PICOS_PER_SECOND, Picos};

/// TM 4.0's transient buffer exposure: cells that may be sent before the first RM cell has come back.
const TBE: u32 = 1 << 24;

/// Bits of a cell.
pub const CELL_BITS: f64 = 424.0;

/// What both ends of a connection agreed on. Rates in cells a second.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // the parameters' names are the standard's
pub struct Parameters {
    pub pcr: f64,
    pub icr: f64,
    pub mcr: f64,
    /// Additive increase for each cell: a backward RM cell adds Nrm·AIR (TM 4.0: RIF·PCR).
    pub air: f64,
    /// A divisor: a backward RM cell takes ACR·Nrm/RDF (TM 4.0: its RDF is Nrm/RDF).
    pub rdf: f64,
    /// Cells.
    pub nrm: u32,
    /// Cells.
    pub mrm: u32,
    pub trm: Picos,
    pub tcr: f64,
    pub tof: f64,
    /// What use-it-or-lose-it takes: this share of ACR for each second.
    pub tdf: f64,
    /// Forward RM cells outstanding (TM 4.0: CRM).
    pub xrm: u32,
    /// (TM 4.0: CDF.)
    pub xdf: f64,
    pub adtf: Picos,
    /// For the switch.
    pub mark: AbrMark,
    pub decrease: AbrDecrease,
    pub idle: AbrIdle,
}

impl Parameters {
    /// A preset as it is, on a link of `line_rate` bit/s.
    ///
    /// `eprca-1995` is Table 1 of source 003; what it leaves open is TM 4.0's. `tm-4.0` has the
    /// specification's defaults, ICR at PCR.
    pub fn preset(preset: AbrPreset, line_rate: u64) -> Self {
        match preset {
            AbrPreset::Eprca1995 => Self::eprca_1995(line_rate),
            AbrPreset::Tm40 => Self::tm_4_0(cells(Rate(line_rate)), 32),
        }
    }

    fn eprca_1995(line_rate: u64) -> Self {
        let pcr = cells(Rate(line_rate.min(155_000_000)));
        Self {
            pcr,
            icr: cells(Rate(10_000_000)).min(pcr),
            mcr: cells(Rate(500_000)).min(pcr),
            air: cells(Rate(18_920)),
            tof: 2.0,
            xrm: 32,
            xdf: 0.5,
            idle: AbrIdle::Tof,
            ..Self::tm_4_0(pcr, 32)
        }
        .with_tdff(0.5)
    }

    /// RIF and RDF are 1/16, of any PCR and with any Nrm.
    fn tm_4_0(pcr: f64, nrm: u32) -> Self {
        Self {
            pcr,
            icr: pcr,
            mcr: 0.0,
            air: pcr / 16.0 / f64::from(nrm),
            rdf: 16.0 * f64::from(nrm),
            nrm,
            mrm: 2,
            trm: PICOS_PER_SECOND / 10,
            tcr: 10.0,
            tof: 2.0,
            tdf: 0.0,
            xrm: TBE.div_ceil(nrm.max(1)),
            xdf: 1.0 / 16.0,
            adtf: PICOS_PER_SECOND / 2,
            mark: AbrMark::Arrival,
            decrease: AbrDecrease::PerRm,
            idle: AbrIdle::Adtf,
        }
        .with_tdff(0.5)
    }

    /// What a file says, checked. `line_rate` is the link's in bit/s and caps PCR; an ICR or MCR that
    /// the file leaves to the preset gives way to PCR, and such an MCR to ICR, too.
    pub fn read(file: &AbrParameters, line_rate: u64) -> Result<Self, Refusal> {
        let preset = Self::preset(file.preset, line_rate);
        let pcr = file.pcr.map_or(preset.pcr, cells);
        let pcr = pcr.min(cells(Rate(line_rate)));
        let preset = match file.preset {
            AbrPreset::Eprca1995 => preset,
            AbrPreset::Tm40 => Self::tm_4_0(pcr, file.nrm.unwrap_or(preset.nrm)),
        };
        let icr = file.icr.map_or(preset.icr.min(pcr), cells);
        let read = Self {
            pcr,
            icr,
            mcr: file.mcr.map_or(preset.mcr.min(pcr).min(icr), cells),
            air: file.air.map_or(preset.air, cells),
            rdf: file.rdf.map_or(preset.rdf, f64::from),
            nrm: file.nrm.unwrap_or(preset.nrm),
            mrm: file.mrm.unwrap_or(preset.mrm),
            trm: file.trm.map_or(preset.trm, Duration::picos),
            tcr: file.tcr.map_or(preset.tcr, f64::from),
            tof: file.tof.map_or(preset.tof, f64::from),
            xrm: file.xrm.unwrap_or(preset.xrm),
            xdf: file.xdf.map_or(preset.xdf, Share::as_f64),
            adtf: file.adtf.map_or(preset.adtf, Duration::picos),
            mark: file.mark.unwrap_or(preset.mark),
            decrease: file.decrease.unwrap_or(preset.decrease),
            idle: file.idle.unwrap_or(preset.idle),
            tdf: 0.0,
        };
        read.check()?;
        Ok(read.with_tdff(file.tdff.map_or(0.5, Share::as_f64)))
    }

    /// The same with an MCR of at most so many bit/s: what a line can promise all its channels. One that was given is not to be
    /// lowered without a word.
    #[must_use]
    pub fn with_mcr_below(self, most: u64) -> Self {
        Self {
            mcr: self.mcr.min(cells(Rate(most))),
            ..self
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        let rules = [
            (self.pcr > 0.0, "pcr", "more than 0, and so the link's rate"),
            (self.icr <= self.pcr, "icr", "at most PCR"),
            (self.mcr <= self.icr, "mcr", "at most ICR"),
            (self.nrm >= 2, "nrm", "at least 2 cells"),
            (self.mrm < self.nrm, "mrm", "less than Nrm"),
            (
                self.rdf >= f64::from(self.nrm),
                "rdf",
                "a divisor of at least Nrm: a backward RM cell takes Nrm/RDF of ACR",
            ),
            (self.xrm >= 1, "xrm", "at least 1"),
            (self.xdf <= 1.0, "xdf", "at most 100%"),
            (self.tcr > 0.0, "tcr", "at least 1 cell a second"),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        match broken {
            Some((_, field, reason)) => refuse(format!("path.abr.{field}"), reason),
            None => Ok(()),
        }
    }

    /// TDF = TDFF/RDF·2^⌈log2 PCR⌉ a second.
    fn with_tdff(self, tdff: f64) -> Self {
        Self {
            tdf: tdff / self.rdf * self.pcr.log2().ceil().exp2(),
            ..self
        }
    }
}

fn cells(rate: Rate) -> f64 {
    rate.0 as f64 / CELL_BITS
}
