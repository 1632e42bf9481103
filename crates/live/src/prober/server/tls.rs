//! TLS on a connection: whose certificates are believed, and bytes in and out. No input or output of its own.

use delaylab_model::request::Trust;
use delaylab_model::trial::Negotiated;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, DigitallySignedStruct, ProtocolVersion,
    RootCertStore, SignatureScheme,
};
use std::io;
use std::sync::Arc;

/// How every connection of a probe is secured.
#[derive(Debug, Clone)]
pub(super) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Why there is no TLS to be had, in words for people.
pub(super) type NoTls = String;

impl Tls {
    /// For a server of this name or address, which is offered these protocols, the best first.
    pub fn new(host: &str, trust: &Trust, protocols: &[&[u8]]) -> Result<Self, NoTls> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("`{host}` is no name that a certificate can have"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = match trust {
            Trust::Anyone => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
                .with_no_client_auth(),
            Trust::System => builder
                .with_root_certificates(of_system()?)
                .with_no_client_auth(),
            Trust::File(path) => builder
                .with_root_certificates(of_file(path)?)
                .with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|each| each.to_vec()).collect();
        Ok(Self {
            config: Arc::new(config),
            name,
        })
    }

    /// A connection that has said nothing yet.
    pub fn begin(&self) -> io::Result<Secured> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone());
        let connection = connection.map_err(io::Error::other)?;
        Ok(Secured {
            connection,
            record: Record::default(),
            has_ended: false,
        })
    }
}

fn of_system() -> Result<RootCertStore, NoTls> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    match roots.is_empty() {
        true => Err(
            "this host has no certificates of authorities. Install them (Debian: ca-certificates), or name a file with \
             `ca_file` or --cacert"
                .to_owned(),
        ),
        false => Ok(roots),
    }
}

fn of_file(path: &str) -> Result<RootCertStore, NoTls> {
    let unread = |error: rustls::pki_types::pem::Error| format!("cannot read `{path}`: {error}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unread)? {
        let added = roots.add(certificate.map_err(unread)?);
        added
            .map_err(|error| format!("`{path}` has a certificate that cannot be used: {error}"))?;
    }
    match roots.is_empty() {
        true => Err(format!("`{path}` has no certificate in PEM form")),
        false => Ok(roots),
    }
}

/// Believes anyone, and still checks that the peer has the key of the certificate that it shows.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// IANA's name; that of rustls has the version in those of TLS 1.3.
fn iana_name(suite: CipherSuite) -> String {
    format!("{suite:?}").replacen("TLS13_", "TLS_", 1)
}

/// Bytes of a record's header (RFC 8446 §5.1).
const HEADER: usize = 5;

/// How far the record that comes has come.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    header: [u8; HEADER],
    of_header: usize,
    left: usize,
}

/// One connection's TLS.
#[derive(Debug)]
pub(super) struct Secured {
    connection: ClientConnection,
    record: Record,
    has_ended: bool,
}

impl Secured {
    /// The protocol that the server chose of those that it was offered (ALPN, RFC 7301).
    pub fn chosen(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// What the handshake came to.
    pub fn negotiated(&self) -> Negotiated {
        let version = self.connection.protocol_version();
        let suite = self.connection.negotiated_cipher_suite();
        Negotiated {
            http: None,
            tls: version.map(|version| match version {
                ProtocolVersion::TLSv1_2 => "1.2".to_owned(),
                ProtocolVersion::TLSv1_3 => "1.3".to_owned(),
                other => format!("{other:?}"),
            }),
            cipher: suite.map(|suite| iana_name(suite.suite())),
            alpn: self
                .chosen()
                .map(|chosen| String::from_utf8_lossy(chosen).into_owned()),
        }
    }

    /// Has the peer said its last word (close_notify)? Without it what came may have been cut.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// How much to read so that no more comes than one record, or than its header: then the stamp of what was read is that of
    /// its first byte.
    pub fn wants(&self) -> usize {
        match self.record.left {
            0 => HEADER - self.record.of_header,
            left => left,
        }
    }

    /// Is what was read last the beginning of a record?
    pub const fn is_beginning(&self) -> bool {
        self.record.left == 0
    }

    /// Takes what came from the network, and hands over what is in it.
    pub fn take(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), rustls::Error> {
        self.follow(bytes);
        while !bytes.is_empty() {
            // Behind the peer's last word (close_notify) nothing is taken, whatever comes.
            if !matches!(self.connection.read_tls(&mut bytes), Ok(taken) if taken > 0) {
                return Ok(());
            }
            let state = self.connection.process_new_packets()?;
            self.has_ended = state.peer_has_closed();
            let begin = plain.len();
            plain.resize(begin + state.plaintext_bytes_to_read(), 0);
            // As many bytes as there are.
            let _ = io::Read::read_exact(&mut self.connection.reader(), &mut plain[begin..]);
        }
        Ok(())
    }

    /// Counts where records begin and end.
    fn follow(&mut self, mut bytes: &[u8]) {
        let record = &mut self.record;
        while !bytes.is_empty() {
            if record.left == 0 {
                let (header, rest) = bytes.split_at(bytes.len().min(HEADER - record.of_header));
                record.header[record.of_header..record.of_header + header.len()]
                    .copy_from_slice(header);
                record.of_header += header.len();
                bytes = rest;
                if record.of_header == HEADER {
                    let [.., high, low] = record.header;
                    record.left = usize::from(u16::from_be_bytes([high, low]));
                    record.of_header = 0;
                }
            } else {
                let used = bytes.len().min(record.left);
                record.left -= used;
                bytes = &bytes[used..];
            }
        }
    }

    /// Seals what is to be sent.
    pub fn seal(&mut self, plain: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.connection.writer(), plain)
    }

    /// Appends what is to go out.
    pub fn pour(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // Writing to a Vec does not fail.
            if !self
                .connection
                .write_tls(out)
                .is_ok_and(|written| written > 0)
            {
                return;
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustls::{ServerConfig, ServerConnection};

    pub fn server() -> ServerConnection {
        let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![key.cert.der().clone()],
                key.signing_key.serialize_der().try_into().unwrap(),
            )
            .unwrap();
        ServerConnection::new(Arc::new(config)).unwrap()
    }

    /// What follows the server's last word ends nothing, and is not waited for without end.
    #[test]
    fn bytes_behind_the_last_word_are_left() {
        let mut server = server();
        let tls = Tls::new("localhost", &Trust::Anyone, &[b"http/1.1"]).unwrap();
        let mut secured = tls.begin().unwrap();
        let mut plain = Vec::new();
        while secured.is_handshaking() || server.is_handshaking() {
            let mut out = Vec::new();
            secured.pour(&mut out);
            server.read_tls(&mut &out[..]).unwrap();
            server.process_new_packets().unwrap();
            let mut back = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut back).unwrap();
            }
            secured.take(&back, &mut plain).unwrap();
        }
        io::Write::write_all(&mut server.writer(), b"reply").unwrap();
        server.send_close_notify();
        let mut last = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut last).unwrap();
        }
        last.extend_from_slice(b"\x17\x03\x03\x00\x02no and more");
        secured.take(&last[..5], &mut plain).unwrap();
        secured.take(&last[5..], &mut plain).unwrap();
        secured.take(b"more", &mut plain).unwrap();
        assert_eq!(plain, b"reply");
        assert!(secured.has_ended());
    }
}
