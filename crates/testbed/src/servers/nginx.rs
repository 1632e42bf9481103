//! nginx as a web server, or as a proxy of one.

use super::program::{Program, Setting, Tool};
use delaylab_model::path::server::page_size;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Its command.
pub const TOOL: Tool = Tool {
    command: "nginx",
    package: "nginx-light",
};
/// What pages are full of: text compresses as pages do.
const WORDS: &[u8] = b"delay jitter queue buffer window packet switch host path clock loss rate ";

/// nginx, told so.
pub fn program(setting: &Setting<'_>) -> Program {
    let sizes: BTreeSet<u64> = setting
        .wanted
        .pages
        .iter()
        .map(|page| page_size(page))
        .collect();
    let mut files = vec![
        ("nginx.conf".to_owned(), configuration(setting).into_bytes()),
        (
            "certificate.pem".to_owned(),
            setting.identity.certificate.clone().into_bytes(),
        ),
        (
            "key.pem".to_owned(),
            setting.identity.key.clone().into_bytes(),
        ),
    ];
    files.extend(sizes.into_iter().map(|size| (size.to_string(), page(size))));
    let words = ["-e", "stderr", "-p"].map(str::to_owned).into_iter();
    let rest = [
        setting.file(""),
        "-c".to_owned(),
        setting.file("nginx.conf"),
    ];
    Program {
        tool: TOOL,
        arguments: words.chain(rest).collect(),
        files,
    }
}

/// Text of no great variety, none of it like the next: a generator that begins anew for each page.
fn page(size: u64) -> Vec<u8> {
    let mut state: u32 = 1;
    let mut text = Vec::with_capacity(size as usize);
    while (text.len() as u64) < size {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let from = (state >> 16) as usize % (WORDS.len() - 8);
        text.extend_from_slice(&WORDS[from..from + 8]);
    }
    text.truncate(size as usize);
    text
}

fn configuration(setting: &Setting<'_>) -> String {
    let address = setting.placed.address;
    let mut text = format!(
        "daemon off;
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
",
        setting.placed.server.workers(),
        setting.file("nginx.pid"),
        setting.file("bodies"),
        setting.file("replies"),
    );
    // Writing to a String cannot fail.
    let _ = match setting.placed.forward {
        Some(behind) => write!(
            text,
            "    upstream behind {{ server {behind}:80; keepalive 64; }}
    server {{
        listen {address}:80;
        location / {{ proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection \"\"; }}
    }}
}}
"
        ),
        None => write!(
            text,
            "    server {{
        listen {address}:80;
        listen {address}:443 ssl http2;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        root {};
{}    }}
}}
",
            setting.file(""),
            locations(setting)
        ),
    };
    text
}

/// Of each page: under `/gzip/` it is compressed for who accepts it.
fn locations(setting: &Setting<'_>) -> String {
    let mut text = String::new();
    // Other texts say no size, and could say something to nginx.
    let plain = |page: &&String| page.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for page in setting.wanted.pages.iter().filter(plain) {
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
