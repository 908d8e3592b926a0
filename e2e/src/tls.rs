//! Certificates that are made for one run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::deploy::base64;

/// An authority that signs the servers' certificates.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, on disk.
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer })
    }

    /// Its own certificate.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Its own key, as Go's `ParseECPrivateKey` reads it: RFC 5915 in PEM, with the name of the curve.
    pub(crate) fn key_pem(&self) -> Result<String> {
        // What rcgen writes is PKCS #8, where a key of P-256 stands at a fixed place: 32 bytes, then the public key.
        let pkcs8 = self.issuer.key().serialize_der();
        let (Some(private), Some(public)) = (pkcs8.get(36..68), pkcs8.get(68..138)) else {
            bail!("a key of another form");
        };
        let head = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
        let curve = [
            0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
        ];
        let key = base64(&[&head, private, &curve, public].concat());
        Ok(format!(
            "-----BEGIN EC PRIVATE KEY-----\n{key}\n-----END EC PRIVATE KEY-----\n"
        ))
    }

    /// Writes a certificate for loopback, as `tls.crt` and `tls.key`.
    pub(crate) fn sign(&self, folder: &Path) -> Result<Files> {
        self.sign_for(folder, &["localhost", "127.0.0.1"])
    }

    /// The same for other names.
    pub(crate) fn sign_for(&self, folder: &Path, names: &[&str]) -> Result<Files> {
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.issuer)?;
        let files = Files {
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
        };
        fs::create_dir_all(folder)?;
        fs::write(&files.certificate, certificate.pem())?;
        fs::write(&files.key, key.serialize_pem())?;
        Ok(files)
    }
}

/// A key for the API server to sign the tokens of service accounts with, as `service-accounts.key` and `.pub`.
pub(crate) fn signing_key(folder: &Path) -> Result<()> {
    let key = KeyPair::generate()?;
    fs::write(folder.join("service-accounts.key"), key.serialize_pem())?;
    fs::write(folder.join("service-accounts.pub"), key.public_key_pem())?;
    Ok(())
}
