//! Which answer belongs to which address.
//!
//! | address | answer |
//! |---|---|
//! | `/?search=WORDS` | the list of runs |
//! | `/changes` | an event whenever that list changes |
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
use super::guard::{Admission, admit};
use super::http::{self, Chunked, Refused, Request, encode};
use super::timeline::Window;
use super::{Shared, events, pages};
use crate::html;
use delaylab_figure::SCRIPT;
use delaylab_live::places::Place;
use delaylab_model::Nanos;
use delaylab_store::index::{Entry, Index};
use delaylab_store::run::State;
use delaylab_view::compare::stored::TwoRuns;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Cells of a window, where nobody says.
const CELLS: usize = 800;

/// What is the matter with a request that is understood.
enum Trouble {
    /// There is no such thing.
    NotFound(String),
    /// It asks for what cannot be.
    Bad(String),
    /// This host lacks something.
    Failed(String),
    /// Whoever asked is gone.
    Output(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Who asks, and by which address of ours.
pub(super) struct Peer<'a> {
    pub(super) from: SocketAddr,
    pub(super) address: SocketAddr,
    pub(super) place: &'a Place,
}

impl Shared {
    /// How long the answer to a wrong token is to wait.
    fn wait_for_wrong_token(&self, from: SocketAddr) -> Duration {
        let now = self.started.elapsed().as_nanos() as Nanos;
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_nanos(tries.wait(now, from.ip()).unsigned_abs())
    }
}

pub(super) fn answer(
    shared: &Shared,
    request: Result<Request, Refused>,
    peer: Peer<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let request = match request {
        Ok(request) => request,
        Err(Refused::Gone) => return Ok(()),
        Err(Refused::Late) => {
            return plain(out, "408 Request Timeout", "the request took too long");
        }
        Err(Refused::Malformed) => return plain(out, "400 Bad Request", "this is no request"),
        Err(Refused::TooLong) => {
            return plain(out, "431 Request Header Fields Too Large", "too long");
        }
        Err(Refused::Method) => {
            let why = b"only GET is answered\n";
            return http::answer(out, "405 Method Not Allowed", PLAIN, "Allow: GET\r\n", why);
        }
    };
    match admit(&request, peer.address, shared.token.as_ref()) {
        Admission::Granted => {
            if shared.token.is_some() {
                peer.place.proven();
            }
        }
        Admission::SetCookie(cookie) => {
            let own = format!("{cookie}Location: /\r\n");
            return http::answer(out, "303 See Other", PLAIN, &own, b"");
        }
        Admission::WrongHost => {
            let why = "this host is served as localhost or 127.0.0.1 alone";
            return plain(out, "421 Misdirected Request", why);
        }
        Admission::CrossSite => {
            let why = "a page of another site asked for this: open the address itself";
            return plain(out, "403 Forbidden", why);
        }
        Admission::WrongToken => {
            // A thread that waits on without a place would keep out those who have the token.
            if !peer.place.wait(shared.wait_for_wrong_token(peer.from)) {
                return Ok(());
            }
            return plain(out, "401 Unauthorized", "the token is wrong");
        }
        Admission::NoToken => {
            let why = "the token is missing: open /?token=TOKEN once, or send it as `Authorization: Bearer TOKEN`";
            return plain(out, "401 Unauthorized", why);
        }
    }
    match find(shared, &request, out) {
        Ok(()) => Ok(()),
        Err(Trouble::NotFound(why)) => page(out, "404 Not Found", &pages::sorry("Not found", &why)),
        Err(Trouble::Bad(why)) => page(
            out,
            "400 Bad Request",
            &pages::sorry("That cannot be", &why),
        ),
        Err(Trouble::Failed(why)) => page(
            out,
            "500 Internal Server Error",
            &pages::sorry("That failed", &why),
        ),
        Err(Trouble::Output(error)) => Err(error),
    }
}

fn find(shared: &Shared, request: &Request, out: &mut dyn Write) -> Result<(), Trouble> {
    let path: Vec<_> = request.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        [] => {
            let search = request.parameter("search").unwrap_or("");
            page(out, "200 OK", &pages::runs(&list(shared)?, search))?;
        }
        ["changes"] => events::changes(&shared.runs, out)?,
        ["figures.js"] => http::answer(
            out,
            "200 OK",
            "text/javascript; charset=utf-8",
            "",
            SCRIPT.as_bytes(),
        )?,
        ["api", "runs"] => {
            let runs: Vec<_> = list(shared)?.iter().map(entry).collect();
            json_answer(out, &json!({ "schema": "delaylab/runs/1", "runs": runs }))?;
        }
        ["compare"] => page(out, "200 OK", &compare(shared, request)?)?,
        ["run", name] => page(out, "200 OK", &run(shared, name)?)?,
        ["run", name, "window"] => json_answer(out, &window(&*open(shared, name)?, request)?)?,
        ["run", name, "progress"] => progress(shared, name, out)?,
        ["run", name, table] => export(&*open(shared, name)?, table, out)?,
        _ => {
            return Err(Trouble::NotFound(
                "There is nothing at this address.".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Its policy: the browser runs our script and no other, and asks nobody but us.
fn page(out: &mut dyn Write, status: &str, html: &str) -> io::Result<()> {
    let policy = format!(
        "Content-Security-Policy: {}; frame-ancestors 'none'\r\n",
        html::served_policy()
    );
    http::answer(out, status, HTML, &policy, html.as_bytes())
}

fn plain(out: &mut dyn Write, status: &str, why: &str) -> io::Result<()> {
    http::answer(out, status, PLAIN, "", format!("{why}\n").as_bytes())
}

fn json_answer(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    http::answer(out, "200 OK", JSON, "", value.to_string().as_bytes())
}

fn list(shared: &Shared) -> Result<Vec<Entry>, Trouble> {
    let entries = Index::open(&shared.runs).and_then(|index| index.list());
    entries.map_err(|error| Trouble::Failed(error.to_string()))
}

fn entry(entry: &Entry) -> Value {
    json!({
        "folder": entry.folder, "name": entry.name, "world": entry.world, "started_utc": entry.started_utc,
        "state": entry.state.name(), "trials": entry.trials, "records": entry.records,
    })
}

/// The run of this name, if the index has it.
fn open(shared: &Shared, name: &str) -> Result<Arc<Opened>, Trouble> {
    if !list(shared)?.iter().any(|entry| entry.folder == name) {
        return Err(Trouble::NotFound(format!("There is no run {name}.")));
    }
    shared
        .cache
        .open(&shared.runs, name)
        .map_err(Trouble::Failed)
}

fn run(shared: &Shared, name: &str) -> Result<String, Trouble> {
    let opened = open(shared, name)?;
    let make = || {
        let data = opened.data(&shared.read);
        let served = html::Served {
            address: format!("/run/{}", encode(name)),
            in_progress: opened.run.state() == State::Partial,
            tables: opened.run.tables(),
        };
        html::served_page(data, &served)
    };
    let page = opened.page(make).to_owned();
    whole(&opened)?;
    Ok(page)
}

/// An error where something of the run could not be read: what is left is not what was measured.
fn whole(opened: &Opened) -> Result<(), Trouble> {
    let damage = opened.run.damage();
    damage.map_or(Ok(()), |damage| {
        Err(Trouble::Failed(format!("{}: {damage}", opened.name)))
    })
}

fn compare(shared: &Shared, request: &Request) -> Result<String, Trouble> {
    let names: Vec<_> = request.parameters("run").collect();
    let &[first, second] = names.as_slice() else {
        return Err(Trouble::Bad("Choose two runs to compare them.".to_owned()));
    };
    let mut opened = [open(shared, first)?, open(shared, second)?];
    // A is before, and B after.
    opened.sort_by(|a, b| a.run.started_utc().cmp(&b.run.started_utc()));
    let two = TwoRuns::new(opened.each_ref().map(|opened| &opened.run));
    let names = opened.each_ref().map(|opened| opened.name.clone());
    let addresses = names
        .each_ref()
        .map(|name| format!("/run/{}", encode(name)));
    let compared = two.compared(names, &[], true);
    let compared = compared.map_err(|error| Trouble::Bad(error.to_string()))?;
    opened.iter().try_for_each(|opened| whole(opened))?;
    Ok(html::served_comparison(&compared, addresses))
}

fn window(opened: &Opened, request: &Request) -> Result<Value, Trouble> {
    let number = |name: &str| -> Result<Option<f64>, Trouble> {
        let bad = || Trouble::Bad(format!("{name} is a number."));
        let value = request
            .parameter(name)
            .map(|text| text.parse::<f64>().map_err(|_| bad()));
        value
            .transpose()?
            .map(|value| {
                if value.is_finite() {
                    Ok(value)
                } else {
                    Err(bad())
                }
            })
            .transpose()
    };
    let nanos = |seconds: f64| (seconds * 1e9) as Nanos;
    let range = number("from")?.zip(number("to")?);
    let window = Window {
        probe: number("probe")?.unwrap_or(0.0) as u16,
        range: range.map(|(from, to)| [nanos(from), nanos(to)]),
        cells: number("cells")?.map_or(CELLS, |cells| cells as usize),
    };
    Ok(json!(opened.timeline().shown(&opened.run, window)))
}

fn progress(shared: &Shared, name: &str, out: &mut dyn Write) -> Result<(), Trouble> {
    let opened = open(shared, name)?;
    let finished = name.strip_suffix(".partial").unwrap_or(name);
    let address = format!("/run/{}", encode(finished));
    Ok(events::progress(opened.run.folder(), &address, out)?)
}

fn export(opened: &Opened, asked: &str, out: &mut dyn Write) -> Result<(), Trouble> {
    let missing = || Trouble::NotFound(format!("The run has no table {asked}."));
    let (table, format) = asked.rsplit_once('.').ok_or_else(missing)?;
    if !opened.run.tables().contains(&table) {
        return Err(missing());
    }
    let saved = "Content-Disposition: attachment\r\n";
    match format {
        "csv" => {
            http::head(
                out,
                "200 OK",
                "text/csv; charset=utf-8",
                &format!("{saved}{}", Chunked::HEADER),
            )?;
            let mut body = Chunked::new(out);
            // What is cut short has no end that says it is whole.
            if opened.run.write_csv(table, &mut body).is_ok() {
                body.finish()?;
            }
            Ok(())
        }
        "parquet" => {
            let path = opened.run.table_file(table).ok_or_else(|| {
                let why = "The run is not complete: its tables can be had as CSV, and as Parquet when it is.";
                Trouble::NotFound(why.to_owned())
            })?;
            let failed = |error: io::Error| Trouble::Failed(error.to_string());
            let mut file = File::open(&path).map_err(failed)?;
            let length = file.metadata().map_err(failed)?.len();
            let own = format!("{saved}Content-Length: {length}\r\n");
            http::head(out, "200 OK", "application/vnd.apache.parquet", &own)?;
            io::copy(&mut file, out)?;
            Ok(out.flush()?)
        }
        _ => Err(missing()),
    }
}
