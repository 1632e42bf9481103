//! A connection from its first byte to its last: how long each step may take, and what is said where there
//! are too many.

use super::patient::Patient;
use super::places::{Place, Places};
use super::{Peer, Shared};
use axum::Router;
use delaylab_model::{Nanos, SECOND};
use delaylab_traffic::admission::{Limits, Share};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at once.
pub(super) const ALL: usize = 96;
/// Connections at once that have not shown the token; without a token, of all.
const UNPROVEN: usize = 64;
/// A request comes at once, all of it: a byte now and then does not keep a connection open.
const HEARING: Duration = Duration::from_secs(10);
/// Bytes of the head of a request at most.
const LONGEST: usize = 16 << 10;
/// Connections at once that are told that there are too many.
const TOLD: usize = 32;
/// They are heard and told within so long.
const TELLING: Duration = Duration::from_secs(1);
/// A connection that cannot be accepted stays in the queue: so long is waited.
const PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be. Who has the token goes before all that have not.
pub(super) fn limits(has_token: bool) -> Limits {
    let unproven = Share {
        all: UNPROVEN,
        network: if has_token { UNPROVEN / 2 } else { UNPROVEN },
        address: if has_token { UNPROVEN / 4 } else { UNPROVEN },
    };
    Limits {
        places: Share::of_all(ALL),
        unproven,
        prove_within: HEARING.as_secs() as Nanos * SECOND,
        grace: 0,
    }
}

/// Accepts connections and answers them, each as a task of its own.
pub(super) async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    router: Router,
) -> ! {
    let places = Places::new(limits(shared.token.is_some()));
    let told = Arc::new(Semaphore::new(TOLD));
    loop {
        // Such as too many open files: one that has shown nothing gives its own back.
        let Ok((stream, from)) = listener.accept().await else {
            places.free_one();
            sleep(PAUSE).await;
            continue;
        };
        let told = Arc::clone(&told);
        let Ok(place) = places.take(shared.now(), from.ip()) else {
            tokio::spawn(async move {
                // What is closed unread is reset, and the answer with it.
                let _ = timeout(TELLING, stream.readable()).await;
                tell(&told, stream, TOO_MANY).await
            });
            continue;
        };
        let peer = Peer {
            shared: Arc::clone(&shared),
            from,
            address,
            place: Arc::new(place),
        };
        tokio::spawn(converse(stream, peer, router.clone(), told));
    }
}

/// Hears one request and answers it.
async fn converse(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    told: Arc<Semaphore>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let place: Arc<Place> = Arc::clone(&peer.place);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        peer.place.heard();
        request.extensions_mut().insert(peer.clone());
        router.call(request)
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEARING)
        .max_buf_size(LONGEST)
        .keep_alive(false)
        .title_case_headers(true)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    let why = tokio::select! {
        ended = &mut connection => match ended {
            Err(error) if error.is_timeout() => TOO_SLOW,
            _ => return Ok(()),
        },
        () = place.gave_way() => TOO_MANY,
    };
    // An answer that has begun ends without its end, and so shows as cut short.
    if place.is_heard() {
        return Ok(());
    }
    let stream = connection.into_parts().io.into_inner().into_inner();
    drop(place);
    tell(&told, stream, why).await
}

/// What is said without having understood a request: status, a header of its own, and why.
type Notice = [&'static str; 3];
const TOO_MANY: Notice = [
    "503 Service Unavailable",
    "Retry-After: 1\r\n",
    "too many connections: try again in a second\n",
];
const TOO_SLOW: Notice = ["408 Request Timeout", "", "the request took too long\n"];

/// Tells a connection that it is not answered, if not too many are told already.
async fn tell(told: &Semaphore, mut stream: TcpStream, what: Notice) -> io::Result<()> {
    let Ok(_permit) = told.try_acquire() else {
        return Ok(());
    };
    let [status, own, why] = what;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n{own}Connection: close\r\n\
         Content-Length: {}\r\n\r\n{why}",
        why.len()
    );
    let telling = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    timeout(TELLING, telling)
        .await
        .map_or(Ok(()), |copied| copied.map(drop))
}
