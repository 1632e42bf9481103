//! A web server that does as the path of a request says, and knows how long it took.
//!
//! | path | what it does |
//! |---|---|
//! | `/think/20` | waits 20 ms, then replies |
//! | `/lazy/20` | the same, and its kernel acknowledges late |
//! | `/body/20` | sends the head, waits 20 ms, sends the body |
//! | `/hints/20` | sends an interim reply, waits 20 ms, replies |
//! | `/page/5000` | a body of 5000 bytes |
//! | `/garbage`, `/old` | what is no HTTP, a page without a head (HTTP/0.9) |
//! | `/reset`, `/close` | ends the connection in the middle, without a reply |
//! | `/head` | a head that does not end |
//! | `/interim`, `/chunks` | interim replies without end, chunks without end |
//! | `/silent` | nothing |
//!
//! By HTTP/2 it does what [`super::http2_server`] has.

use super::http2_server;
use delaylab_kernel::clock;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long one reply took the server: from when its request had been read to when its head was written; of one whose body comes
/// later, from head to body.
pub type Truth = i64;

/// A server on a thread. It goes on until the test process ends, which is soon.
pub struct WebServer {
    pub at: SocketAddr,
    truths: Arc<Mutex<Vec<Truth>>>,
}

/// What it shows who asks by TLS.
pub struct Identity {
    config: Arc<ServerConfig>,
    /// The authority's certificate, PEM.
    pub authority: String,
}

impl Identity {
    /// Of this name, signed by an authority of the test's own; `expired`: a year ago.
    pub fn new(name: &str, expired: bool) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let mut own = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if expired {
            own.not_before = rcgen::date_time_ymd(2020, 1, 1);
            own.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = own.signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self {
            config: Arc::new(config),
            authority: issuer.pem(),
        }
    }
}

impl Identity {
    /// The server's side of TLS on a connection.
    pub fn secure(&self, stream: TcpStream) -> StreamOwned<ServerConnection, TcpStream> {
        StreamOwned::new(ServerConnection::new(self.config.clone()).unwrap(), stream)
    }
}

impl WebServer {
    /// On a free port of loopback.
    pub fn local(identity: Option<&Identity>) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), identity)
    }

    /// Serves who connects here.
    pub fn on(listener: TcpListener, identity: Option<&Identity>) -> Self {
        let at = listener.local_addr().unwrap();
        let truths = Arc::new(Mutex::new(Vec::new()));
        let config = identity.map(|identity| identity.config.clone());
        let told = truths.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, told) = (config.clone(), told.clone());
                std::thread::spawn(move || {
                    // Who asks may go at any time.
                    let _ = serve(stream, config, &told);
                });
            }
        });
        Self { at, truths }
    }

    /// What replies took since this was asked last, in the order of their ends.
    pub fn truths(&self) -> Vec<Truth> {
        std::mem::take(&mut *self.truths.lock().unwrap())
    }
}

fn serve(
    stream: TcpStream,
    config: Option<Arc<ServerConfig>>,
    told: &Mutex<Vec<Truth>>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let raw = stream.try_clone()?;
    match config {
        None => answer_all(stream, &raw, told),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            answer_all(StreamOwned::new(connection, stream), &raw, told)
        }
    }
}

fn answer_all(
    mut stream: impl Read + Write,
    raw: &TcpStream,
    told: &Mutex<Vec<Truth>>,
) -> io::Result<()> {
    let mut came = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if came.starts_with(http2_server::PREFACE) {
            return http2_server::answer_all(&mut stream, &came, told);
        }
        // The preface has an empty line in it, too.
        let preface = http2_server::PREFACE.starts_with(&came);
        while !preface && let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&came[..end]).into_owned();
            came.drain(..end + 4);
            answer(&head, &mut stream, raw, told)?;
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => came.extend_from_slice(&buffer[..length]),
        }
    }
}

fn answer(
    head: &str,
    stream: &mut (impl Read + Write),
    raw: &TcpStream,
    told: &Mutex<Vec<Truth>>,
) -> io::Result<()> {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (what, number) = path[1..].split_once('/').unwrap_or((&path[1..], "0"));
    let number: u64 = number.parse().unwrap_or(0);
    let begun = clock::monotonic();
    let wait = || {
        let begun = clock::monotonic();
        std::thread::sleep(Duration::from_millis(number));
        clock::monotonic() - begun
    };
    let tell = |took: Truth| {
        let _ = told.lock().map(|mut told| told.push(took));
    };
    let reply = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    match what {
        "lazy" => {
            // The kernel forgets it at the next chance: it is to be said again for each request.
            let _ = SockRef::from(raw).set_tcp_quickack(false);
            wait();
        }
        "think" => {
            wait();
        }
        "hints" => {
            stream.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")?;
            stream.flush()?;
            wait();
        }
        _ => {}
    }
    if what != "body" {
        tell(clock::monotonic() - begun);
    }
    match what {
        "body" => {
            stream.write_all(reply(2).as_bytes())?;
            stream.flush()?;
            tell(wait());
            stream.write_all(b"ok")?;
        }
        "page" => {
            let body = vec![b'x'; number as usize];
            stream.write_all(&[reply(body.len()).into_bytes(), body].concat())?;
        }
        "garbage" => stream.write_all(b"220 mail.example.org ESMTP\r\n")?,
        "old" => stream.write_all(b"<html>hello</html>\n")?,
        "head" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            loop {
                stream.write_all(b"X-More: and more\r\n")?;
            }
        }
        "interim" => {
            let many = "HTTP/1.1 102 Processing\r\n\r\n".repeat(1_000);
            loop {
                stream.write_all(many.as_bytes())?;
            }
        }
        "chunks" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            let many = "1\r\nx\r\n".repeat(1_000);
            loop {
                stream.write_all(many.as_bytes())?;
            }
        }
        "reset" => {
            SockRef::from(raw).set_linger(Some(Duration::ZERO))?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        "close" => return Err(io::ErrorKind::ConnectionAborted.into()),
        "silent" => {}
        _ => stream.write_all(&[reply(2).as_bytes(), b"ok"].concat())?,
    }
    stream.flush()
}
