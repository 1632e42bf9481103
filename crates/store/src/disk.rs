//! Every call by which a run is written. Tests put a disk that fails in place of the real one; reading stays with the
//! system.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Where runs are written. Each call either happens or fails; what it changed is sure to be there after a power cut once
/// the file, or the folder of the name, is synced.
pub trait Disk: Debug + Send + Sync {
    /// Creates a file to write to, empty: what a file of this name held is gone.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Creates a file to write to. Fails where something has this name.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file or a folder another name, in place of the file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name.
    fn hard_link(&self, file: &Path, name: &Path) -> io::Result<()>;

    /// Makes a link to a name.
    fn symlink(&self, target: &Path, name: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder and what is in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Makes sure of the names in a folder.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes sure of all that lies in a folder, at any depth: what it holds, and the names.
    fn sync_all(&self, path: &Path) -> io::Result<()>;
}

/// A file that is being written.
pub trait DiskFile: Write + Seek + Debug + Send {
    /// Cuts it to this length.
    fn set_len(&mut self, length: u64) -> io::Result<()>;

    /// Makes sure of what it holds. After an error nobody knows what of it is there: the system may drop what it could
    /// not write, and say nothing of it the next time.
    fn sync(&mut self) -> io::Result<()>;
}

/// A disk that many hold.
pub type SharedDisk = Arc<dyn Disk>;

/// The system's.
#[derive(Debug, Clone, Copy)]
pub struct RealDisk {
    /// Do syncs wait for it?
    syncs: bool,
}

impl RealDisk {
    /// For whoever holds one together with others.
    pub fn shared() -> SharedDisk {
        Arc::new(Self { syncs: true })
    }

    /// For what another process takes over at once, or makes anew: nothing is made sure of.
    pub fn scratch() -> SharedDisk {
        Arc::new(Self { syncs: false })
    }

    fn file(self, file: File) -> Box<dyn DiskFile> {
        match self.syncs {
            true => Box::new(file),
            false => Box::new(ScratchFile(file)),
        }
    }
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(File::create(path)?))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(File::create_new(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn hard_link(&self, file: &Path, name: &Path) -> io::Result<()> {
        fs::hard_link(file, name)
    }

    fn symlink(&self, target: &Path, name: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, name)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self.syncs {
            true => File::open(path)?.sync_all(),
            false => Ok(()),
        }
    }

    /// Of the whole file system: one wait, where each of a thousand files would have its own.
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        match self.syncs {
            true => Ok(rustix::fs::syncfs(File::open(path)?)?),
            false => Ok(()),
        }
    }
}

impl DiskFile for File {
    fn set_len(&mut self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file that is not made sure of.
#[derive(Debug)]
struct ScratchFile(File);

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl DiskFile for ScratchFile {
    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
