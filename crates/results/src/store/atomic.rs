//! Files that appear under their name whole, or not at all.
//!
//! The directory is held open, so that every name is looked up in it and nowhere else, whatever happens to the path
//! meanwhile. Content goes into a file without a name (`O_TMPFILE`), which vanishes with the process; file systems that
//! have none get a hidden name instead. No call here follows a symbolic link in the last component.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Hidden names tried before giving up.
const NAMES_MAX: u32 = 1000;

/// A directory held open.
#[derive(Debug)]
pub struct HeldDirectory {
    fd: OwnedFd,
}

impl HeldDirectory {
    /// Opens the directory that `path` leads to; links are followed.
    ///
    /// # Errors
    /// What open(2) says.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OFlags::empty())
    }

    /// Opens the directory that the last component of `path` is in; links on the way are followed.
    ///
    /// # Errors
    /// What open(2) says.
    pub fn open_above(path: &Path) -> io::Result<Self> {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        Self::open(above.unwrap_or(Path::new(".")))
    }

    /// Opens a directory whose last component is no link.
    ///
    /// # Errors
    /// What open(2) says: `ELOOP` or `ENOTDIR` for a link.
    pub fn open_nofollow(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OFlags::NOFOLLOW)
    }

    /// Opens a directory in this one, which is no link.
    ///
    /// # Errors
    /// What openat(2) says: `ELOOP` or `ENOTDIR` for a link.
    pub fn open_child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(HeldDirectory { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())? })
    }

    /// The same directory once more.
    ///
    /// # Errors
    /// When no file descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(HeldDirectory { fd: self.fd.try_clone()? })
    }

    /// Makes the names in it durable: a file that was synced can be found after a power cut only then.
    ///
    /// # Errors
    /// What fsync(2) says, but for systems that cannot do it to a directory: they keep names in their own way.
    pub fn sync_names(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn open_with(path: &Path, more: OFlags) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let open = |access| rustix::fs::open(path, flags | access, Mode::empty());
        // A directory that may be written but not listed is good enough to make files in.
        let fd = open(OFlags::RDONLY).or_else(|error| match error {
            Errno::ACCESS => open(OFlags::PATH),
            other => Err(other),
        })?;
        Ok(HeldDirectory { fd })
    }

    /// A new file, still without its name.
    ///
    /// # Errors
    /// When no file can be made in the directory.
    pub fn draft(&self) -> io::Result<Draft<'_>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        match rustix::fs::openat(&self.fd, ".", flags | OFlags::TMPFILE, mode) {
            Ok(fd) if proc_path(&fd).exists() => {
                return Ok(Draft { directory: self, file: File::from(fd), hidden: None });
            }
            // Not every file system, nor every kernel, can do it; without /proc it could not be named later.
            Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let (fd, name) = first_free(|name| rustix::fs::openat(&self.fd, name, flags, mode))?;
        Ok(Draft { directory: self, file: File::from(fd), hidden: Some(name) })
    }
}

impl AsFd for HeldDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn proc_path(fd: &impl AsRawFd) -> std::path::PathBuf {
    Path::new("/proc/self/fd").join(fd.as_raw_fd().to_string())
}

/// Tries hidden names until one is free.
fn first_free<T>(mut make: impl FnMut(&OsStr) -> rustix::io::Result<T>) -> io::Result<(T, OsString)> {
    for number in 0..NAMES_MAX {
        let name = OsString::from(format!(".assay-{}-{number}.tmp", std::process::id()));
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A file being written. Dropped without being published, it is gone.
#[derive(Debug)]
pub struct Draft<'a> {
    directory: &'a HeldDirectory,
    file: File,
    /// The name it has meanwhile, where it has one.
    hidden: Option<OsString>,
}

impl Draft<'_> {
    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, which nothing may have.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something has it; what the system says otherwise. Nothing is left then.
    pub fn publish(mut self, name: &OsStr) -> io::Result<()> {
        self.file.sync_all()?;
        let Some(hidden) = &self.hidden else { return Ok(self.link(name)?) };
        let dir = &self.directory.fd;
        match rustix::fs::renameat_with(dir, hidden, dir, name, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            // NFS, FUSE: a link replaces nothing either. The hidden name goes when this is dropped.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return match rustix::fs::linkat(dir, hidden, dir, name, AtFlags::empty()) {
                    Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => self.rename_unless_there(name),
                    linked => Ok(linked?),
                };
            }
            Err(error) => return Err(error.into()),
        }
        self.hidden = None;
        Ok(())
    }

    /// Puts it in the place of what has the name, whatever that is (a directory excepted).
    ///
    /// # Errors
    /// What the system says. The old file is unchanged then.
    pub fn replace(mut self, name: &OsStr) -> io::Result<()> {
        self.file.sync_all()?;
        let hidden = self.hide()?;
        rustix::fs::renameat(&self.directory.fd, &hidden, &self.directory.fd, name)?;
        self.hidden = None;
        Ok(())
    }

    /// Puts it in the place of a file that `expected` recognizes by a name in the directory. The two are exchanged in
    /// one step and what was replaced is looked at afterwards, so that nothing that took the name in the meantime is lost.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when something else has the name; it has it still. What the system says otherwise.
    pub fn replace_expected(
        mut self,
        name: &OsStr,
        expected: impl Fn(&HeldDirectory, &OsStr) -> bool,
    ) -> io::Result<()> {
        self.file.sync_all()?;
        let hidden = self.hide()?;
        let dir = &self.directory.fd;
        match rustix::fs::renameat_with(dir, &hidden, dir, name, RenameFlags::EXCHANGE) {
            Ok(()) if expected(self.directory, &hidden) => {
                rustix::fs::unlinkat(dir, &hidden, AtFlags::empty())?;
            }
            Ok(()) => {
                self.give_back(name, hidden)?;
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(Errno::NOENT) => return self.publish(name),
            Err(Errno::INVAL | Errno::NOSYS) => {
                if !expected(self.directory, name) {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                rustix::fs::renameat(dir, &hidden, dir, name)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.hidden = None;
        Ok(())
    }

    /// Undoes an exchange: what is under the hidden name gets its own again. What is not our draft is never removed.
    fn give_back(&mut self, name: &OsStr, hidden: OsString) -> io::Result<()> {
        self.hidden = None;
        let dir = &self.directory.fd;
        let exchange = || rustix::fs::renameat_with(dir, &hidden, dir, name, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) if self.is_draft(&hidden) => self.hidden = Some(hidden),
            // Something newer took the name in that moment: it belongs there.
            Ok(()) => exchange()?,
            Err(Errno::NOENT) => rustix::fs::renameat_with(dir, &hidden, dir, name, RenameFlags::NOREPLACE)?,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether a name in the directory is that of this very file.
    fn is_draft(&self, name: &OsStr) -> bool {
        let found = rustix::fs::statat(&self.directory.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        match (found, rustix::fs::fstat(&self.file)) {
            (Ok(found), Ok(own)) => (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino),
            _ => false,
        }
    }

    fn rename_unless_there(&mut self, name: &OsStr) -> io::Result<()> {
        let (dir, Some(hidden)) = (&self.directory.fd, &self.hidden) else { return Ok(()) };
        match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => rustix::fs::renameat(dir, hidden, dir, name)?,
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) => return Err(error.into()),
        }
        self.hidden = None;
        Ok(())
    }

    /// The hidden name, which it gets where it has none.
    fn hide(&mut self) -> io::Result<OsString> {
        if let Some(hidden) = &self.hidden {
            return Ok(hidden.clone());
        }
        let ((), name) = first_free(|name| self.link(name))?;
        self.hidden = Some(name.clone());
        Ok(name)
    }

    fn link(&self, name: &OsStr) -> rustix::io::Result<()> {
        let from = proc_path(&self.file);
        rustix::fs::linkat(CWD, &from, &self.directory.fd, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Write for Draft<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(hidden) = self.hidden.as_ref().filter(|hidden| self.is_draft(hidden)) {
            // What matters is the error that led here.
            let _ = rustix::fs::unlinkat(&self.directory.fd, hidden, AtFlags::empty());
        }
    }
}

/// Opens a regular file for reading. Nothing else is opened for longer, and no pipe is waited for.
///
/// # Errors
/// What the system says, and that it is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

/// The content of a regular file.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into()).collect();
        names.sort();
        names
    }

    /// A draft that has a hidden name from the beginning, as on file systems without `O_TMPFILE`.
    fn named(directory: &HeldDirectory) -> Draft<'_> {
        let mut draft = directory.draft().unwrap();
        draft.hide().unwrap();
        draft
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let directory = HeldDirectory::open(place.path()).unwrap();
        for make in
            [|d| HeldDirectory::draft(d).unwrap(), named] as [for<'a> fn(&'a HeldDirectory) -> Draft<'a>; 2]
        {
            let mut draft = make(&directory);
            draft.write_all(b"half").unwrap();
            drop(draft);
            assert!(names(place.path()).is_empty());
            let mut draft = make(&directory);
            draft.write_all(b"whole").unwrap();
            draft.publish(OsStr::new("a")).unwrap();
            assert_eq!(fs::read(place.path().join("a")).unwrap(), b"whole");
            assert_eq!(names(place.path()), ["a"]);
            let again = make(&directory).publish(OsStr::new("a")).unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(names(place.path()), ["a"]);
            fs::remove_file(place.path().join("a")).unwrap();
        }
    }

    #[test]
    fn what_took_the_name_in_the_meantime_keeps_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = HeldDirectory::open(place.path()).unwrap();
        let path = place.path().join("a");
        let refused =
            |draft: Draft<'_>| draft.replace_expected(OsStr::new("a"), |_, _| false).unwrap_err().kind();
        fs::write(&path, "precious").unwrap();
        assert_eq!(refused(directory.draft().unwrap()), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "precious").unwrap();
        assert_eq!(refused(named(&directory)), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"precious");
        assert_eq!(names(place.path()), ["a"]);
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let directory = HeldDirectory::open(place.path()).unwrap();
        let (path, precious) = (place.path().join("a"), place.path().join("precious"));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        let mut draft = directory.draft().unwrap();
        draft.write_all(b"new").unwrap();
        draft.replace(OsStr::new("a")).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }
}
