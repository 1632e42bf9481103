//! Who is answered. On loopback, requests that name a loopback address or `localhost`: a page of another
//! site whose name was turned to this address (DNS rebinding) names that site, and is refused. On any
//! other address, who has the token: it stands in a header, or in a cookie that a page of another site never has.

use super::query::Query;
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use subtle::ConstantTimeEq;

/// The cookie that holds the token, with our port behind: cookies are those of a host, whatever the port
/// (RFC 6265, section 8.5), and another server there has a token of its own.
const OUR_COOKIE: &str = "delaylab";
/// The parameter that hands the token over, once.
pub(super) const PARAMETER: &str = "token";
/// Which site asks (Fetch Metadata).
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Letters of a token at least.
pub const SHORTEST: usize = 16;
/// Different ones at least.
const FEWEST: usize = 6;

/// A secret without which nothing is answered.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// It does not serve as a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has at least {SHORTEST} letters, digits, - and _, of which {FEWEST} are different, and nothing else"
)]
pub struct BadToken;

impl Token {
    /// Of a file's text; blanks around it do not count.
    ///
    /// # Errors
    /// Where it is too short to be a secret, or has what no cookie may have.
    pub fn from_text(text: &str) -> Result<Self, BadToken> {
        let text = text.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let different = text.chars().collect::<BTreeSet<_>>().len();
        if text.len() < SHORTEST || different < FEWEST || !text.chars().all(fits) {
            return Err(BadToken);
        }
        Ok(Self(text.to_owned()))
    }

    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered.
    Granted,
    /// It handed the token over: it gets this cookie, and goes on without the token in its address.
    SetCookie(String),
    /// The name that it came by is not ours.
    WrongHost,
    /// It has no token.
    NoToken,
    /// It has a wrong one.
    WrongToken,
    /// A page of another site had the browser send it.
    CrossSite,
}

/// Decides it.
pub(super) fn admit(
    headers: &HeaderMap,
    query: &Query,
    address: SocketAddr,
    token: Option<&Token>,
) -> Admission {
    if is_cross_site(headers) {
        return Admission::CrossSite;
    }
    let Some(token) = token else {
        let host = only(headers, HOST).is_some_and(|host| is_ours(host, address.port()));
        return if host {
            Admission::Granted
        } else {
            Admission::WrongHost
        };
    };
    let in_address = query.first(PARAMETER);
    if in_address.is_some_and(|given| token.is(given)) {
        let cookie = format!(
            "{OUR_COOKIE}-{}={}; Path=/; HttpOnly; SameSite=Strict",
            address.port(),
            token.0
        );
        return Admission::SetCookie(cookie);
    }
    let bearer = only(headers, AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let given: Vec<_> = bearer
        .into_iter()
        .chain(only(headers, COOKIE).and_then(|pairs| cookie(pairs, address.port())))
        .collect();
    if given.iter().any(|given| token.is(given)) {
        Admission::Granted
    } else if given.is_empty() && in_address.is_none() {
        Admission::NoToken
    } else {
        Admission::WrongToken
    }
}

/// The text of a header; `None` where it is missing, or there are several.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut found = headers.get_all(name).iter();
    let value = found.next()?;
    found.next().is_none().then(|| value.to_str().ok())?
}

/// Browsers say which site asks (Fetch Metadata): `same-origin`, or `none` where the user typed the address.
/// `same-site` is another port of this host. Other programs say nothing.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SITE).iter();
    sites.any(|site| site != "same-origin" && site != "none")
}

/// `localhost` or a loopback address, with our port. Port 80 goes without saying.
fn is_ours(host: &str, port: u16) -> bool {
    let name = match host.strip_suffix(&format!(":{port}")) {
        Some(name) => name,
        None if port == 80 => host,
        None => return false,
    };
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Our cookie among several.
fn cookie(header: &str, port: u16) -> Option<&str> {
    let ours = format!("{OUR_COOKIE}-{port}");
    let mut pairs = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == ours)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn admitted(query: &str, headers: &[(HeaderName, &str)], token: Option<&Token>) -> Admission {
        let headers = headers.iter().cloned();
        let headers = headers.map(|(name, value)| (name, value.parse().unwrap()));
        // Repeated headers are kept.
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        admit(&map, &Query::new(query), address(), token)
    }

    fn address() -> SocketAddr {
        "127.0.0.1:8864".parse().unwrap()
    }

    #[test]
    fn a_name_of_another_site_is_refused() {
        for ours in [
            "127.0.0.1:8864",
            "localhost:8864",
            "LocalHost:8864",
            "[::1]:8864",
            "127.1.2.3:8864",
        ] {
            assert_eq!(
                admitted("", &[(HOST, ours)], None),
                Admission::Granted,
                "{ours}"
            );
        }
        for other in [
            "evil.example:8864",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost.evil.example:8864",
            "192.0.2.1:8864",
            "",
        ] {
            assert_eq!(
                admitted("", &[(HOST, other)], None),
                Admission::WrongHost,
                "{other}"
            );
        }
        let ours = (HOST, "localhost:8864");
        for headers in [&[][..], &[ours.clone(), ours]] {
            assert_eq!(admitted("", headers, None), Admission::WrongHost);
        }
    }

    #[test]
    fn only_the_token_opens() {
        let token = Token::from_text(&format!("{SECRET}\n")).unwrap();
        let admitted =
            |query: &str, headers: &[(HeaderName, &str)]| admitted(query, headers, Some(&token));
        assert_eq!(admitted("", &[]), Admission::NoToken);
        let host = (HOST, "127.0.0.1:8864");
        assert_eq!(admitted("", &[host]), Admission::NoToken);
        assert_eq!(admitted("token=wrong", &[]), Admission::WrongToken);
        assert_eq!(
            admitted("", &[(COOKIE, "delaylab-8864=0123456789abcdee")]),
            Admission::WrongToken
        );
        // Another server's on this host.
        let other = "delaylab-8865=0123456789abcdee";
        assert_eq!(admitted("", &[(COOKIE, other)]), Admission::NoToken);
        let ours = format!("{other}; delaylab-8864={SECRET}");
        assert_eq!(admitted("", &[(COOKIE, &ours)]), Admission::Granted);
        let bearer = format!("Bearer {SECRET}");
        assert_eq!(
            admitted("", &[(AUTHORIZATION, &bearer)]),
            Admission::Granted
        );
        let Admission::SetCookie(cookie) = admitted(&format!("token={SECRET}"), &[]) else {
            panic!("the token was not taken");
        };
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        for (site, expected) in [
            ("cross-site", Admission::CrossSite),
            ("same-site", Admission::CrossSite),
            ("same-origin", Admission::Granted),
            ("none", Admission::Granted),
        ] {
            let headers = [(HOST, "127.0.0.1:8864"), (SITE, site)];
            assert_eq!(admitted("", &headers, None), expected);
        }
    }

    #[test]
    fn a_token_is_long_and_fits_a_cookie() {
        for bad in [
            "",
            "short",
            "0123456789abcdef;",
            "0123456789 abcdef",
            "aaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(Token::from_text(bad), Err(BadToken), "{bad}");
        }
        assert!(!format!("{:?}", Token::from_text(SECRET).unwrap()).contains(SECRET));
    }
}
