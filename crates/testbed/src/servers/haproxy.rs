//! HAProxy before another web server.

use super::program::{Kind, Program, Setting};
use crate::tool::Tool;

/// How it is had and run.
pub const KIND: Kind = Kind {
    tool: Tool::new("haproxy", "haproxy"),
    program,
    has_pages: false,
};
/// Its configuration and arguments.
fn program(setting: &Setting<'_>) -> Program {
    let behind = setting.placed.forward.unwrap_or(setting.placed.address);
    let text = format!(
        "global
    nbthread {}
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 1h
    timeout server 1m
frontend asked
    bind {}:80
    default_backend behind
backend behind
    server behind {behind}:80
",
        setting.placed.server.workers(),
        setting.placed.address,
    );
    setting.program(&["-db", "-f"], "haproxy.cfg", text)
}
