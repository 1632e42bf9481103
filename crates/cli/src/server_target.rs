//! Servers as they are typed: `HOST:PORT`, and URLs.

use crate::exit::Failed;
use delaylab_model::method::Method;
use delaylab_model::request::DnsTransport;
use delaylab_runner::target::port_behind;

/// How the server of a URL is asked; `None`: no URL, or one of another kind.
pub fn method_of_url(target: &str) -> Option<Method> {
    let scheme = scheme(target)?;
    Method::ALL
        .into_iter()
        .find(|method| method.schemes().contains(&&*scheme))
}

/// What stands before `://`, in lower case: upper case means the same (RFC 3986 §3.1).
fn scheme(target: &str) -> Option<String> {
    let (scheme, _) = target.split_once("://")?;
    Some(scheme.to_ascii_lowercase())
}

/// Nothing is asked by a URL of this scheme.
pub fn unknown_scheme(target: &str) -> Failed {
    let scheme = scheme(target).unwrap_or_default();
    Failed::usage(format!(
        "`{target}`: the scheme `{scheme}` is not known. Known are http, https, dns, dns+tls and tls; of any other \
         server a TCP port can be asked: HOST:PORT --method tcp-connect"
    ))
}

/// `HOST:PORT` or `[ADDRESS]:PORT` taken apart; an IPv6 address alone is a host.
pub fn with_port(text: &str, given: Option<u16>) -> (String, Option<u16>) {
    match port_behind(text).filter(|_| given.is_none()) {
        Some((host, port)) => (host.to_owned(), Some(port)),
        None => (text.to_owned(), given),
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
/// No host, a transport that is not the URL's, or a URL that is not of a name server.
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
        if method_of_url(target) != Some(Method::Dns) {
            return Err(Failed::usage(format!(
                "`{target}` is no URL of a name server: write dns://SERVER/NAME, or tls://SERVER/NAME"
            )));
        }
        if !scheme.eq_ignore_ascii_case("dns") {
            if given_transport.is_some_and(|asked| asked != DnsTransport::Tls) {
                let what = "--transport: the URL says that TLS is to carry it";
                return Err(Failed::usage(what));
            }
            asked.transport = Some(DnsTransport::Tls);
        }
        let (server, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (name, query) = name.split_once('?').unwrap_or((name, ""));
        let kind = question_type(target, query)?;
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

/// The type behind the `?` of a URL (RFC 4501: `type` and `class`); what else stands there would change the question.
fn question_type(target: &str, query: &str) -> Result<String, Failed> {
    let mut kind = "A".to_owned();
    for pair in query.split([';', '&']).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key.to_ascii_lowercase().as_str() {
            "type" if !value.is_empty() => value.clone_into(&mut kind),
            "class" if value.eq_ignore_ascii_case("in") => {}
            _ => {
                return Err(Failed::usage(format!(
                    "`{target}`: `{pair}` cannot be asked: behind `?` stands the type, as in ?type=AAAA, of class IN"
                )));
            }
        }
    }
    Ok(kind)
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
    fn a_scheme_says_how_a_server_is_asked_in_either_case() {
        for (text, method) in [
            ("http://a/", Some(Method::Http)),
            ("HTTPS://a/", Some(Method::Http)),
            ("DNS://a/b", Some(Method::Dns)),
            ("Tls://a/b", Some(Method::Dns)),
            ("ws://a/", None),
            ("a:80", None),
        ] {
            assert_eq!(method_of_url(text), method, "{text}");
        }
        let said = unknown_scheme("WS://a/").message;
        assert!(
            said.contains("`ws` is not known") && said.contains("https, dns"),
            "{said}"
        );
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
            ("DNS://192.0.2.1/a.b", expected(None, None, Some("a.b A"))),
            (
                "dns://192.0.2.1/a.b?CLASS=IN;TYPE=TXT",
                expected(None, None, Some("a.b TXT")),
            ),
            (
                "tls://192.0.2.1",
                expected(None, Some(DnsTransport::Tls), None),
            ),
            (
                "Dns+TLS://192.0.2.1",
                expected(None, Some(DnsTransport::Tls), None),
            ),
        ] {
            assert_eq!(read(text), Some(server), "{text}");
        }
        assert_eq!(read("dns:///a.b"), None);
        for text in [
            "ftp://192.0.2.1/a.b",
            "http://192.0.2.1/a.b",
            "dns://192.0.2.1/a.b?typ=AAAA",
            "dns://192.0.2.1/a.b?class=CH;type=TXT",
            "dns://192.0.2.1/a.b?type",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let udp = Some(DnsTransport::Udp);
        assert!(name_server("tls://192.0.2.1/a.b", None, udp).is_err());
    }
}
