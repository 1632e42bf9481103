//! How this program starts itself as a helper: a guardian, or a process of the load.
//!
//! Running the program anew, rather than forking it, leaves nothing of the prober's address space
//! in the helpers, and is sound whatever its threads are doing.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The first argument of a helper, before its kind.
pub(super) const MARK: &str = "__delaylab-helper";
/// Set for helpers. A program that does not call [`run_helper_if_asked`](super::run_helper_if_asked) would apply a
/// condition in its helper, and so start helpers without end.
const NESTED: &str = "DELAYLAB_HELPER";
const READY: &[u8] = b"ready\n";

/// This program as a helper of this kind.
fn helper(kind: &str, args: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(MARK)
        .arg(kind)
        .args(args)
        .env(NESTED, "1")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Starts this program as a helper, in a process group of its own so that Ctrl-C is not for it,
/// and waits until it says that it is one.
pub(super) fn spawn(kind: &str, args: &[String]) -> io::Result<Child> {
    if std::env::var_os(NESTED).is_some() {
        return Err(io::Error::other(
            "this program does not call run_helper_if_asked()",
        ));
    }
    let mut child = helper(kind, args).spawn()?;
    match wait_until_ready(&mut child) {
        Ok(()) => Ok(child),
        Err(error) => {
            // The first error is the one to report.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

fn wait_until_ready(child: &mut Child) -> io::Result<()> {
    let mut said = [0; READY.len()];
    let mut stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    stdout.read_exact(&mut said)?;
    if said == READY {
        Ok(())
    } else {
        Err(io::Error::other("the helper is another program"))
    }
}

/// The helper's side of [`spawn`].
pub(super) fn say_ready() -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(READY)?;
    stdout.flush()
}
