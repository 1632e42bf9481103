//! nginx as a web server, or as a proxy of one.

use super::pages;
use super::program::{KEY, Kind, Program, Setting};
use crate::tool::Tool;
use delaylab_kernel::namespace;
use delaylab_model::path::server::page_size;
use std::fmt::Write;

/// How it is had and run.
pub const KIND: Kind = Kind {
    tool: Tool::new("nginx", "nginx-light"),
    program,
    has_pages: true,
};

/// Its configuration and arguments.
fn program(setting: &Setting<'_>) -> Program {
    let (folder, identity) = (setting.file(""), setting.identity);
    let words = ["-e", "stderr", "-p", folder.as_str(), "-c"];
    let mut program = setting.program(&words, "nginx.conf", configuration(setting));
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    program.files.extend([
        file("certificate.pem", &identity.certificate),
        file(KEY, &identity.key),
    ]);
    program.files.extend(pages::files(setting.wanted));
    program
}

fn configuration(setting: &Setting<'_>) -> String {
    let address = setting.placed.address;
    // Its workers become another user, and root of its own namespace knows none.
    let user = match namespace::has_one_user() {
        true => "user root;",
        false => "",
    };
    let mut text = format!(
        "daemon off;
{user}
worker_processes {};
pid {};
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    default_type text/plain;
    sendfile on;
    keepalive_requests 1000000000;
    keepalive_timeout 1d;
    gzip_comp_level 9;
    gzip_min_length 0;
    gzip_types *;
    client_body_temp_path {};
    proxy_temp_path {};
    fastcgi_temp_path {};
    uwsgi_temp_path {};
    scgi_temp_path {};
",
        setting.placed.server.workers(),
        setting.file("nginx.pid"),
        setting.file("bodies"),
        setting.file("replies"),
        // Never used, but made at the start, and by default where a user may not.
        setting.file("fastcgi"),
        setting.file("uwsgi"),
        setting.file("scgi"),
    );
    // Writing to a String cannot fail.
    if let Some(behind) = setting.placed.forward {
        let _ = writeln!(
            text,
            "    upstream behind {{ server {behind}:80; keepalive 64; }}"
        );
    }
    let _ = write!(
        text,
        "    server {{
        listen {address}:80;
        listen {address}:443 ssl http2;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
{}    }}
}}
",
        match setting.placed.forward {
            Some(_) => PROXIED.to_owned(),
            None => locations(setting),
        }
    );
    text
}

/// Every page is another server's.
const PROXIED: &str = "        location / { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection \"\"; }
";

/// Of each page: under `/gzip/` it is compressed for who accepts it.
fn locations(setting: &Setting<'_>) -> String {
    let mut text = format!("        root {};\n", setting.file(""));
    for page in pages::named(setting.wanted) {
        let size = page_size(page);
        let _ = writeln!(
            text,
            "        location ~ \"^/gzip/(.*/)?{page}$\" {{ gzip on; rewrite ^ /{size} break; }}
        location ~ \"/{page}$\" {{ rewrite ^ /{size} break; }}"
        );
    }
    let default = page_size("");
    let _ = writeln!(text, "        location / {{ rewrite ^ /{default} break; }}");
    text
}
