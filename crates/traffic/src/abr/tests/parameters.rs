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
