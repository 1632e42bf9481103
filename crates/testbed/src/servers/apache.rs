//! Apache as a web server, on port 80 alone.

use super::pages;
use super::program::{Kind, Program, Setting};
use crate::tool::Tool;
use delaylab_model::path::server::page_size;
use std::fmt::Write;

/// How it is had and run.
pub const KIND: Kind = Kind {
    tool: Tool::new("apache2", "apache2"),
    program,
    has_pages: true,
};

/// Where Debian has its modules.
const MODULES: &str = "/usr/lib/apache2/modules";

/// Its configuration and arguments: one process, with as many threads as it is to work at once.
fn program(setting: &Setting<'_>) -> Program {
    let (workers, folder) = (setting.placed.server.workers(), setting.file(""));
    let mut text = format!(
        "ServerRoot {folder}
PidFile {folder}pid
Mutex pthread
ServerName {address}
Listen {address}:80
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule alias_module {MODULES}/mod_alias.so
User www-data
Group www-data
ServerLimit 1
StartServers 1
ThreadLimit {workers}
ThreadsPerChild {workers}
MaxRequestWorkers {workers}
MinSpareThreads 1
MaxSpareThreads {most}
AsyncRequestWorkerFactor 1000
MaxKeepAliveRequests 0
KeepAliveTimeout 3600
ErrorLog /dev/stderr
DocumentRoot {folder}
<Directory {folder}>
    Require all granted
</Directory>
",
        address = setting.placed.address,
        most = workers + 1,
    );
    for page in pages::named(setting.wanted) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "AliasMatch \"/{page}$\" \"{folder}{}\"",
            page_size(page)
        );
    }
    let _ = writeln!(text, "AliasMatch \"^/\" \"{folder}{}\"", page_size(""));
    let mut program = setting.program(&["-D", "FOREGROUND", "-f"], "apache.conf", text);
    program.files.extend(pages::files(setting.wanted));
    program
}
