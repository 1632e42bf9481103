use super::super::*;
use super::{eprca, near};
use delaylab_model::path::{Abr, AbrParameters, AbrPreset};
use delaylab_model::quantity::{Rate, Share};

fn file(preset: AbrPreset) -> AbrParameters {
    AbrParameters {
        preset,
        pcr: None,
        icr: None,
        mcr: None,
        air: None,
        rdf: None,
        nrm: None,
        mrm: None,
        trm: None,
        tcr: None,
        tof: None,
        tdff: None,
        xrm: None,
        xdf: None,
        adtf: None,
        mark: None,
        decrease: None,
        idle: None,
    }
}

const OC3: u64 = 155_520_000;

#[test]
fn table_1_decoded() {
    let read = Parameters::read(&Abr(file(AbrPreset::Eprca1995)).0, OC3).unwrap();
    assert_eq!(read, eprca());
    assert!(near(read.pcr, 155e6 / 424.0) && near(read.icr, 10e6 / 424.0));
    // Nrm·AIR is PCR/256 within the printed digits.
    assert!((32.0 * read.air * 256.0 / read.pcr - 1.0).abs() < 1e-4);
    assert_eq!(read.tdf, 512.0);
    assert_eq!((read.nrm, read.mrm, read.xrm, read.rdf), (32, 2, 32, 512.0));
}

#[test]
fn the_line_caps_pcr_and_the_presets_rates_give_way() {
    let slow = Parameters::read(&file(AbrPreset::Eprca1995), 8_000_000).unwrap();
    assert_eq!((slow.pcr, slow.icr), (8e6 / 424.0, 8e6 / 424.0));
    let tm = Parameters::read(&file(AbrPreset::Tm40), OC3).unwrap();
    assert_eq!((tm.icr, tm.mcr), (tm.pcr, 0.0));
    let capped = AbrParameters {
        pcr: Some(Rate(1_000_000_000)),
        ..file(AbrPreset::Tm40)
    };
    assert_eq!(Parameters::read(&capped, OC3).unwrap().pcr, tm.pcr);
}

/// TM 4.0 §5.10.4: RIF of PCR is added, RDF of ACR is taken, and TBE cells may be out, however Nrm is set.
#[test]
fn shares_of_the_specification_are_of_the_pcr_and_nrm_that_were_set() {
    for nrm in [None, Some(8), Some(256)] {
        let set = AbrParameters {
            pcr: Some(Rate(10_000_000)),
            nrm,
            ..file(AbrPreset::Tm40)
        };
        let read = Parameters::read(&set, OC3).unwrap();
        let nrm = f64::from(read.nrm);
        assert!(near(nrm * read.air, read.pcr / 16.0), "{read:?}");
        assert!(near(nrm / read.rdf, 1.0 / 16.0), "{read:?}");
        assert!(
            near(nrm * f64::from(read.xrm), f64::from(1 << 24)),
            "{read:?}"
        );
    }
    // Table 1 gives rates and divisors as they are.
    let eprca = AbrParameters {
        nrm: Some(16),
        ..file(AbrPreset::Eprca1995)
    };
    let read = Parameters::read(&eprca, OC3).unwrap();
    assert_eq!((read.rdf, read.xrm), (512.0, 32));
}

#[test]
fn an_mcr_of_the_preset_gives_way_to_an_icr_that_is_given() {
    let slow = AbrParameters {
        icr: Some(Rate(100_000)),
        ..file(AbrPreset::Eprca1995)
    };
    let read = Parameters::read(&slow, OC3).unwrap();
    assert_eq!(read.mcr, read.icr);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let base = file(AbrPreset::Eprca1995);
    let rate = |mbit: u64| Some(Rate(mbit * 1_000_000));
    let wrong = [
        (
            "pcr",
            AbrParameters {
                pcr: rate(0),
                ..base
            },
        ),
        (
            "icr",
            AbrParameters {
                icr: rate(156),
                ..base
            },
        ),
        (
            "mcr",
            AbrParameters {
                mcr: rate(11),
                ..base
            },
        ),
        (
            "nrm",
            AbrParameters {
                nrm: Some(0),
                ..base
            },
        ),
        (
            "mrm",
            AbrParameters {
                mrm: Some(32),
                ..base
            },
        ),
        (
            "rdf",
            AbrParameters {
                rdf: Some(0),
                ..base
            },
        ),
        (
            "xrm",
            AbrParameters {
                xrm: Some(0),
                ..base
            },
        ),
        (
            "xdf",
            AbrParameters {
                xdf: Some(Share(2_000_000_000)),
                ..base
            },
        ),
        (
            "tcr",
            AbrParameters {
                tcr: Some(0),
                ..base
            },
        ),
    ];
    for (field, parameters) in wrong {
        let error = Parameters::read(&parameters, OC3).unwrap_err();
        assert_eq!(error.field, format!("path.abr.{field}"));
    }
}
