//! The kernel's tracer (tracefs): an instance of our own, with buffers and settings that nobody
//! else sees.
//!
//! | module | holds |
//! |---|---|
//! | [`event`] | what an entry of the buffers says: switches, interrupts, softirqs |
//! | [`format`](mod@format) | where an event keeps its fields, as the kernel describes it |
//! | [`page`] | the buffers' pages as the kernel hands them out |
//!
//! An instance does not vanish with its process. [`remove`] undoes one, from any process that may;
//! [`Tracefs::leftovers`] finds those whose process is gone.

pub mod event;
pub mod format;
pub mod page;

use crate::cpu_list::Cpus;
use crate::owned_name;
use event::Decoder;
use format::Format;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// tracefs, wherever it is. To be used by the thread that opened it, as what is made from it.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// A mount that is in no directory: it vanishes when this is closed.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds it where it is mounted; elsewhere mounts it for this process alone, in no directory.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN or under lockdown, `NoDevice` where the kernel has
    /// no tracer.
    pub fn open() -> io::Result<Self> {
        let usable = |root: &&Path| fs::read_dir(root.join("instances")).is_ok();
        if let Some(root) = MOUNTED.iter().map(Path::new).find(usable) {
            return Ok(Self {
                root: root.into(),
                _mount: None,
            });
        }
        let mount = mount()?;
        Ok(Self {
            // Not /proc/self: this thread may have a table of descriptors of its own.
            root: format!("/proc/thread-self/fd/{}", mount.as_raw_fd()).into(),
            _mount: Some(mount),
        })
    }

    fn instances(&self) -> PathBuf {
        self.root.join("instances")
    }

    /// Makes an instance, which traces nothing yet, with the clock of the record.
    ///
    /// # Errors
    /// Also where the kernel's pages are unlike those that [`page`] reads.
    pub fn make(self, name: &str) -> io::Result<Instance> {
        page::check_header(&self.header()?)?;
        let instance = Instance {
            dir: self.instances().join(name),
            _tracefs: self,
        };
        fs::create_dir(&instance.dir)?;
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        // The names of processes are in the events that we ask for: no need to keep them beside.
        instance.write("trace_options", "norecord-cmd")?;
        Ok(instance)
    }

    /// The kernel hands this file out in one piece, or cut off.
    fn header(&self) -> io::Result<String> {
        let mut bytes = [0; 4096];
        let length = File::open(self.root.join("events/header_page"))?.read(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    /// Removes an instance. Fine where it is gone already.
    ///
    /// # Errors
    /// `ResourceBusy` while somebody has one of its buffers open.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_dir(self.instances().join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Names of all instances, whosever they are.
    pub fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.instances()) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).collect()
    }

    /// Instances of ours whose process is gone.
    pub fn leftovers(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| owned_name::is_left_over(name));
        names
    }
}

/// Removes an instance by its name, from any process that may.
pub fn remove(name: &str) -> io::Result<()> {
    Tracefs::open()?.remove(name)
}

fn mount() -> io::Result<OwnedFd> {
    let context = fsopen(c"tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let (flags, attributes) = (FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty());
    Ok(fsmount(&context, flags, attributes)?)
}

/// A tracer of our own: which events it writes, and on which CPUs.
#[derive(Debug)]
pub struct Instance {
    dir: PathBuf,
    /// The directory is below its mount.
    _tracefs: Tracefs,
}

impl Instance {
    /// Watches these CPUs, with a buffer of so many KiB for each.
    pub fn watch(&self, cpus: &Cpus, buffer_kib: usize) -> io::Result<()> {
        self.write("tracing_cpumask", &mask(cpus))?;
        cpus.iter().try_for_each(|cpu| {
            let file = format!("per_cpu/cpu{cpu}/buffer_size_kb");
            self.write(&file, &buffer_kib.to_string())
        })
    }

    /// Has these events written, and says how to read them. Events that this kernel has not are
    /// left out.
    ///
    /// # Errors
    /// Where this kernel has none of them.
    pub fn enable(&self, events: &[&'static str]) -> io::Result<Decoder> {
        let mut decoder = Decoder::default();
        for name in events {
            let Ok(text) = fs::read_to_string(self.dir.join(format!("events/{name}/format")))
            else {
                continue;
            };
            if decoder.add(name, &Format::parse(&text)) {
                self.write(&format!("events/{name}/enable"), "1")?;
            }
        }
        if decoder.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(decoder)
    }

    /// Starts or stops writing.
    pub fn trace(&self, on: bool) -> io::Result<()> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }

    /// A CPU's buffer.
    pub fn buffer(&self, cpu: usize) -> io::Result<Buffer> {
        let path = self.dir.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        Ok(Buffer { file })
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.dir.join(file);
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
            .map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))
    }
}

/// What one CPU wrote and nobody has read yet.
#[derive(Debug)]
pub struct Buffer {
    file: File,
}

impl Buffer {
    /// Takes the next page out, never waits for one. `None`: there is nothing more now.
    pub fn read<'a>(&mut self, into: &'a mut [u8; page::SIZE]) -> io::Result<Option<&'a [u8]>> {
        match self.file.read(into) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(&into[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// CPUs as a bit mask in hexadecimal, 32 to a group: how tracefs takes them.
fn mask(cpus: &Cpus) -> String {
    let groups = cpus.last().map_or(1, |last| last / 32 + 1);
    let mut words = vec![0_u32; groups];
    for cpu in cpus {
        words[cpu / 32] |= 1 << (cpu % 32);
    }
    let texts: Vec<String> = words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn masks_are_the_kernels() {
        assert_eq!(mask(&Cpus::from([1])), "00000002");
        assert_eq!(mask(&Cpus::from([0, 31, 33])), "00000002,80000001");
        assert_eq!(mask(&Cpus::new()), "00000000");
    }

    #[test]
    fn an_instance_traces_its_own_thread_and_goes() {
        let tracefs = match Tracefs::open() {
            Ok(tracefs) => tracefs,
            Err(error) => return println!("skipped: no tracefs: {error}"),
        };
        let name = owned_name::of_this_thread();
        let instance = tracefs.make(&name).unwrap();
        let cpu = usize::from(crate::clock::current_cpu().unwrap());
        crate::scheduling::pin(cpu).unwrap();
        instance.watch(&Cpus::from([cpu]), 64).unwrap();
        let decoder = instance.enable(&event::ALL).unwrap();
        instance.trace(true).unwrap();
        let from = crate::clock::monotonic();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let until = crate::clock::monotonic();
        instance.trace(false).unwrap();
        let mut buffer = instance.buffer(cpu).unwrap();
        let me = crate::process::thread_id();
        let mut left = Vec::new();
        let mut bytes = [0; page::SIZE];
        while let Some(bytes) = buffer.read(&mut bytes).unwrap() {
            let page = page::Page::parse(bytes).unwrap();
            for entry in page.entries() {
                if let Some(event::Event::Switch { from, .. }) = decoder.decode(entry.payload)
                    && from.id == me
                {
                    left.push(entry.time);
                }
            }
        }
        assert!(
            left.iter().any(|time| (from..until).contains(time)),
            "{left:?}"
        );
        drop(buffer);
        drop(instance);
        let there = || Tracefs::open().unwrap().names().contains(&name);
        assert!(there() && !Tracefs::open().unwrap().leftovers().contains(&name));
        remove(&name).unwrap();
        assert!(!there());
        // Nothing is left to be done, which is fine.
        remove(&name).unwrap();
    }
}
