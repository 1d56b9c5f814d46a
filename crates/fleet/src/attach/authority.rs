//! The certificates of one run: an authority, the coordinator, the workers. Only the two leaves' keys outlive this file.

use std::io;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ServerConfig};

use super::{SERVER_NAME, Ticket, random};

/// What both sides of one run believe.
#[derive(Debug)]
pub(crate) struct Authority {
    /// The coordinator's side.
    pub(crate) server: Arc<ServerConfig>,
    /// What workers get.
    pub(crate) ticket: Ticket,
}

impl Authority {
    /// Makes all of it anew.
    ///
    /// # Errors
    /// That no key could be made.
    pub(crate) fn new() -> io::Result<Self> {
        let mut params = named("authority of one run")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let authority = params.self_signed(&key).map_err(io::Error::other)?.der().to_vec();
        let issuer = Issuer::new(params, key);
        let (certificate, key) = leaf(&issuer, "coordinator", ExtendedKeyUsagePurpose::ServerAuth)?;
        let server = server(&authority, certificate, key)?;
        let (certificate, key) = leaf(&issuer, "worker", ExtendedKeyUsagePurpose::ClientAuth)?;
        let ticket = Ticket { authority, certificate, key, token: random()? };
        Ok(Authority { server: Arc::new(server), ticket })
    }
}

fn named(name: &str) -> io::Result<CertificateParams> {
    let mut params = CertificateParams::new([SERVER_NAME.to_owned()]).map_err(io::Error::other)?;
    params.distinguished_name.push(DnType::CommonName, format!("Assay: {name}"));
    Ok(params)
}

/// A certificate of the issuer, and its key.
fn leaf(
    issuer: &Issuer<'_, KeyPair>,
    name: &str,
    purpose: ExtendedKeyUsagePurpose,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut params = named(name)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let certificate = params.signed_by(&key, issuer).map_err(io::Error::other)?;
    Ok((certificate.der().to_vec(), key.serialize_der()))
}

fn roots(authority: &[u8]) -> io::Result<Arc<RootCertStore>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.to_vec())).map_err(io::Error::other)?;
    Ok(Arc::new(roots))
}

fn key_of(key: Vec<u8>) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key))
}

fn server(authority: &[u8], certificate: Vec<u8>, key: Vec<u8>) -> io::Result<ServerConfig> {
    let provider = Arc::new(default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(authority)?, Arc::clone(&provider));
    let verifier = verifier.build().map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.into()], key_of(key))
        .map_err(io::Error::other)?;
    // A worker that comes again shows its certificate again.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// The worker's side.
///
/// # Errors
/// That the ticket holds no certificates.
pub(super) fn client(ticket: &Ticket) -> io::Result<Arc<ClientConfig>> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?
        .with_root_certificates(roots(&ticket.authority)?)
        .with_client_auth_cert(vec![ticket.certificate.clone().into()], key_of(ticket.key.clone()))
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
