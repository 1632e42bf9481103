//! What a server is asked, from the command line to the fields of an experiment.

use crate::args::ping::PingArgs;
use crate::exit::Failed;
use crate::server_target::{method_of_url, name_server, unknown_scheme, with_port};
use delaylab_model::method::Method;
use delaylab_model::request::{DnsTransport, Question, Url, Verb};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

/// The host that packets go to, and the fields of the probe that say what it is asked.
pub struct ServerProbe {
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
pub fn asked(args: &PingArgs) -> Result<ServerProbe, Failed> {
    let target = args.target();
    let method = args.method();
    if target.contains("://") && method.schemes().is_empty() {
        if method_of_url(target).is_none() {
            return Err(unknown_scheme(target));
        }
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
    let mut asked = ServerProbe {
        host: target.to_owned(),
        fields,
        port_of_kept: None,
    };
    if server.resolve.is_some() && !method.has_field("url") {
        return Err(no_url("--resolve"));
    }
    match method {
        Method::Http => asked.of_page(args)?,
        Method::Dns => asked.of_name(args)?,
        Method::TcpConnect => asked.of_port(args)?,
        _ => {}
    }
    Ok(asked)
}

fn no_url(flag: &str) -> Failed {
    Failed::usage(format!(
        "{flag}: goes with a URL, as in https://example.org/"
    ))
}

impl ServerProbe {
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
            false if args.target().parse::<Ipv6Addr>().is_ok() => {
                format!("http://[{}]/", args.target())
            }
            false => format!("http://{}/", args.target()),
        };
        let url: Url = text.parse().map_err(Failed::usage)?;
        self.host = match &args.server.resolve {
            Some(resolve) => address(resolve, &url)?,
            None => url.host.clone(),
        };
        self.set("url", json!(url.to_string()));
        self.port_of_kept = (!args.server.fresh).then_some(url.port);
        Ok(())
    }

    fn of_name(&mut self, args: &PingArgs) -> Result<(), Failed> {
        let server = name_server(args.target(), args.port, args.server.transport)?;
        self.host = server.host;
        self.set("transport", json!(server.transport));
        if let Some(question) = server.question {
            let asks = |text: &str| text.parse::<Question>().ok();
            let other = args.server.question.as_deref().filter(|other| {
                let [own, other] = [asks(&question), asks(other)];
                own.zip(other)
                    .is_none_or(|(own, other)| !own.is_same(&other))
            });
            if other.is_some() {
                return Err(Failed::usage(format!(
                    "--question: the URL asks `{question}` already"
                )));
            }
            self.set("question", json!(question));
        }
        let has_question = self
            .fields
            .iter()
            .any(|(name, value)| *name == "question" && !value.is_null());
        if !has_question {
            return Err(Failed::usage("which name? --question 'example.org AAAA'"));
        }
        self.set("port", json!(server.port));
        let kept = server
            .transport
            .filter(|transport| *transport != DnsTransport::Udp && !args.server.fresh);
        self.port_of_kept = kept.map(|transport| server.port.unwrap_or(transport.usual_port()));
        Ok(())
    }

    /// The port may stand behind the host.
    fn of_port(&mut self, args: &PingArgs) -> Result<(), Failed> {
        let (host, port) = with_port(args.target(), args.port);
        if port.is_none() {
            return Err(Failed::usage(format!(
                "--method tcp-connect: to which port? Write {host}:443, or add --port 443"
            )));
        }
        self.host = host;
        self.set("port", json!(port));
        Ok(())
    }
}

/// The address of `ADDRESS` or `NAME:PORT:ADDRESS`.
fn address(resolve: &str, url: &Url) -> Result<String, Failed> {
    // An IPv6 address may have a zone.
    let alone = resolve.split('%').next().map(str::parse::<IpAddr>);
    if !resolve.contains(':') || matches!(alone, Some(Ok(_))) {
        return Ok(resolve.to_owned());
    }
    let of_url = || {
        let (name, rest) = resolve.split_once(':')?;
        let (port, address) = rest.split_once(':')?;
        let same = name.eq_ignore_ascii_case(&url.host) && port.parse() == Ok(url.port);
        // As curl has it, an IPv6 address may stand in brackets.
        let bare = address
            .strip_prefix('[')
            .and_then(|address| address.strip_suffix(']'));
        let address = bare.unwrap_or(address);
        (same && !address.is_empty()).then(|| address.to_owned())
    };
    let (host, port) = (&url.host, url.port);
    of_url().ok_or_else(|| {
        Failed::usage(format!(
            "--resolve {resolve}: the URL asks {host} at port {port}: write ADDRESS, or {host}:{port}:ADDRESS"
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_may_stand_behind_the_name_and_port_of_the_url() {
        let url: Url = "http://Example.org:8080/".parse().unwrap();
        let read = |resolve| address(resolve, &url);
        for (resolve, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("example.org:8080:192.0.2.1", "192.0.2.1"),
            ("EXAMPLE.org:8080:192.0.2.1", "192.0.2.1"),
            ("Example.org:8080:2001:db8::1", "2001:db8::1"),
            ("example.org:8080:[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(read(resolve).ok().as_deref(), Some(expected), "{resolve}");
        }
        for wrong in [
            "example.org:80:192.0.2.1",
            "example.com:8080:192.0.2.1",
            "example.org:8080",
            "example.org:8080:",
            "192.0.2.1:8080",
        ] {
            let said = read(wrong).unwrap_err().message;
            assert!(said.contains("example.org:8080:ADDRESS"), "{said}");
        }
    }
}
