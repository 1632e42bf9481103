//! A disk that fails when it is told to, and that knows what a power cut may leave of it.
//!
//! What is written goes into a real folder, as into the system's memory: readers find it there. Besides, the disk keeps
//! what is sure to be there after a power cut: of a file what it held when it was synced, of a folder the names that it
//! had when it was synced. Of what came later, a power cut leaves any part ([`Picture::power_cut`]).

use delaylab_stats::random::SplitMix;
use delaylab_store::disk::{Disk, DiskFile};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Input/output error.
pub const EIO: i32 = 5;
/// No space left on device.
pub const ENOSPC: i32 = 28;

/// What one call does instead of what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A write takes half of the bytes, and says so. Other calls are carried out.
    Short,
    /// It fails, once, and changes nothing. Of a file that was to be synced, the system drops what it could not write,
    /// and does not say so again.
    Fails(i32),
    /// The same, but it has done half of it.
    FailsHalfway(i32),
    /// From this call on, none succeeds that needs room.
    IsFull,
}

/// A disk in a folder.
#[derive(Debug, Clone)]
pub struct FaultyDisk {
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    now: Volume,
    calls: u64,
    pictures: Option<Vec<Picture>>,
    fault: Option<(u64, Fault)>,
    /// What was asked for when the fault struck.
    struck: Option<Call>,
}

/// One call of the disk.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub path: PathBuf,
}

/// The disk before one of its calls.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The call that follows.
    pub next: Call,
    volume: Volume,
}

/// What is on the disk, and what of it is sure.
#[derive(Debug, Clone, Default)]
struct Volume {
    /// As readers see them.
    names: Names,
    /// As they are after a power cut if nothing else is left.
    sure_names: Names,
    /// What lies between, in the order in which it came.
    unsure: Vec<Change>,
    files: BTreeMap<u64, Arc<Content>>,
    last_number: u64,
}

/// A name in a folder, which is known by its number. The root's is 0.
type Place = (u64, OsString);
type Names = BTreeMap<Place, Node>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(u64),
    Folder(u64),
    Link(PathBuf),
}

#[derive(Debug, Clone)]
struct Change {
    what: What,
    /// The folders that are to be synced until it is sure.
    waits_for: BTreeSet<u64>,
}

#[derive(Debug, Clone)]
enum What {
    There(Place, Node),
    Gone(Place),
    Moved(Place, Place, Node),
}

/// A file's bytes.
#[derive(Debug, Clone, Default)]
struct Content {
    now: Vec<u8>,
    sure: Vec<u8>,
    /// Written and not synced: from where to where.
    unsure: Vec<(usize, usize)>,
}

impl FaultyDisk {
    /// Of what this folder holds, which is sure to be there. It does all that it is asked for.
    pub fn new(root: &Path) -> Self {
        let mut volume = Volume::default();
        volume.load(root, 0);
        volume.sure_names = volume.names.clone();
        let state = State {
            now: volume,
            calls: 0,
            pictures: None,
            fault: None,
            struck: None,
        };
        Self {
            root: root.to_owned(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Keeps a picture of itself before each call.
    pub fn with_pictures(self) -> Self {
        self.lock().pictures = Some(Vec::new());
        self
    }

    /// Has a fault in this call, counted from 0.
    pub fn with_fault(self, call: u64, fault: Fault) -> Self {
        self.lock().fault = Some((call, fault));
        self
    }

    /// Nothing fails any more.
    pub fn mend(&self) {
        self.lock().fault = None;
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// The call in which the fault struck, if it did.
    pub fn struck(&self) -> Option<Call> {
        self.lock().struck.clone()
    }

    /// Before each call so far, and now.
    pub fn pictures(&self) -> Vec<Picture> {
        let state = self.lock();
        let mut pictures = state.pictures.clone().unwrap_or_default();
        let next = Call {
            name: "nothing",
            path: PathBuf::new(),
        };
        pictures.push(Picture {
            next,
            volume: state.now.clone(),
        });
        pictures
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Counts a call, and says whether it has a fault.
    fn call(&self, name: &'static str, path: &Path) -> (MutexGuard<'_, State>, Option<Fault>) {
        let mut state = self.lock();
        let call = Call {
            name,
            path: path.to_owned(),
        };
        let State { now, pictures, .. } = &mut *state;
        if let Some(pictures) = pictures {
            pictures.push(Picture {
                next: call.clone(),
                volume: now.clone(),
            });
        }
        let number = state.calls;
        state.calls += 1;
        let needs_room = ["create", "write", "create_dir", "rename", "hard_link"].contains(&name);
        let fault = match state.fault {
            Some((at, Fault::IsFull)) if number >= at && needs_room => Some(Fault::Fails(ENOSPC)),
            Some((at, fault)) if number == at && fault != Fault::IsFull => Some(fault),
            _ => None,
        };
        if fault.is_some() && state.struck.is_none() {
            state.struck = Some(call);
        }
        (state, fault)
    }

    /// The same of a call that is done or not: never by halves.
    fn whole_call(&self, name: &'static str, path: &Path) -> io::Result<MutexGuard<'_, State>> {
        match self.call(name, path) {
            (_, Some(Fault::Fails(errno) | Fault::FailsHalfway(errno))) => {
                Err(io::Error::from_raw_os_error(errno))
            }
            (state, _) => Ok(state),
        }
    }

    fn open(
        &self,
        path: &Path,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.whole_call("create", path)?;
        let file = open(path)?;
        let place = self.place(&state.now, path)?;
        let number = state.now.create(place);
        Ok(Box::new(FaultyFile {
            disk: self.clone(),
            path: path.to_owned(),
            file,
            number,
            at: 0,
        }))
    }

    fn place(&self, volume: &Volume, path: &Path) -> io::Result<Place> {
        let within = path.strip_prefix(&self.root).unwrap_or_else(|_| {
            panic!("{} is not on this disk", path.display());
        });
        let name = within.file_name().ok_or(ErrorKind::InvalidInput)?;
        let folder = within.parent().unwrap_or(Path::new(""));
        Ok((volume.folder(folder)?, name.to_owned()))
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.open(path, |path| File::create(path))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.open(path, |path| File::create_new(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.whole_call("rename", to)?;
        fs::rename(from, to)?;
        let (from, to) = (self.place(&state.now, from)?, self.place(&state.now, to)?);
        state.now.rename(from, to);
        Ok(())
    }

    fn hard_link(&self, file: &Path, name: &Path) -> io::Result<()> {
        let mut state = self.whole_call("hard_link", name)?;
        fs::hard_link(file, name)?;
        let node = state.now.names[&self.place(&state.now, file)?].clone();
        let place = self.place(&state.now, name)?;
        state.now.add(place, node);
        Ok(())
    }

    fn symlink(&self, target: &Path, name: &Path) -> io::Result<()> {
        let mut state = self.whole_call("symlink", name)?;
        std::os::unix::fs::symlink(target, name)?;
        let place = self.place(&state.now, name)?;
        state.now.add(place, Node::Link(target.to_owned()));
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.whole_call("remove_file", path)?;
        fs::remove_file(path)?;
        let place = self.place(&state.now, path)?;
        state.now.remove(place);
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.whole_call("create_dir", path)?;
        fs::create_dir(path)?;
        let place = self.place(&state.now, path)?;
        let number = state.now.number();
        state.now.add(place, Node::Folder(number));
        Ok(())
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let (mut state, fault) = self.call("remove_dir_all", path);
        if let Some(Fault::Fails(errno)) = fault {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let place = self.place(&state.now, path)?;
        let inside = state.now.inside(&place);
        if let Some(Fault::FailsHalfway(errno)) = fault {
            for place in &inside[..inside.len() / 2] {
                fs::remove_file(path.join(&place.1))?;
                state.now.remove(place.clone());
            }
            return Err(io::Error::from_raw_os_error(errno));
        }
        fs::remove_dir_all(path)?;
        state.now.remove_all(place);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.whole_call("sync_dir", path)?;
        // What is above the disk's folder is another disk's.
        if let Ok(within) = path.strip_prefix(&self.root) {
            let folder = state.now.folder(within)?;
            state.now.sync_folder(folder);
        }
        Ok(())
    }

    /// Of a folder that others wrote, of which this disk knows nothing.
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        self.whole_call("sync_all", path).map(drop)
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: FaultyDisk,
    path: PathBuf,
    file: File,
    number: u64,
    at: usize,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut state, fault) = self.disk.call("write", &self.path);
        let count = match fault {
            None => bytes.len(),
            Some(Fault::Fails(_) | Fault::IsFull) => 0,
            Some(Fault::Short | Fault::FailsHalfway(_)) => bytes.len().div_ceil(2),
        };
        self.file.write_all(&bytes[..count])?;
        state
            .now
            .content(self.number)
            .write(self.at, &bytes[..count]);
        self.at += count;
        match fault {
            Some(Fault::Fails(errno) | Fault::FailsHalfway(errno)) => {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for FaultyFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.file.seek(to)?;
        self.at = usize::try_from(at).unwrap();
        Ok(at)
    }
}

impl DiskFile for FaultyFile {
    fn set_len(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.disk.whole_call("set_len", &self.path)?;
        self.file.set_len(length)?;
        let length = usize::try_from(length).unwrap();
        state.now.content(self.number).now.resize(length, 0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let (mut state, fault) = self.disk.call("sync", &self.path);
        let content = state.now.content(self.number);
        match fault {
            Some(Fault::Fails(errno) | Fault::FailsHalfway(errno)) => {
                content.unsure.clear();
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => {
                content.sync();
                Ok(())
            }
        }
    }
}

impl Content {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        self.now.resize(self.now.len().max(end), 0);
        self.now[at..end].copy_from_slice(bytes);
        self.unsure.push((at, end));
    }

    fn sync(&mut self) {
        self.sure.resize(self.now.len(), 0);
        for (from, to) in std::mem::take(&mut self.unsure) {
            let to = to.min(self.now.len());
            let from = from.min(to);
            self.sure[from..to].copy_from_slice(&self.now[from..to]);
        }
    }

    /// What a power cut may leave: all of it, what is sure, or a part of the rest, perhaps with zeros where
    /// more was to come.
    fn left(&self, random: &mut SplitMix) -> Vec<u8> {
        let first = self.unsure.iter().map(|(from, _)| *from).min();
        let first = first.unwrap_or(0).min(self.now.len());
        let cut = first + random.below(self.now.len() - first + 1);
        match random.below(4) {
            0 => self.now.clone(),
            1 => self.sure.clone(),
            how => {
                let mut left = self.sure.clone();
                for &(from, to) in &self.unsure {
                    let to = to.min(cut);
                    if from < to {
                        left.resize(left.len().max(to), 0);
                        left[from..to].copy_from_slice(&self.now[from..to]);
                    }
                }
                if how == 3 {
                    left.resize(left.len().max(self.now.len()), 0);
                }
                left
            }
        }
    }
}

impl Volume {
    /// Takes up what a real folder holds.
    fn load(&mut self, path: &Path, folder: u64) {
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let number = self.number();
            let node = if kind.is_dir() {
                self.load(&entry.path(), number);
                Node::Folder(number)
            } else if kind.is_symlink() {
                Node::Link(fs::read_link(entry.path()).unwrap())
            } else {
                let mut now = Vec::new();
                File::open(entry.path())
                    .unwrap()
                    .read_to_end(&mut now)
                    .unwrap();
                let sure = now.clone();
                let unsure = Vec::new();
                self.files
                    .insert(number, Arc::new(Content { now, sure, unsure }));
                Node::File(number)
            };
            self.names.insert((folder, entry.file_name()), node);
        }
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn folder(&self, path: &Path) -> io::Result<u64> {
        let mut folder = 0;
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(ErrorKind::InvalidInput.into());
            };
            match self.names.get(&(folder, name.to_owned())) {
                Some(Node::Folder(number)) => folder = *number,
                _ => return Err(ErrorKind::NotFound.into()),
            }
        }
        Ok(folder)
    }

    fn content(&mut self, number: u64) -> &mut Content {
        Arc::make_mut(self.files.get_mut(&number).unwrap())
    }

    fn create(&mut self, place: Place) -> u64 {
        if let Some(Node::File(number)) = self.names.get(&place) {
            let number = *number;
            let content = self.content(number);
            content.now.clear();
            content.unsure.clear();
            return number;
        }
        let number = self.number();
        self.files.insert(number, Arc::default());
        self.add(place, Node::File(number));
        number
    }

    fn add(&mut self, place: Place, node: Node) {
        let folders = [place.0].into();
        self.change(What::There(place, node), folders);
    }

    fn remove(&mut self, place: Place) {
        let folders = [place.0].into();
        self.change(What::Gone(place), folders);
    }

    fn rename(&mut self, from: Place, to: Place) {
        let node = self.names[&from].clone();
        // Two names of one file stay two names.
        if self.names.get(&to) != Some(&node) {
            let folders = [from.0, to.0].into();
            self.change(What::Moved(from, to, node), folders);
        }
    }

    fn change(&mut self, what: What, waits_for: BTreeSet<u64>) {
        what.apply(&mut self.names);
        self.unsure.push(Change { what, waits_for });
    }

    /// What a folder has in it.
    fn inside(&self, place: &Place) -> Vec<Place> {
        let Some(Node::Folder(number)) = self.names.get(place) else {
            return Vec::new();
        };
        let names = self.names.keys().filter(|(folder, _)| folder == number);
        names.cloned().collect()
    }

    fn remove_all(&mut self, place: Place) {
        for inside in self.inside(&place) {
            self.remove_all(inside);
        }
        self.remove(place);
    }

    fn sync_folder(&mut self, folder: u64) {
        for mut change in std::mem::take(&mut self.unsure) {
            change.waits_for.remove(&folder);
            if change.waits_for.is_empty() {
                change.what.apply(&mut self.sure_names);
            } else {
                self.unsure.push(change);
            }
        }
    }

    /// Writes the files and folders that have these names.
    fn write(&self, names: &Names, content: &mut impl FnMut(&Content) -> Vec<u8>, into: &Path) {
        let mut written = BTreeMap::new();
        let mut folders = vec![(0, into.to_owned())];
        while let Some((folder, path)) = folders.pop() {
            for ((_, name), node) in names.iter().filter(|((of, _), _)| *of == folder) {
                let path = path.join(name);
                match node {
                    Node::Folder(number) => {
                        fs::create_dir(&path).unwrap();
                        folders.push((*number, path));
                    }
                    Node::Link(target) => {
                        std::os::unix::fs::symlink(target, &path).unwrap();
                    }
                    Node::File(number) => match written.get(number) {
                        Some(first) => fs::hard_link(first, &path).unwrap(),
                        None => {
                            fs::write(&path, content(&self.files[number])).unwrap();
                            written.insert(*number, path);
                        }
                    },
                }
            }
        }
    }
}

impl What {
    fn apply(&self, names: &mut Names) {
        match self {
            What::There(place, node) => {
                names.insert(place.clone(), node.clone());
            }
            What::Gone(place) => {
                names.remove(place);
            }
            What::Moved(from, to, node) => {
                if names.get(from) == Some(node) {
                    names.remove(from);
                }
                names.insert(to.clone(), node.clone());
            }
        }
    }
}

impl Picture {
    /// Puts one of the states in which a power cut may leave the disk into this folder, which is empty. Seed 0 leaves
    /// everything, as where the process alone was killed, and seed 1 only what is sure. Others leave some of the names
    /// that were not synced, in their order or not, and some of the bytes.
    pub fn power_cut(&self, seed: u64, into: &Path) {
        let volume = &self.volume;
        let mut random = SplitMix::new(seed);
        match seed {
            0 => volume.write(&volume.names, &mut |file| file.now.clone(), into),
            1 => volume.write(&volume.sure_names, &mut |file| file.sure.clone(), into),
            _ => {
                let names = self.names_left(&mut random);
                volume.write(&names, &mut |file| file.left(&mut random), into);
            }
        }
    }

    fn names_left(&self, random: &mut SplitMix) -> Names {
        let volume = &self.volume;
        let mut names = volume.sure_names.clone();
        let in_order = random.below(2) == 0;
        let first = random.below(volume.unsure.len() + 1);
        for (at, change) in volume.unsure.iter().enumerate() {
            let stays = if in_order {
                at < first
            } else {
                random.below(2) == 0
            };
            if stays {
                change.what.apply(&mut names);
            }
        }
        names
    }
}
