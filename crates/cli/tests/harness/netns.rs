//! Network namespaces and veth pairs. They are removed when the test ends, also by a panic; those of
//! a test process that was killed are removed by the next one.

use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// The prober's end. Each pair has namespaces of its own, so every test may use the same addresses.
pub const A4: &str = "10.232.0.1";
/// The reflector's end.
pub const B4: &str = "10.232.0.2";
/// The prober's end.
pub const A6: &str = "fd00:232::1";
/// The reflector's end.
pub const B6: &str = "fd00:232::2";
/// The interface in both.
pub const VETH: &str = "veth0";
/// What a reflector at one end is open to.
pub const BOTH_PREFIXES: &str = "10.232.0.0/16,fd00:232::/48";

const A_MAC: &str = "02:00:0a:e8:00:01";
const B_MAC: &str = "02:00:0a:e8:00:02";
const NAMES: &str = "dlab-t-";
static NEXT: AtomicU32 = AtomicU32::new(0);
static SWEEP: Once = Once::new();

/// One namespace.
pub struct Namespace {
    /// As `ip netns` knows it.
    pub name: String,
}

impl Namespace {
    /// Empty, and told from others of the test by this letter.
    pub fn new(end: char) -> Result<Self, String> {
        SWEEP.call_once(remove_leftovers);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAMES}{}-{n}-{end}", std::process::id());
        ip(&format!("netns add {name}"))?;
        Ok(Self { name })
    }

    /// Runs `ip -n NAME …`.
    pub fn ip(&self, words: &str) -> Result<(), String> {
        ip(&format!("-n {} {words}", self.name))
    }

    /// Puts a queueing discipline on the interface.
    pub fn qdisc(&self, words: &str) -> Result<(), String> {
        let words = format!("-n {} qdisc replace dev {VETH} root {words}", self.name);
        call("tc", &words)
    }

    /// Does this inside, on a thread of its own: sockets that it opens stay there.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(Path::new("/run/netns").join(&self.name)).unwrap();
        std::thread::scope(|scope| {
            let inside = scope.spawn(move || {
                setns(&namespace, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            inside.join().unwrap()
        })
    }

    /// A command inside. It is the same process: `ip netns exec` becomes it.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.name])
            .arg(program.as_ref());
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.name));
    }
}

/// Two namespaces with a veth pair between them.
pub struct Pair {
    /// Has [`A4`] and [`A6`].
    pub a: Namespace,
    /// Has [`B4`] and [`B6`].
    pub b: Namespace,
}

impl Pair {
    /// With this MTU. The error says what this machine lacks.
    pub fn new(mtu: u32) -> Result<Self, String> {
        let pair = Self {
            a: Namespace::new('a')?,
            b: Namespace::new('b')?,
        };
        let (a, b) = (&pair.a.name, &pair.b.name);
        ip(&format!(
            "link add {VETH} mtu {mtu} address {A_MAC} netns {a} type veth \
             peer name {VETH} mtu {mtu} address {B_MAC} netns {b}"
        ))?;
        for (end, v4, v6) in [(&pair.a, A4, A6), (&pair.b, B4, B6)] {
            end.ip(&format!("addr add {v4}/24 dev {VETH}"))?;
            end.ip(&format!("addr add {v6}/64 dev {VETH} nodad"))?;
            end.ip("link set lo up")?;
            end.ip(&format!("link set {VETH} up"))?;
        }
        // Neighbours are known from the start: on a new link their discovery can take a second.
        for (end, mac, others) in [(&pair.a, B_MAC, [B4, B6]), (&pair.b, A_MAC, [A4, A6])] {
            for address in others {
                end.ip(&format!(
                    "neigh replace {address} lladdr {mac} dev {VETH} nud permanent"
                ))?;
            }
        }
        Ok(pair)
    }
}

fn ip(words: &str) -> Result<(), String> {
    call("ip", words)
}

fn call(program: &str, words: &str) -> Result<(), String> {
    let done = Command::new(program)
        .args(words.split_whitespace())
        .output()
        .map_err(|error| format!("no `{program}` to build a network with: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("`{program} {words}` failed: {}", said.trim()))
}

/// Removes namespaces whose test process is gone. One with the number of this process is left over, too: this process has made
/// none yet.
fn remove_leftovers() {
    let Ok(entries) = std::fs::read_dir("/run/netns") else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(NAMES).and_then(|n| n.split('-').next());
        let own = std::process::id().to_string();
        if pid.is_some_and(|pid| pid == own || !Path::new("/proc").join(pid).exists()) {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}
