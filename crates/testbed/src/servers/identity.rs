//! Certificates for the names of a testbed, of an authority that nobody else believes.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::collections::BTreeSet;

/// A key, its certificate, and who signed it, as PEM.
#[derive(Debug)]
pub struct Identity {
    /// The authority's certificate.
    pub authority: String,
    /// That of all names.
    pub certificate: String,
    /// Its key (P-256).
    pub key: String,
}

impl Identity {
    /// For these names and addresses.
    ///
    /// # Errors
    /// One of them is no name.
    pub fn new(names: &BTreeSet<String>) -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let own = CertificateParams::new(names.iter().cloned().collect::<Vec<_>>())?;
        let key = KeyPair::generate()?;
        Ok(Self {
            authority: issuer.pem(),
            certificate: own.signed_by(&key, &issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }
}
