//! Unbound: a resolver that asks another server, or one that answers every name by itself.

use super::program::{Kind, Program, Setting};
use crate::tool::Tool;

/// How it is had and run.
pub const KIND: Kind = Kind {
    tool: Tool::new("unbound", "unbound"),
    program,
    has_pages: false,
};
/// Its configuration and arguments.
fn program(setting: &Setting<'_>) -> Program {
    let answers = match setting.placed.forward {
        Some(behind) => format!("forward-zone:\n    name: \".\"\n    forward-addr: {behind}\n"),
        None => {
            "    local-zone: \".\" redirect\n    local-data: \". 3600 A 192.0.2.1\"\n".to_owned()
        }
    };
    // Without the validator, which would ask for keys that no testbed has, and without the zones that it
    // answers by itself (RFC 6303, 6761): `test` is one of them.
    let text = format!(
        "server:
    interface: {}
    access-control: 0.0.0.0/0 allow
    num-threads: {}
    directory: \"{}\"
    pidfile: \"\"
    username: \"\"
    chroot: \"\"
    use-syslog: no
    log-time-ascii: yes
    verbosity: 0
    do-daemonize: no
    do-ip6: no
    incoming-num-tcp: 1000
    module-config: \"iterator\"
    unblock-lan-zones: yes
    local-zone: \"test.\" nodefault
    local-zone: \"invalid.\" nodefault
{answers}remote-control:
    control-enable: no
",
        setting.placed.address,
        setting.placed.server.workers(),
        setting.file(""),
    );
    setting.program(&["-d", "-p", "-c"], "unbound.conf", text)
}
