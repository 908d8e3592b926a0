//! Certificates that are made for one run.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority that signs the servers' certificates.
#[derive(Clone)]
pub(crate) struct Authority(Arc<CertifiedIssuer<'static, KeyPair>>);

impl Authority {
    pub(crate) fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self(Arc::new(issuer)))
    }

    /// Its own certificate.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Its own key, in PKCS #8.
    pub(crate) fn key_pem(&self) -> String {
        self.0.key().serialize_pem()
    }

    /// Writes a certificate for loopback, as `tls.crt` and `tls.key`.
    pub(crate) fn sign(&self, folder: &Path) -> Result<()> {
        self.sign_for(folder, &["localhost", "127.0.0.1"])
    }

    /// The same for other names.
    pub(crate) fn sign_for(&self, folder: &Path, names: &[&str]) -> Result<()> {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.0)?;
        fs::create_dir_all(folder)?;
        fs::write(folder.join("tls.crt"), certificate.pem())?;
        Ok(fs::write(folder.join("tls.key"), key.serialize_pem())?)
    }
}

/// A key for the API server to sign the tokens of service accounts with, as `service-accounts.key` and `.pub`.
pub(crate) fn signing_key(folder: &Path) -> Result<()> {
    let key = KeyPair::generate()?;
    fs::write(folder.join("service-accounts.key"), key.serialize_pem())?;
    fs::write(folder.join("service-accounts.pub"), key.public_key_pem())?;
    Ok(())
}
