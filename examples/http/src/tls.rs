//! TLS: certificates, by [rustls](https://docs.rs/rustls).

use std::{fmt::Display, io, path::Path, sync::Arc};

use futures_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// Reads a chain of certificates and its private key, both as PEM.
///
/// # Errors
/// Returns an error that names the file, if it cannot be read or used.
pub(crate) fn acceptor(chain: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(chain, error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| unusable(chain, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unusable(path: &Path, error: impl Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
