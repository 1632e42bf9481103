//! Which answer belongs to which address.
//!
//! | address | answer |
//! |---|---|
//! | `/?search=WORDS` | the list of runs |
//! | `/changes?list=NAME` | an event whenever that list is another than the one of this name |
//! | `/api/runs` | the list as JSON |
//! | `/run/NAME` | a run: its report, and what only a server can show |
//! | `/run/NAME/window?probe=&from=&to=&cells=` | its round trips in a stretch of time, as JSON |
//! | `/run/NAME/progress` | events of a run in progress |
//! | `/run/NAME/TABLE.csv`, `/run/NAME/TABLE.parquet` | one of its tables |
//! | `/compare?run=NAME&run=NAME` | two runs |
//! | `/figures.js` | the script of all pages |
//!
//! A run is found by its name in the index alone: no part of an address ever becomes part of a path.

use super::cache::Opened;
use super::events::InProgress;
use super::guard::{Admission, PARAMETER, admit};
use super::query::{Query, encode};
use super::timeline::Window;
use super::{Peer, Shared, events, pages};
use crate::html;
use axum::body::Body;
use axum::extract::{Path, RawQuery, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use delaylab_figure::SCRIPT;
use delaylab_model::Nanos;
use delaylab_store::index::{Entry, Partial};
use delaylab_store::run::State;
use delaylab_view::compare::benchmark::Benchmarks;
use delaylab_view::compare::stored::TwoRuns;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, SET_COOKIE,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::mpsc;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSV: &str = "text/csv; charset=utf-8";
const PARQUET: &str = "application/vnd.apache.parquet";

/// What every answer says, so that no page of another site can use it.
const GUARD: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Bytes from which an answer is worth compressing.
const LARGE: u64 = 1 << 10;

/// Cells of a window, where nobody says.
const CELLS: usize = 800;

/// Bytes of a table that are made at once, ...
const PIECE: usize = 1 << 16;
/// ... and how many such pieces wait for their reader.
const PIECES: usize = 4;

/// What is the matter with a request that is understood: a page for who asks for one, a sentence for all others.
enum Trouble {
    /// There is no such thing.
    NotFound(String),
    /// It asks for what cannot be.
    Bad(String),
    /// This host lacks something.
    Failed(String),
}

impl Trouble {
    fn into_page(self) -> Response {
        let (status, why) = self.told();
        let heading = match status {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::BAD_REQUEST => "That cannot be",
            _ => "That failed",
        };
        (status, page(pages::sorry(heading, &why))).into_response()
    }

    fn into_sentence(self) -> Response {
        let (status, why) = self.told();
        (status, format!("{why}\n")).into_response()
    }

    fn told(self) -> (StatusCode, String) {
        match self {
            Self::NotFound(why) => (StatusCode::NOT_FOUND, why),
            Self::Bad(why) => (StatusCode::BAD_REQUEST, why),
            Self::Failed(why) => (StatusCode::INTERNAL_SERVER_ERROR, why),
        }
    }
}

/// All addresses.
pub(super) fn router() -> Router {
    let script = [(CONTENT_TYPE, JAVASCRIPT.to_owned())];
    let script = (script, tag(&html::hash(&SCRIPT)), SCRIPT.as_str());
    // Events have to come at once, and Parquet is compressed already.
    let compressed = SizeAbove::new(LARGE)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new(PARQUET));
    // The thread that has all connections compresses, so it takes little time.
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(compressed);
    Router::new()
        .route("/", get(runs))
        .route("/changes", get(changes))
        .route("/figures.js", get(script))
        .route("/api/runs", get(runs_as_json))
        .route("/compare", get(two_runs))
        .route("/run/{name}", get(one_run))
        .route("/run/{name}/window", get(round_trips))
        .route("/run/{name}/progress", get(progress))
        .route("/run/{name}/{table}", get(table))
        .fallback(async || {
            Trouble::NotFound("There is nothing at this address.".to_owned()).into_page()
        })
        .layer(from_fn(unless_known))
        .layer(compression)
        .layer(from_fn(guarded))
}

/// A name for an answer: while the name is the same, so is the answer. Weak, as it is the same compressed and plain.
fn tag(name: &str) -> [(HeaderName, String); 1] {
    [(ETAG, format!("W/\"{name}\""))]
}

/// Who has an answer already gets no more than the word that it is the same (RFC 9110 §13.1.2).
async fn unless_known(request: Request, next: Next) -> Response {
    let known = request.headers().get_all(IF_NONE_MATCH).iter();
    let known: Vec<_> = known.cloned().collect();
    let mut answer = next.run(request).await;
    let is_known = answer.headers().get(ETAG).is_some_and(|tag| {
        let mut tags = known
            .iter()
            .flat_map(|tags| tags.as_bytes().split(|c| *c == b','));
        tags.any(|known| [tag.as_bytes(), b"*"].contains(&known.trim_ascii()))
    });
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Body::empty();
        answer.headers_mut().remove(CONTENT_LENGTH);
    }
    answer
}

/// Answers those who may ask, and says to others why not.
async fn guarded(
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    request: Request,
    next: Next,
) -> Response {
    let query = Query::new(&query.unwrap_or_default());
    let (parts, body) = request.into_parts();
    let mut response = match refused(&peer, &query, &parts).await {
        Some(refused) => refused,
        None => next.run(Request::from_parts(parts, body)).await,
    };
    // What may be kept is asked for again each time, so that who may not have it does not.
    let keep = match response.headers().contains_key(ETAG) {
        true => "private, no-cache",
        false => "no-store",
    };
    let keep = [(CACHE_CONTROL, HeaderValue::from_static(keep))];
    response.headers_mut().extend(GUARD.into_iter().chain(keep));
    response
}

/// What is answered where a request is not let through.
async fn refused(peer: &Peer, query: &Query, request: &Parts) -> Option<Response> {
    let plain = |status: StatusCode, why: &str| Some((status, format!("{why}\n")).into_response());
    // What to send (RFC 6750 §3). Browsers ask their user for nothing.
    let unauthorized = |error: &str, why: &str| {
        let scheme = [(
            WWW_AUTHENTICATE,
            format!("Bearer realm=\"delaylab\"{error}"),
        )];
        Some((StatusCode::UNAUTHORIZED, scheme, format!("{why}\n")).into_response())
    };
    if !matches!(request.method, Method::GET | Method::HEAD) {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let why = "only GET and HEAD are answered\n";
        return Some((status, [(ALLOW, "GET, HEAD")], why).into_response());
    }
    // As a proxy is asked (RFC 9112 §3.2.2): the name there would go before `Host`.
    if request.uri.authority().is_some() {
        return plain(StatusCode::BAD_REQUEST, "this is no proxy");
    }
    let token = peer.shared.token.as_ref();
    match admit(&request.headers, query, peer.address, token) {
        Admission::Granted => {
            if token.is_some() {
                peer.place.proven();
            }
            None
        }
        Admission::SetCookie(cookie) => {
            let own = [
                (SET_COOKIE, cookie),
                (LOCATION, without_token(request, query)),
            ];
            Some((StatusCode::SEE_OTHER, own).into_response())
        }
        Admission::WrongHost => {
            let port = peer.address.port();
            let why = format!(
                "this host is served as localhost:{port} or 127.0.0.1:{port} alone. A tunnel has this port at both ends: \
                 ssh -L {port}:127.0.0.1:{port} HOST"
            );
            plain(StatusCode::MISDIRECTED_REQUEST, &why)
        }
        Admission::CrossSite => plain(
            StatusCode::FORBIDDEN,
            "a page of another site asked for this: open the address itself",
        ),
        Admission::WrongToken => {
            tokio::time::sleep(peer.shared.wait_for_wrong_token(peer.from)).await;
            unauthorized(", error=\"invalid_token\"", "the token is wrong")
        }
        Admission::NoToken => unauthorized(
            "",
            "the token is missing: open /?token=TOKEN once, or send it as `Authorization: Bearer TOKEN`",
        ),
    }
}

/// The same address without the token in it.
fn without_token(request: &Parts, query: &Query) -> String {
    // To a browser, two slashes begin the name of another host.
    let path = match request.uri.path() {
        path if path[1..].starts_with(['/', '\\']) => "/",
        path => path,
    };
    match query.without(PARAMETER) {
        rest if rest.is_empty() => path.to_owned(),
        rest => format!("{path}?{rest}"),
    }
}

/// Answers a person with a page that is made of runs.
async fn answer_page<T: IntoResponse + Send + 'static>(
    peer: &Peer,
    make: impl FnOnce(&Shared) -> Result<T, Trouble> + Send + 'static,
) -> Response {
    made(peer, make).await.unwrap_or_else(Trouble::into_page)
}

/// Answers a program, or the script of a page.
async fn answer<T: IntoResponse + Send + 'static>(
    peer: &Peer,
    make: impl FnOnce(&Shared) -> Result<T, Trouble> + Send + 'static,
) -> Response {
    made(peer, make)
        .await
        .unwrap_or_else(Trouble::into_sentence)
}

async fn made<T: IntoResponse + Send + 'static>(
    peer: &Peer,
    make: impl FnOnce(&Shared) -> Result<T, Trouble> + Send + 'static,
) -> Result<Response, Trouble> {
    let made = peer.blocking(make).await;
    let failed = || Err(Trouble::Failed("This answer cannot be made.".to_owned()));
    made.unwrap_or_else(failed).map(T::into_response)
}

/// Its policy: the browser runs our script and no other, and asks nobody but us.
fn page(html: String) -> impl IntoResponse {
    let policy = format!("{}; frame-ancestors 'none'", html::served_policy());
    let own = [
        (CONTENT_TYPE, HTML.to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    (own, html)
}

fn json_of(value: &Value) -> impl IntoResponse + use<> {
    ([(CONTENT_TYPE, JSON)], value.to_string())
}

async fn runs(Extension(peer): Extension<Peer>, RawQuery(query): RawQuery) -> Response {
    let query = Query::new(&query.unwrap_or_default());
    let make = move |shared: &Shared| {
        let search = query.first("search").unwrap_or("");
        Ok(page(pages::runs(&list(shared)?, search)))
    };
    answer_page(&peer, make).await
}

async fn changes(Extension(peer): Extension<Peer>, RawQuery(query): RawQuery) -> Response {
    let query = Query::new(&query.unwrap_or_default());
    let shown = query.first("list").and_then(|name| name.parse().ok());
    events::changes(peer, shown)
}

async fn runs_as_json(Extension(peer): Extension<Peer>) -> Response {
    let make = |shared: &Shared| {
        let runs: Vec<_> = list(shared)?.iter().map(entry).collect();
        Ok(json_of(
            &json!({ "schema": "delaylab/runs/2", "runs": runs }),
        ))
    };
    answer(&peer, make).await
}

async fn two_runs(Extension(peer): Extension<Peer>, RawQuery(query): RawQuery) -> Response {
    let query = Query::new(&query.unwrap_or_default());
    answer_page(&peer, move |shared| compare(shared, &query).map(page)).await
}

async fn one_run(Extension(peer): Extension<Peer>, Path(name): Path<String>) -> Response {
    answer_page(&peer, move |shared| run(shared, &name)).await
}

async fn round_trips(
    Extension(peer): Extension<Peer>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = Query::new(&query.unwrap_or_default());
    let make = move |shared: &Shared| {
        let shown = window(&*open(shared, &name)?, &query)?;
        Ok(json_of(&shown))
    };
    answer(&peer, make).await
}

async fn progress(Extension(peer): Extension<Peer>, Path(name): Path<String>) -> Response {
    let follow = peer.clone();
    let make = move |shared: &Shared| {
        let finished = name.strip_suffix(".partial").unwrap_or(&name);
        // It may have ended while the page was not connected, and has its own name then.
        let has_ended = !has(shared, &name)? && has(shared, finished)?;
        if !has_ended && !has(shared, &name)? {
            return match name.ends_with(".partial") {
                true => Ok(events::removed(follow)),
                false => Err(no_such_run(&name)),
            };
        }
        let of = InProgress::new(&shared.runs, &name, finished);
        Ok(events::progress(follow, of))
    };
    answer(&peer, make).await
}

async fn table(
    Extension(peer): Extension<Peer>,
    Path((name, table)): Path<(String, String)>,
) -> Response {
    let reader = peer.clone();
    answer(&peer, move |shared| {
        export(reader, open(shared, &name)?, &table)
    })
    .await
}

fn list(shared: &Shared) -> Result<Vec<Entry>, Trouble> {
    let entries = shared.entries();
    entries.map_err(|error| {
        let remedy = match shared.is_replaced() {
            true => {
                ". It is another folder than when `delaylab serve` began, which may read that one alone: begin it again"
            }
            false => "",
        };
        Trouble::Failed(format!("{error}{remedy}"))
    })
}

fn entry(entry: &Entry) -> Value {
    let is_denied = entry.is_denied();
    json!({
        "folder": entry.folder, "name": entry.name, "world": entry.world, "started_utc": entry.started_utc,
        "state": entry.state().name(), "partial": entry.partial.map(Partial::name),
        "damage": entry.damage.as_ref().filter(|_| !is_denied),
        "unreadable": entry.damage.as_ref().filter(|_| is_denied), "trials": entry.trials,
        "invalid": entry.overview.invalid, "records": entry.records,
        "title": entry.overview.title, "target": entry.overview.target, "verdicts": entry.overview.verdicts,
        "sent": entry.overview.sent, "lost": entry.overview.lost,
        "most_lost_share": entry.overview.most_lost.map(|[lost, sent]| lost as f64 / sent as f64),
        "p50_ns": entry.overview.p50, "p99_ns": entry.overview.p99,
    })
}

/// The run of this name, if the index has it.
fn has(shared: &Shared, name: &str) -> Result<bool, Trouble> {
    Ok(list(shared)?.iter().any(|entry| entry.folder == name))
}

fn no_such_run(name: &str) -> Trouble {
    Trouble::NotFound(format!("There is no run {name}."))
}

fn open(shared: &Shared, name: &str) -> Result<Arc<Opened>, Trouble> {
    if !has(shared, name)? {
        return Err(no_such_run(name));
    }
    shared
        .cache
        .open(&shared.runs, name)
        .map_err(Trouble::Failed)
}

fn run(shared: &Shared, name: &str) -> Result<impl IntoResponse + use<>, Trouble> {
    let opened = open(shared, name)?;
    let is_complete = opened.run.state() == State::Complete;
    let make = || {
        let data = opened.data(&shared.read);
        let served = html::Served {
            address: format!("/run/{}", encode(name)),
            in_progress: !is_complete,
            tables: opened.run.tables(),
        };
        html::served_page(data, &served)
    };
    let made = opened.page(make);
    whole(&opened)?;
    let tag = is_complete.then(|| tag(&made.hash));
    Ok((tag, page(made.text.clone())))
}

/// An error where something of the run could not be read: what is left is not what was measured.
fn whole(opened: &Opened) -> Result<(), Trouble> {
    let damage = opened.run.damage();
    damage.map_or(Ok(()), |damage| {
        Err(Trouble::Failed(format!("{}: {damage}", opened.name)))
    })
}

fn compare(shared: &Shared, query: &Query) -> Result<String, Trouble> {
    let names: Vec<_> = query.all("run").collect();
    let &[first, second] = names.as_slice() else {
        return Err(Trouble::Bad("Choose two runs to compare them.".to_owned()));
    };
    let mut opened = [open(shared, first)?, open(shared, second)?];
    // A is before, and B after. The list knows the order of those that say nothing of when they began, too.
    let entries = list(shared)?;
    opened.sort_by_key(|opened| entries.iter().position(|entry| entry.folder == opened.name));
    let two = TwoRuns::new(opened.each_ref().map(|opened| &opened.run));
    let names = opened.each_ref().map(|opened| opened.name.clone());
    let addresses = names
        .each_ref()
        .map(|name| format!("/run/{}", encode(name)));
    // Everything that a page shows of a run is read for it, which two other runs need not wait for.
    let both = || {
        let each = opened.each_ref();
        Benchmarks::of_results(each.map(|opened| opened.data(&shared.read).benchmark.as_ref()))
    };
    let compared = match two.are_benchmarks().then(both) {
        Some(Ok(found)) => two.benchmarks(names, found),
        Some(Err(why)) => {
            opened.iter().try_for_each(|opened| whole(opened))?;
            return Err(Trouble::Bad(why));
        }
        None => {
            let compared = two.compared(names, &[], true);
            compared.map_err(|error| Trouble::Bad(error.to_string()))?
        }
    };
    opened.iter().try_for_each(|opened| whole(opened))?;
    Ok(html::served_comparison(&compared, addresses))
}

fn window(opened: &Opened, query: &Query) -> Result<Value, Trouble> {
    let number = |name: &str| -> Result<Option<f64>, Trouble> {
        let Some(text) = query.first(name) else {
            return Ok(None);
        };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let bad = || Trouble::Bad(format!("{name} is a number."));
        number.map(Some).ok_or_else(bad)
    };
    let nanos = |seconds: f64| (seconds * 1e9) as Nanos;
    let window = Window {
        probe: query.first("probe"),
        range: [number("from")?, number("to")?].map(|end| end.map(nanos)),
        cells: number("cells")?.map_or(CELLS, |cells| cells as usize),
    };
    let timeline = opened.timeline();
    let probes = timeline.probes();
    if let Some(probe) = window.probe.filter(|probe| !probes.contains(probe)) {
        let there: Vec<_> = probes.into_iter().collect();
        let there = there.join(", ");
        return Err(Trouble::NotFound(format!(
            "The run has no probe {probe}; it has {there}."
        )));
    }
    let shown = timeline.shown(&opened.run, window);
    whole(opened)?;
    Ok(json!(shown))
}

fn export(peer: Peer, opened: Arc<Opened>, asked: &str) -> Result<Response, Trouble> {
    let missing = || Trouble::NotFound(format!("The run has no table {asked}."));
    let (table, format) = asked.rsplit_once('.').ok_or_else(missing)?;
    if !opened.run.tables().contains(&table) {
        return Err(missing());
    }
    let saved = (CONTENT_DISPOSITION, "attachment");
    let file = opened.run.table_file(table);
    let tag = file.as_deref().and_then(version).map(|name| tag(&name));
    match format {
        "csv" => {
            let table = table.to_owned();
            let write = move |out: &mut dyn Write| {
                let written = opened.run.write_csv(&table, out);
                written.map_err(io::Error::other)
            };
            let head = [saved, (CONTENT_TYPE, CSV)];
            Ok((head, tag, streamed(peer, write)).into_response())
        }
        "parquet" => {
            let path = file.ok_or_else(|| {
                let why = "The run is not complete: its tables can be had as CSV, and as Parquet when it is.";
                Trouble::NotFound(why.to_owned())
            })?;
            let failed = |error: io::Error| Trouble::Failed(error.to_string());
            let mut file = File::open(&path).map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            let write = move |out: &mut dyn Write| io::copy(&mut file, out).map(drop);
            let head = [saved, (CONTENT_TYPE, PARQUET)];
            let length = [(CONTENT_LENGTH, length.to_string())];
            Ok((head, tag, length, streamed(peer, write)).into_response())
        }
        _ => Err(missing()),
    }
}

/// What a table's file is now, and by which program it is read.
fn version(file: &FilePath) -> Option<String> {
    let file = file.metadata().ok()?;
    let modified = file.modified().ok()?;
    let modified = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let program = env!("CARGO_PKG_VERSION");
    Some(format!("{program}-{}-{}", file.len(), modified.as_nanos()))
}

/// A body that is written as it is read. One that is cut short has no end that says it is whole.
fn streamed(
    peer: Peer,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Body {
    let (sender, pieces) = mpsc::channel(PIECES);
    let writing = tokio::task::spawn_blocking(move || {
        let _has_place = peer;
        let mut out = BufWriter::with_capacity(PIECE, Pieces(sender));
        write(&mut out)?;
        out.flush()
    });
    let body = unfold((pieces, Some(writing)), async |(mut pieces, writing)| {
        if let Some(piece) = pieces.recv().await {
            return Some((Ok(piece), (pieces, writing)));
        }
        // The last piece has come, or the writer broke off.
        let written = writing?.await.map_err(io::Error::other);
        let error = written.and_then(|written| written).err()?;
        Some((Err(error), (pieces, None)))
    });
    // What compresses asks once more behind the end.
    Body::from_stream(body.fuse())
}

/// Hands what is written to who reads it, and waits for it.
struct Pieces(mpsc::Sender<Bytes>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        sent.map(|()| bytes.len()).map_err(gone)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
