//! What a server is asked, from the command line to the fields of an experiment.

use crate::args::ping::PingArgs;
use crate::exit::Failed;
use delaylab_model::method::Method;
use delaylab_model::request::{DnsTransport, Url, Verb};
use serde_json::{Value, json};
use std::path::Path;

/// The host that packets go to, and the fields of the probe that say what it is asked.
pub struct Asked {
    /// Name or address.
    pub host: String,
    /// Fields of a `[[probe]]`. Null: not given.
    pub fields: Vec<(&'static str, Value)>,
    /// The port of a connection that is kept; `None`: none is.
    pub port_of_kept: Option<u16>,
}

/// What is asked of whom.
///
/// # Errors
/// Flags that do not go with the target.
pub fn asked(args: &PingArgs) -> Result<Asked, Failed> {
    let target = args.target();
    let method = args.method();
    if target.contains("://") && !matches!(method, Method::Http | Method::Dns) {
        return Err(Failed::usage(format!(
            "`{target}` is a URL, and {method} asks a host: leave --method out, or name the host alone"
        )));
    }
    let server = &args.server;
    let fields = vec![
        ("url", Value::Null),
        ("verb", json!(server.head.then_some(Verb::Head))),
        ("http", json!(server.http)),
        ("fresh", json!(server.fresh.then_some(true))),
        (
            "ca_file",
            json!(
                server
                    .cacert
                    .as_deref()
                    .map(Path::display)
                    .map(|path| path.to_string())
            ),
        ),
        ("insecure", json!(server.insecure.then_some(true))),
        (
            "headers",
            json!((!server.headers.is_empty()).then_some(&server.headers)),
        ),
        ("question", json!(server.question)),
        ("transport", json!(server.transport)),
        ("tls_name", json!(server.tls_name)),
        ("close", json!(server.close)),
    ];
    let mut asked = Asked {
        host: target.to_owned(),
        fields,
        port_of_kept: None,
    };
    match method {
        Method::Http => asked.of_page(args)?,
        Method::Dns => asked.of_name(args)?,
        Method::TcpConnect => asked.of_port(args),
        _ if server.resolve.is_some() => return Err(no_url("--resolve")),
        _ => {}
    }
    Ok(asked)
}

fn no_url(flag: &str) -> Failed {
    Failed::usage(format!(
        "{flag}: goes with a URL, as in https://example.org/"
    ))
}

impl Asked {
    fn set(&mut self, field: &'static str, value: Value) {
        self.fields.retain(|(name, _)| *name != field);
        self.fields.push((field, value));
    }

    fn of_page(&mut self, args: &PingArgs) -> Result<(), Failed> {
        if args.port.is_some() {
            return Err(Failed::usage(
                "--port: the URL says the port, as in http://example.org:8080/",
            ));
        }
        // What is no URL is a host, whose first page is asked for.
        let text = match args.target().contains("://") {
            true => args.target().to_owned(),
            false => format!("http://{}/", args.target()),
        };
        let url: Url = text
            .parse()
            .map_err(|error| Failed::usage(format!("{error}")))?;
        self.host = match &args.server.resolve {
            Some(resolve) => address(resolve, &url)?,
            None => url.host.clone(),
        };
        self.set("url", json!(url.to_string()));
        self.port_of_kept = (!args.server.fresh).then_some(url.port);
        Ok(())
    }

    /// `dns://SERVER:PORT/NAME?type=TYPE`, as RFC 4501 has it; by TLS `tls://` or `dns+tls://`.
    fn of_name(&mut self, args: &PingArgs) -> Result<(), Failed> {
        let mut port = args.port;
        let mut transport = args.server.transport;
        if let Some((scheme, rest)) = args.target().split_once("://") {
            if scheme != "dns" {
                if transport.is_some_and(|asked| asked != DnsTransport::Tls) {
                    let what = "--transport: the URL says that TLS is to carry it";
                    return Err(Failed::usage(what));
                }
                transport = Some(DnsTransport::Tls);
                self.set("transport", json!(transport));
            }
            let (server, name) = rest.split_once('/').unwrap_or((rest, ""));
            let (name, query) = name.split_once('?').unwrap_or((name, ""));
            let of_type = |pair: &str| {
                let (key, value) = pair.split_once('=')?;
                key.eq_ignore_ascii_case("type").then(|| value.to_owned())
            };
            let kind = query.split([';', '&']).find_map(of_type);
            let kind = kind.unwrap_or_else(|| "A".to_owned());
            (self.host, port) = with_port(server, port);
            if !name.is_empty() {
                self.set("question", json!(format!("{name} {kind}")));
            }
        }
        if self.host.is_empty() {
            return Err(Failed::usage(
                "which name server? dns://SERVER/NAME, or SERVER --method dns --question NAME",
            ));
        }
        let has_question = self
            .fields
            .iter()
            .any(|(name, value)| *name == "question" && !value.is_null());
        if !has_question {
            return Err(Failed::usage("which name? --question 'example.org AAAA'"));
        }
        self.set("port", json!(port));
        let kept =
            transport.filter(|transport| *transport != DnsTransport::Udp && !args.server.fresh);
        self.port_of_kept = kept.map(|transport| port.unwrap_or(transport.usual_port()));
        Ok(())
    }

    /// The port may stand behind the host.
    fn of_port(&mut self, args: &PingArgs) {
        let (host, port) = with_port(args.target(), args.port);
        self.host = host;
        self.set("port", json!(port));
    }
}

/// `HOST:PORT` or `[ADDRESS]:PORT` taken apart; an IPv6 address alone is a host.
fn with_port(text: &str, given: Option<u16>) -> (String, Option<u16>) {
    let apart = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse().ok()?;
        let plain = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
        plain.then(|| (host.to_owned(), Some(port)))
    });
    match given {
        Some(_) => (text.to_owned(), given),
        None => apart.unwrap_or_else(|| (text.to_owned(), None)),
    }
}

/// The address of `ADDRESS` or `NAME:PORT:ADDRESS`.
fn address(resolve: &str, url: &Url) -> Result<String, Failed> {
    let Some((name, rest)) = resolve
        .split_once(':')
        .filter(|(name, _)| *name == url.host)
    else {
        return Ok(resolve.to_owned());
    };
    match rest.split_once(':') {
        Some((port, address)) if port.parse() == Ok(url.port) => Ok(address.to_owned()),
        _ => Err(Failed::usage(format!(
            "--resolve {resolve}: the URL asks {name} at port {}: write {name}:{}:ADDRESS",
            url.port, url.port
        ))),
    }
}
