//! Files that a user asks Assay to write: pages, tables, logs, converted workloads.
//!
//! The rules are the same for all of them. A file is written whole or not at all. It takes a name that is free, or the
//! place of a file that Assay wrote and nobody changed since (`mark`), or with [`Outputs::new`]`(true)` (`--force`)
//! that of any regular file. It never goes to a device, a pipe, a socket or a directory, never through a symbolic link in
//! the last component, never in the place of one of the command's own inputs.
//!
//! [`Outputs::check`] asks beforehand, so that nobody measures for an hour and is refused then; [`Outputs::write`]
//! applies the same rules again, and to what has the name at the moment it is replaced.

mod directory;
mod mark;
mod refusal;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use assay_results::store::{Draft, HeldDirectory};
use rustix::fs::{Access, AtFlags, FileType, Gid, Mode, Stat, Uid};
use rustix::io::Errno;

pub use directory::OutputDirectory;
pub use mark::is_unedited;
pub use refusal::{OutputError, Reason};

/// What a file is, whatever it is called: file system and inode.
type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Whether a file that begins so is of a kind.
pub type IsOfKind = fn(&[u8]) -> bool;

/// Whether a file is one that another tool wrote before for this option: all of it, not its beginning.
pub type IsFormer = fn(&str, &mut dyn BufRead) -> bool;

/// What one command reads and writes.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    force: bool,
    /// Whether a file may be replaced like one of ours.
    former: Option<IsFormer>,
    /// What a file that an option replaces must begin as.
    kinds: Vec<(&'static str, IsOfKind)>,
    inputs: Vec<Identity>,
    inputs_to_be: Vec<Name>,
    checked: Vec<(Name, String)>,
}

/// A name in a directory, by the directory's identity.
type Name = (Identity, OsString);

impl Outputs {
    /// `force`: whether files of others may be replaced.
    pub fn new(force: bool) -> Self {
        Outputs { force, ..Outputs::default() }
    }

    /// The same where a file may be replaced, too, that is what `former` says: one that a script had another tool write for the
    /// same option, and now has Assay write in its place.
    #[must_use]
    pub fn replacing(&self, former: IsFormer) -> Self {
        Outputs { former: Some(former), ..self.clone() }
    }

    /// The same where a file that `option` replaces is of the kind that it writes: of a kind that `is_of_it` does not know by its
    /// beginning, at most [`HEAD_BYTES_MAX`] bytes, it is left as it is without `force`. A file without content is of every kind.
    #[must_use]
    pub fn of_kind(mut self, option: &'static str, is_of_it: IsOfKind) -> Self {
        self.kinds.push((option, is_of_it));
        self
    }

    /// Notes a file that the command reads, or a target that it works on: it is never replaced. One that does not
    /// exist yet counts by its name.
    pub fn reads(&mut self, path: &Path) {
        match rustix::fs::stat(path) {
            Ok(stat) => self.inputs.push(identity(&stat)),
            Err(_) => self.inputs_to_be.extend(name_of(path)),
        }
    }

    /// Whether `path` may be written, as far as that can be told without writing. Two options of a command may not name
    /// the same file.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn check(&mut self, option: &str, path: &Path) -> Result<(), OutputError> {
        let refused = |reason| OutputError::refused(option, path, reason);
        let (directory, name) = locate(path).map_err(refused)?;
        self.existing(option, &directory, &name).map_err(refused)?;
        rustix::fs::accessat(&directory, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
            .map_err(|error| refused(Reason::of_directory(error)))?;
        let stat =
            rustix::fs::fstat(&directory).map_err(|error| refused(Reason::Unreadable(error.into())))?;
        let name = (identity(&stat), name);
        if self.inputs_to_be.contains(&name) {
            return Err(refused(Reason::Input));
        }
        if let Some((_, other)) = self.checked.iter().find(|(checked, _)| *checked == name) {
            return Err(refused(Reason::Twice(other.clone())));
        }
        self.checked.push((name, option.to_owned()));
        Ok(())
    }

    /// Writes a file whole.
    ///
    /// # Errors
    /// [`OutputError`]; then nothing was changed.
    pub fn write(&self, option: &str, path: &Path, content: &[u8]) -> Result<(), OutputError> {
        let directory = self.open(option, path)?;
        let mut file = directory.create()?;
        file.write_all(content).map_err(|error| OutputError::failed(option, path, error))?;
        file.finish()
    }

    /// Looks up where a file is to be written piece by piece.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn open<'a>(&'a self, option: &'a str, path: &'a Path) -> Result<OutputLocation<'a>, OutputError> {
        let (directory, name) = locate(path).map_err(|reason| OutputError::refused(option, path, reason))?;
        Ok(OutputLocation { outputs: self, option, path: path.to_owned(), directory, name })
    }

    /// What has the name and may be replaced; `None`: nothing has it.
    fn existing(
        &self,
        option: &str,
        directory: &HeldDirectory,
        name: &OsStr,
    ) -> Result<Option<Stat>, Reason> {
        let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(Reason::Unreadable(error.into())),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => {
                let to = rustix::fs::readlinkat(directory, name, Vec::new());
                let to = to.map(|to| PathBuf::from(OsStr::from_bytes(to.as_bytes()))).unwrap_or_default();
                return Err(Reason::Link(to));
            }
            other => return Err(Reason::NotAFile(other)),
        }
        if self.inputs.contains(&identity(&stat)) {
            return Err(Reason::Input);
        }
        let may = rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS);
        if may.is_err() || stat.st_mode & 0o222 == 0 {
            return Err(Reason::Protected);
        }
        if is_stuck(directory, &stat) {
            return Err(Reason::OtherOwner);
        }
        if self.force {
            return Ok(Some(stat));
        }
        match mark::is_ours(directory, name, &stat) {
            false if self.is_former(option, directory, name, &stat) => Ok(Some(stat)),
            false => Err(Reason::Foreign),
            true if !self.is_of_kind(option, directory, name, &stat) => Err(Reason::OtherKind),
            true => Ok(Some(stat)),
        }
    }

    /// Whether the regular file that `stat` is of is of the kind that `option` writes.
    fn is_of_kind(&self, option: &str, directory: &HeldDirectory, name: &OsStr, stat: &Stat) -> bool {
        let Some((_, is_of_it)) = self.kinds.iter().find(|(of, _)| *of == option) else { return true };
        let head = mark::beginning(directory, name, stat, HEAD_BYTES_MAX);
        head.is_some_and(|head| head.is_empty() || is_of_it(&head))
    }

    /// Whether the regular file that `stat` is of is one of those that may be replaced.
    fn is_former(&self, option: &str, directory: &HeldDirectory, name: &OsStr, stat: &Stat) -> bool {
        let Some(former) = self.former else { return false };
        let file = mark::opened(directory, name, stat);
        file.is_some_and(|file| former(option, &mut BufReader::new(file)))
    }
}

/// How much of a file is looked at to see what its kind is.
pub const HEAD_BYTES_MAX: u64 = 1 << 16;

/// Whether the file is another user's in a directory where only owners replace (the sticky bit).
fn is_stuck(directory: &HeldDirectory, stat: &Stat) -> bool {
    let above = rustix::fs::fstat(directory);
    above.is_ok_and(|above| stuck_for(rustix::process::geteuid(), &above, stat))
}

fn stuck_for(user: Uid, above: &Stat, stat: &Stat) -> bool {
    let sticky = Mode::from_raw_mode(above.st_mode).contains(Mode::SVTX);
    sticky && !user.is_root() && ![stat.st_uid, above.st_uid].contains(&user.as_raw())
}

/// The directory of a file, held open, and its name there.
fn locate(path: &Path) -> Result<(HeldDirectory, OsString), Reason> {
    let bytes = path.as_os_str().as_bytes();
    let name = path.file_name().filter(|_| !bytes.ends_with(b"/") && !bytes.ends_with(b"/."));
    let Some(name) = name else { return Err(Reason::NotAFile(FileType::Directory)) };
    let directory = HeldDirectory::open_above(path).map_err(|error| {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::NoDirectory(above.to_owned()),
            _ => Reason::Unreadable(error),
        }
    })?;
    Ok((directory, name.to_owned()))
}

fn name_of(path: &Path) -> Option<Name> {
    let (directory, name) = locate(path).ok()?;
    Some((identity(&rustix::fs::fstat(&directory).ok()?), name))
}

/// Where a file is to be written: its directory, held open, and its name.
#[derive(Debug)]
pub struct OutputLocation<'a> {
    outputs: &'a Outputs,
    option: &'a str,
    path: PathBuf,
    directory: HeldDirectory,
    name: OsString,
}

impl OutputLocation<'_> {
    /// Begins the file.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn create(&self) -> Result<OutputFile<'_>, OutputError> {
        let found = self.outputs.existing(self.option, &self.directory, &self.name);
        let found = found.map_err(|reason| OutputError::refused(self.option, &self.path, reason))?;
        let draft = self.directory.draft().map_err(|error| self.failed(error))?;
        Ok(OutputFile { place: self, found, draft: mark::Hashed::new(draft) })
    }

    fn failed(&self, error: io::Error) -> OutputError {
        OutputError::failed(self.option, &self.path, error)
    }
}

/// A file being written. Dropped before [`OutputFile::finish`], it leaves nothing.
#[derive(Debug)]
pub struct OutputFile<'a> {
    place: &'a OutputLocation<'a>,
    /// What it replaces.
    found: Option<Stat>,
    draft: mark::Hashed<Draft<'a>>,
}

impl OutputFile<'_> {
    /// What it is, with or without its name.
    fn identity(&self) -> io::Result<Identity> {
        Ok(identity(&rustix::fs::fstat(self.draft.inner().file())?))
    }

    /// As [`OutputFile::finish`], with the file itself, to which more can be appended: whatever has its name by then.
    ///
    /// # Errors
    /// [`OutputError`]; then what had the name has it still.
    pub fn finish_open(mut self) -> Result<File, OutputError> {
        let place = self.place;
        let file = self.draft.flush().and_then(|()| self.draft.inner().file().try_clone());
        let file = file.map_err(|error| place.failed(error))?;
        self.finish()?;
        Ok(file)
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// [`OutputError`]; then what had the name has it still.
    pub fn finish(self) -> Result<(), OutputError> {
        let place = self.place;
        let (draft, digest) = self.draft.finish();
        mark::set(draft.file(), &digest);
        let published = match &self.found {
            None => draft.publish(&place.name),
            Some(found) => {
                like(&draft, found).map_err(|error| place.failed(error))?;
                draft.replace_expected(&place.name, |directory, name| {
                    let now = place.outputs.existing(place.option, directory, name);
                    matches!(now, Ok(Some(now)) if identity(&now) == identity(found))
                })
            }
        };
        published.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OutputError::refused(place.option, &place.path, Reason::Changed),
            _ => place.failed(error),
        })
    }
}

impl Write for OutputFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush()
    }
}

/// Gives a file the owner and the permissions of the one it replaces. The owner only where the system lets us.
fn like(draft: &Draft<'_>, found: &Stat) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
    let new = rustix::fs::fstat(draft.file())?;
    let owned = (new.st_uid, new.st_gid) == (found.st_uid, found.st_gid)
        || rustix::fs::fchown(draft.file(), Some(uid), Some(gid)).is_ok();
    // What the old owner or group could do is not given to another.
    let mode = if owned { found.st_mode & 0o777 } else { found.st_mode & new.st_mode & 0o777 };
    Ok(rustix::fs::fchmod(draft.file(), Mode::from_raw_mode(mode))?)
}
