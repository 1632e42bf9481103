//! Servers as they are typed: `HOST:PORT`, and URLs.

use crate::exit::Failed;
use delaylab_model::method::Method;
use delaylab_model::request::DnsTransport;

/// How the server of a URL is asked; `None`: no URL, or one of another kind.
pub fn method_of_url(target: &str) -> Option<Method> {
    match target.split_once("://")?.0 {
        "http" | "https" => Some(Method::Http),
        "dns" | "dns+tls" | "tls" => Some(Method::Dns),
        _ => None,
    }
}

/// `HOST:PORT` or `[ADDRESS]:PORT` taken apart; an IPv6 address alone is a host.
pub fn with_port(text: &str, given: Option<u16>) -> (String, Option<u16>) {
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

/// A name server and what it is asked.
#[derive(Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Name or address.
    pub host: String,
    /// Where one is given.
    pub port: Option<u16>,
    /// Where the target or the flag says one.
    pub transport: Option<DnsTransport>,
    /// The name and the type that a URL asks for.
    pub question: Option<String>,
}

/// Of a host, or of `dns://SERVER:PORT/NAME?type=TYPE`, as RFC 4501 has it; by TLS `tls://` or `dns+tls://`.
///
/// # Errors
/// No host, or a transport that is not the URL's.
pub fn name_server(
    target: &str,
    given_port: Option<u16>,
    given_transport: Option<DnsTransport>,
) -> Result<NameServer, Failed> {
    let mut asked = NameServer {
        host: target.to_owned(),
        port: given_port,
        transport: given_transport,
        question: None,
    };
    if let Some((scheme, rest)) = target.split_once("://") {
        if scheme != "dns" {
            if given_transport.is_some_and(|asked| asked != DnsTransport::Tls) {
                let what = "--transport: the URL says that TLS is to carry it";
                return Err(Failed::usage(what));
            }
            asked.transport = Some(DnsTransport::Tls);
        }
        let (server, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, query) = name.split_once('?').unwrap_or((name, ""));
        let of_type = |pair: &str| {
            let (key, value) = pair.split_once('=')?;
            key.eq_ignore_ascii_case("type").then(|| value.to_owned())
        };
        let kind = query.split([';', '&']).find_map(of_type);
        let kind = kind.unwrap_or_else(|| "A".to_owned());
        (asked.host, asked.port) = with_port(server, given_port);
        asked.question = (!name.is_empty()).then(|| format!("{name} {kind}"));
    }
    match asked.host.is_empty() {
        true => Err(Failed::usage(
            "which name server? dns://SERVER/NAME, or SERVER --method dns --question NAME",
        )),
        false => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_stand_behind_the_host() {
        let apart = |text| with_port(text, None);
        for (text, host, port) in [
            ("192.0.2.1:443", "192.0.2.1", Some(443)),
            ("example.org", "example.org", None),
            ("[2001:db8::1]:53", "[2001:db8::1]", Some(53)),
            ("2001:db8::1", "2001:db8::1", None),
            ("example.org:http", "example.org:http", None),
        ] {
            assert_eq!(apart(text), (host.to_owned(), port));
        }
        assert_eq!(with_port("a:1", Some(2)), ("a:1".to_owned(), Some(2)));
    }

    #[test]
    fn a_url_says_which_server_is_asked_for_what_and_by_what() {
        let read = |text| name_server(text, None, None).ok();
        let expected = |port, transport, question: Option<&str>| NameServer {
            host: "192.0.2.1".to_owned(),
            port,
            transport,
            question: question.map(str::to_owned),
        };
        for (text, server) in [
            ("192.0.2.1", expected(None, None, None)),
            ("dns://192.0.2.1/a.b", expected(None, None, Some("a.b A"))),
            (
                "dns://192.0.2.1:5300/a.b?type=AAAA",
                expected(Some(5300), None, Some("a.b AAAA")),
            ),
            (
                "tls://192.0.2.1",
                expected(None, Some(DnsTransport::Tls), None),
            ),
        ] {
            assert_eq!(read(text), Some(server), "{text}");
        }
        assert_eq!(read("dns:///a.b"), None);
        let udp = Some(DnsTransport::Udp);
        assert!(name_server("tls://192.0.2.1/a.b", None, udp).is_err());
    }
}
