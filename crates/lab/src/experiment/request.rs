//! What a probe asks a server: the fields of its section that say so.

use super::probe_fields::refuse;
use delaylab_model::experiment::ProbeSection;
use delaylab_model::method::Method;
use delaylab_model::path::Path;
use delaylab_model::refusal::Refusal;
use delaylab_model::request::{
    DnsRequest, DnsTransport, Header, HttpRequest, HttpVersion, Question, Request, Trust, Url,
};
use std::net::IpAddr;
use std::str::FromStr;

/// The request; `None` where the method asks no server.
pub(super) fn request(section: &ProbeSection, path: &Path) -> Result<Option<Request>, Refusal> {
    not_of_others(section)?;
    match section.method {
        Method::TcpConnect => connect(section).map(Some),
        Method::Http => http(section, path).map(Some),
        Method::Dns => dns(section, path).map(Some),
        _ => Ok(None),
    }
}

/// Checks that the section has no field of requests that another method makes.
pub(super) fn not_of_others(section: &ProbeSection) -> Result<(), Refusal> {
    let method = section.method;
    let fields = [
        ("url", section.url.is_some()),
        ("verb", section.verb.is_some()),
        ("http", section.http.is_some()),
        ("fresh", section.fresh.is_some()),
        ("headers", !section.headers.is_empty()),
        ("ca_file", section.ca_file.is_some()),
        ("insecure", section.insecure.is_some()),
        ("question", section.question.is_some()),
        ("transport", section.transport.is_some()),
        ("tls_name", section.tls_name.is_some()),
        ("port", section.port.is_some()),
        ("close", section.close.is_some()),
    ];
    let is_foreign = |(field, there): &(&str, bool)| *there && !method.has_field(field);
    match fields.into_iter().find(is_foreign) {
        None => Ok(()),
        Some(("port", _)) if method.has_field("url") => refuse(
            "port",
            "the URL says the port",
            "write it there: http://host:8080/",
        ),
        Some((field, _)) => {
            let of = Method::ALL
                .into_iter()
                .filter(|method| method.has_field(field));
            let of: Vec<_> = of.map(Method::name).collect();
            let of = of.join(" and ");
            let what = format!("{method} asks for no such thing: `{field}` is for method {of}");
            refuse(field, what, "leave it out")
        }
    }
}

/// A field that is written as a text.
fn read<T: FromStr<Err: ToString>>(
    field: &'static str,
    text: &str,
    help: &str,
) -> Result<T, Refusal> {
    text.parse()
        .or_else(|error: T::Err| refuse(field, error.to_string(), help))
}

fn port(section: &ProbeSection) -> Result<Option<u16>, Refusal> {
    match section.port {
        Some(0) => refuse("port", "port 0 is no port", "ports are 1 to 65535"),
        port => Ok(port),
    }
}

fn connect(section: &ProbeSection) -> Result<Request, Refusal> {
    match port(section)? {
        Some(port) => Ok(Request::Connect {
            port,
            close: section.close.unwrap_or_default(),
        }),
        None => refuse(
            "method",
            "to which port? tcp-connect has none by itself",
            "write `port = 443`",
        ),
    }
}

fn http(section: &ProbeSection, path: &Path) -> Result<Request, Refusal> {
    let Some(url) = &section.url else {
        let help = "write `url = \"https://example.org/\"`";
        return refuse("method", "http asks for nothing", help);
    };
    let url: Url = read("url", url, "an http:// or https:// URL")?;
    let trust = trust(section, url.tls, "http:// has", "ask for an https:// URL")?;
    let version = match section.http {
        Some(HttpVersion::Best) if !url.tls => {
            let what = "over http:// no version is negotiated";
            return refuse("http", what, "write \"1.1\" or \"2\"");
        }
        asked => asked.unwrap_or(HttpVersion::usual(url.tls)),
    };
    let headers = section.headers.iter();
    let headers = headers.map(|text| read("headers", text, "a name, a colon and a value"));
    let headers: Vec<Header> = headers.collect::<Result<_, _>>()?;
    let of_a_connection = headers.iter().find(|header| header.is_of_a_connection());
    if let Some(header) = of_a_connection.filter(|_| version != HttpVersion::One) {
        let what = format!("HTTP/2 has no `{header}`: servers reset a request that does");
        return refuse("headers", what, "leave it out, or ask by HTTP/1.1");
    }
    let fresh = section.fresh.unwrap_or(false);
    let is_name = url.host.parse::<IpAddr>().is_err();
    let there = path
        .target
        .as_ref()
        .is_none_or(|target| target.eq_ignore_ascii_case(&url.host));
    Ok(Request::Http(HttpRequest {
        resolves: fresh && is_name && there,
        url,
        verb: section.verb.unwrap_or_default(),
        version,
        fresh,
        trust,
        headers,
    }))
}

/// Whose certificates are believed; `without` says why there are none, and `help` how there would be.
fn trust(section: &ProbeSection, tls: bool, without: &str, help: &str) -> Result<Trust, Refusal> {
    let none = format!("{without} no certificates");
    match (&section.ca_file, section.insecure.unwrap_or(false)) {
        (Some(_), true) => {
            let what = "certificates are not verified: the authorities of a file say nothing";
            refuse("ca_file", what, "leave `insecure` out")
        }
        (Some(_), false) if !tls => refuse("ca_file", none, help),
        (None, true) if !tls => refuse("insecure", none, "leave it out"),
        (Some(file), false) => Ok(Trust::File(file.clone())),
        (None, true) => Ok(Trust::Anyone),
        (None, false) => Ok(Trust::System),
    }
}

fn dns(section: &ProbeSection, path: &Path) -> Result<Request, Refusal> {
    let Some(question) = &section.question else {
        let help = "write `question = \"example.org AAAA\"`";
        return refuse("method", "dns asks for nothing", help);
    };
    let question: Question = read("question", question, "a name and a type")?;
    let transport = section.transport.unwrap_or_default();
    let fresh = section.fresh.unwrap_or(false);
    if fresh && transport == DnsTransport::Udp {
        let what = "a question by UDP has no connection";
        return refuse(
            "fresh",
            what,
            "write `transport = \"tcp\"`, or leave `fresh` out",
        );
    }
    let tls = transport == DnsTransport::Tls;
    let without = format!("dns by {transport} has");
    if section.tls_name.is_some() && !tls {
        return refuse(
            "tls_name",
            format!("{without} no certificates"),
            "write `transport = \"tls\"`",
        );
    }
    let named = section.tls_name.as_ref().or(path.target.as_ref());
    Ok(Request::Dns(DnsRequest {
        question,
        transport,
        fresh,
        port: port(section)?.unwrap_or(transport.usual_port()),
        tls_name: named.filter(|_| tls).cloned(),
        trust: trust(section, tls, &without, "write `transport = \"tls\"`")?,
    }))
}
