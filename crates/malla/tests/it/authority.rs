//! An authority of the tests that signs certificates for localhost. Whom nobody told of it does not trust it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Certified {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    /// Two with the same name would claim to be the same.
    pub(crate) fn named(name: &str) -> Self {
        let mut params = params(&[], name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority"))
    }

    /// Writes the file that tells of it, for `SSL_CERT_FILE` and the like.
    pub(crate) fn write_to(&self, directory: &Path) -> PathBuf {
        let file = directory.join("authority.pem");
        std::fs::write(&file, self.0.pem()).expect("written");
        file
    }

    pub(crate) fn certify(&self) -> Certified {
        let key = KeyPair::generate().expect("a key");
        let params = params(&["localhost"], "localhost");
        Certified { certificate: params.signed_by(&key, &self.0).expect("a certificate"), key }
    }
}

fn params(hosts: &[&str], name: &str) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Certified {
    /// Writes `cert.pem` and `key.pem`.
    pub(crate) fn write_to(&self, directory: &Path) {
        std::fs::write(directory.join("cert.pem"), self.certificate.pem()).expect("written");
        std::fs::write(directory.join("key.pem"), self.key.serialize_pem()).expect("written");
    }

    /// For a server that shows it.
    pub(crate) fn server(&self) -> Arc<rustls::ServerConfig> {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.der().clone()], key)
            .expect("a server");
        Arc::new(config)
    }
}
