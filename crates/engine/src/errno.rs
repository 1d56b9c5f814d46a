//! What a failed I/O means, in the words of storage rather than of libc.

use crate::job_loop::errors::END_OF_FILE;

/// Symbolic name, and what it means of storage where libc says something else ("Invalid or incomplete multibyte or wide character").
/// Those of the block layer are from its table of statuses (block/blk-core.c, `blk_errors`).
const WORDS: &[(i32, &str, Option<&str>)] = &[
    (END_OF_FILE, "end of file", Some("the file or device ends before what was to be read or written")),
    (libc::EPERM, "EPERM", None),
    (libc::ENOENT, "ENOENT", None),
    (libc::EINTR, "EINTR", None),
    (libc::EIO, "EIO", Some("I/O error")),
    (libc::ENXIO, "ENXIO", Some("the device is gone")),
    (libc::EBADF, "EBADF", None),
    (libc::EAGAIN, "EAGAIN", None),
    (libc::ENOMEM, "ENOMEM", None),
    (libc::EACCES, "EACCES", None),
    (libc::EFAULT, "EFAULT", None),
    (libc::EBUSY, "EBUSY", None),
    (libc::EEXIST, "EEXIST", None),
    (libc::ENODEV, "ENODEV", Some("the device is gone")),
    (libc::ENOTDIR, "ENOTDIR", None),
    (libc::EISDIR, "EISDIR", None),
    (libc::EINVAL, "EINVAL", None),
    (libc::ENFILE, "ENFILE", Some("the system has no file descriptors left (sysctl fs.file-max)")),
    (libc::EMFILE, "EMFILE", Some("the process has no file descriptors left (ulimit -n)")),
    (
        libc::EFBIG,
        "EFBIG",
        Some("the file would be larger than its file system or the limit of the process (ulimit -f) allows"),
    ),
    (libc::ENOSPC, "ENOSPC", None),
    (libc::EMLINK, "EMLINK", None),
    (libc::ENAMETOOLONG, "ENAMETOOLONG", None),
    (libc::ENOTEMPTY, "ENOTEMPTY", None),
    (libc::ELOOP, "ELOOP", None),
    (libc::EROFS, "EROFS", Some("the file system has become read-only")),
    (libc::EBADE, "EBADE", Some("reservation conflict: another host has reserved the device")),
    (libc::ENODATA, "ENODATA", Some("medium error")),
    (libc::ETIME, "ETIME", Some("the device gave up at the limit for the duration of a command")),
    (libc::ENOLINK, "ENOLINK", Some("transport error: the path to the device failed")),
    (libc::EILSEQ, "EILSEQ", Some("the data does not match its protection information")),
    (libc::EOPNOTSUPP, "EOPNOTSUPP", None),
    (libc::ENOTCONN, "ENOTCONN", Some("the server of the file system is gone")),
    (libc::ESHUTDOWN, "ESHUTDOWN", Some("the file system was shut down")),
    (libc::ETIMEDOUT, "ETIMEDOUT", Some("the device did not answer in time")),
    (libc::ESTALE, "ESTALE", Some("the server no longer knows the file")),
    (libc::EUCLEAN, "EUCLEAN", Some("the file system is damaged")),
    (libc::EDQUOT, "EDQUOT", Some("the quota of the user, group or project is used up")),
    (libc::EREMOTEIO, "EREMOTEIO", Some("the device reports an error of its own")),
];

fn entry(errno: i32) -> Option<&'static (i32, &'static str, Option<&'static str>)> {
    WORDS.iter().find(|entry| entry.0 == errno)
}

/// The symbolic name of an errno, or its number.
pub fn errno_name(errno: i32) -> String {
    entry(errno).map_or_else(|| format!("errno {errno}"), |entry| entry.1.to_owned())
}

/// What an errno says, with its name: `medium error (ENODATA)`.
pub(crate) fn errno_words(errno: i32) -> String {
    let words = entry(errno).and_then(|entry| entry.2).map(str::to_owned).unwrap_or_else(|| {
        let said = std::io::Error::from_raw_os_error(errno).to_string();
        said.split(" (os error").next().unwrap_or_default().to_owned()
    });
    if errno == END_OF_FILE { words } else { format!("{words} ({})", errno_name(errno)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_has_words_of_its_own() {
        assert_eq!(errno_words(libc::EILSEQ), "the data does not match its protection information (EILSEQ)");
        assert_eq!(errno_words(libc::ENOSPC), "No space left on device (ENOSPC)");
        assert_eq!(errno_words(libc::EDQUOT), "the quota of the user, group or project is used up (EDQUOT)");
        assert!(errno_words(libc::EFBIG).contains("ulimit -f"));
        assert_eq!(errno_words(libc::EROFS), "the file system has become read-only (EROFS)");
        assert_eq!(errno_words(libc::ENODEV), "the device is gone (ENODEV)");
        assert_eq!(errno_words(END_OF_FILE), "the file or device ends before what was to be read or written");
        assert_eq!(
            (errno_name(libc::ENODATA), errno_name(77)),
            ("ENODATA".to_owned(), "errno 77".to_owned())
        );
    }
}
