//! What a probe asks a server: the fields of its section that say so.

use super::probe::{Wrong, wrong};
use delaylab_model::experiment::ProbeSection;
use delaylab_model::method::Method;
use delaylab_model::path::Path;
use delaylab_model::request::{
    DNS_PORT, DnsRequest, HttpRequest, HttpVersion, Question, Request, Trust, Url,
};
use std::net::IpAddr;
use std::str::FromStr;

/// The request; `None` where the method asks no server.
pub(super) fn request(section: &ProbeSection, path: &Path) -> Result<Option<Request>, Wrong> {
    not_of_others(section)?;
    match section.method {
        Method::TcpConnect => connect(section).map(Some),
        Method::Http => http(section, path).map(Some),
        Method::Dns => dns(section).map(Some),
        _ => Ok(None),
    }
}

/// Each field of a request, whose it is, and whether it is there.
fn not_of_others(section: &ProbeSection) -> Result<(), Wrong> {
    use Method::{Dns, Http, TcpConnect};
    let fields: [(&str, &[Method], bool); 10] = [
        ("url", &[Http], section.url.is_some()),
        ("verb", &[Http], section.verb.is_some()),
        ("http", &[Http], section.http.is_some()),
        ("fresh", &[Http], section.fresh.is_some()),
        ("ca_file", &[Http], section.ca_file.is_some()),
        ("insecure", &[Http], section.insecure.is_some()),
        ("question", &[Dns], section.question.is_some()),
        ("transport", &[Dns], section.transport.is_some()),
        ("port", &[TcpConnect, Dns], section.port.is_some()),
        ("close", &[TcpConnect], section.close.is_some()),
    ];
    let foreign =
        |(_, of, there): &(&str, &[Method], bool)| *there && !of.contains(&section.method);
    match fields.into_iter().find(foreign) {
        None => Ok(()),
        Some(("port", ..)) if section.method == Method::Http => wrong(
            "port",
            "the URL says the port",
            "write it there: http://host:8080/",
        ),
        Some((field, of, _)) => {
            let of: Vec<_> = of.iter().map(|method| method.name()).collect();
            let what = format!(
                "{} asks for no such thing: `{field}` is for method {}",
                section.method,
                of.join(" and ")
            );
            wrong(field, what, "leave it out")
        }
    }
}

/// A field that is written as a text.
fn read<T: FromStr<Err: ToString>>(
    field: &'static str,
    text: &str,
    help: &str,
) -> Result<T, Wrong> {
    text.parse()
        .or_else(|error: T::Err| wrong(field, error.to_string(), help))
}

fn port(section: &ProbeSection) -> Result<Option<u16>, Wrong> {
    match section.port {
        Some(0) => wrong("port", "port 0 is no port", "ports are 1 to 65535"),
        port => Ok(port),
    }
}

fn connect(section: &ProbeSection) -> Result<Request, Wrong> {
    match port(section)? {
        Some(port) => Ok(Request::Connect {
            port,
            close: section.close.unwrap_or_default(),
        }),
        None => wrong(
            "method",
            "to which port? tcp-connect has none by itself",
            "write `port = 443`",
        ),
    }
}

fn http(section: &ProbeSection, path: &Path) -> Result<Request, Wrong> {
    let Some(url) = &section.url else {
        let help = "write `url = \"https://example.org/\"`";
        return wrong("method", "http asks for nothing", help);
    };
    let url: Url = read("url", url, "an http:// or https:// URL")?;
    let trust = match (&section.ca_file, section.insecure.unwrap_or(false)) {
        (Some(_), true) => {
            let what = "certificates are not verified: the authorities of a file say nothing";
            return wrong("ca_file", what, "leave `insecure` out");
        }
        (Some(_), false) if !url.tls => {
            return wrong(
                "ca_file",
                "http:// has no certificates",
                "ask for an https:// URL",
            );
        }
        (None, true) if !url.tls => {
            return wrong("insecure", "http:// has no certificates", "leave it out");
        }
        (Some(file), false) => Trust::File(file.clone()),
        (None, true) => Trust::Anyone,
        (None, false) => Trust::System,
    };
    let version = match section.http {
        Some(HttpVersion::Best) if !url.tls => {
            let what = "over http:// no version is negotiated";
            return wrong("http", what, "write \"1.1\" or \"2\"");
        }
        asked => asked.unwrap_or(HttpVersion::usual(url.tls)),
    };
    let fresh = section.fresh.unwrap_or(false);
    let is_name = url.host.parse::<IpAddr>().is_err();
    let there = path
        .target
        .as_ref()
        .is_none_or(|target| *target == url.host);
    Ok(Request::Http(HttpRequest {
        resolves: fresh && is_name && there,
        url,
        verb: section.verb.unwrap_or_default(),
        version,
        fresh,
        trust,
    }))
}

fn dns(section: &ProbeSection) -> Result<Request, Wrong> {
    let Some(question) = &section.question else {
        let help = "write `question = \"example.org AAAA\"`";
        return wrong("method", "dns asks for nothing", help);
    };
    let question: Question = read("question", question, "a name and a type")?;
    Ok(Request::Dns(DnsRequest {
        question,
        transport: section.transport.unwrap_or_default(),
        port: port(section)?.unwrap_or(DNS_PORT),
    }))
}
