//! Directories that several files are written into.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_results::store::HeldDirectory;
use rustix::fs::{AtFlags, Dir, Mode};
use rustix::io::Errno;

use super::{Identity, OutputError, OutputLocation, Outputs, Reason, identity, mark};

/// A directory for files that are written together: a new one, an empty one, one that Assay made for this, or with
/// force any.
#[derive(Debug)]
pub struct OutputDirectory<'a> {
    outputs: &'a Outputs,
    option: &'a str,
    path: PathBuf,
    /// `None`: it does not exist yet.
    held: Option<HeldDirectory>,
}

impl Outputs {
    /// Looks at a directory for outputs; nothing is made yet.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn directory<'a>(&'a self, option: &'a str, path: &Path) -> Result<OutputDirectory<'a>, OutputError> {
        let refused = |reason| OutputError::refused(option, path, reason);
        let held = open(path).map_err(refused)?;
        match &held {
            Some(held) if !self.force && !mark::is_our_directory(held) && !is_empty(held) => {
                return Err(refused(Reason::ForeignDirectory));
            }
            Some(_) => {}
            None => can_be_made(path).map_err(refused)?,
        }
        Ok(OutputDirectory { outputs: self, option, path: path.to_owned(), held })
    }
}

/// The directory itself, never through a link; `None`: nothing has the name.
fn open(path: &Path) -> Result<Option<HeldDirectory>, Reason> {
    // A slash at the end would lead through a link.
    let plain: PathBuf = path.components().collect();
    match fs::symlink_metadata(&plain) {
        Ok(found) if found.is_symlink() => Err(Reason::Link(fs::read_link(&plain).unwrap_or_default())),
        Ok(found) if !found.is_dir() => Err(Reason::NotADirectory),
        Ok(_) => HeldDirectory::open_nofollow(&plain).map(Some).map_err(Reason::Unreadable),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Reason::NotADirectory),
        Err(error) => Err(Reason::Unreadable(error)),
    }
}

/// Whether the nearest thing above that exists is a directory to make others in.
fn can_be_made(path: &Path) -> Result<(), Reason> {
    let above = path.ancestors().skip(1).map(|above| match above.as_os_str().is_empty() {
        true => Path::new("."),
        false => above,
    });
    for above in above {
        match fs::metadata(above) {
            Ok(found) if !found.is_dir() => return Err(Reason::NoDirectory(above.to_owned())),
            Ok(_) => {
                let may = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
                return rustix::fs::access(above, may).map_err(Reason::of_directory);
            }
            // A link that leads nowhere is in the way, too.
            Err(_) if fs::symlink_metadata(above).is_ok() => {
                return Err(Reason::NoDirectory(above.to_owned()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

fn is_empty(directory: &HeldDirectory) -> bool {
    let Ok(mut entries) = Dir::read_from(directory) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
}

impl OutputDirectory<'_> {
    /// Writes all files, or none: when one cannot be written, those that are new are removed again. The directory is made
    /// where it is missing. Other files in it stay as they are.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn write(self, files: &[(String, impl AsRef<[u8]>)]) -> Result<(), OutputError> {
        let failed = |error| OutputError::failed(self.option, &self.path, error);
        let (directory, made) = match self.held {
            Some(held) => (held, false),
            None => (make(&self.path).map_err(failed)?, true),
        };
        if made || is_empty(&directory) {
            mark::set_directory(&directory);
        }
        let mut written = Vec::new();
        let done = write_all(self.outputs, self.option, &self.path, &directory, files, &mut written);
        if done.is_err() {
            for (name, new) in &written {
                remove(&directory, name, *new);
            }
            if made {
                // Only while nothing is in it.
                let _ = fs::remove_dir(&self.path);
            }
        }
        done
    }
}

/// Makes a directory and those above it; the last one must be new.
fn make(path: &Path) -> io::Result<HeldDirectory> {
    let plain: PathBuf = path.components().collect();
    if let Some(above) = plain.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above)?;
    }
    rustix::fs::mkdir(&plain, Mode::from_raw_mode(0o777))?;
    HeldDirectory::open_nofollow(&plain)
}

/// Every name is looked at before the first file is written. New files are noted in `written`.
fn write_all(
    outputs: &Outputs,
    option: &str,
    path: &Path,
    directory: &HeldDirectory,
    files: &[(String, impl AsRef<[u8]>)],
    written: &mut Vec<(OsString, Identity)>,
) -> Result<(), OutputError> {
    for (name, _) in files {
        let refused = |reason| OutputError::refused(option, &path.join(name), reason);
        if name.contains('/') || matches!(name.as_str(), "" | "." | "..") {
            return Err(OutputError::failed(option, &path.join(name), io::ErrorKind::InvalidFilename.into()));
        }
        outputs.existing(option, directory, OsStr::new(name)).map_err(refused)?;
    }
    for (name, text) in files {
        let failed = |error: io::Error| OutputError::failed(option, &path.join(name), error);
        let directory = directory.try_clone().map_err(failed)?;
        let place =
            OutputLocation { outputs, option, path: path.join(name), directory, name: OsString::from(name) };
        let mut file = place.create()?;
        io::Write::write_all(&mut file, text.as_ref()).map_err(failed)?;
        let new = file.found.is_none();
        let made = file.identity().map_err(failed)?;
        file.finish()?;
        if new {
            written.push((OsString::from(name), made));
        }
    }
    Ok(())
}

/// Removes a file that was made just now, if the name is still its.
fn remove(directory: &HeldDirectory, name: &OsStr, made: Identity) {
    let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    if found.is_ok_and(|found| identity(&found) == made) {
        let _: Result<(), Errno> = rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
}
