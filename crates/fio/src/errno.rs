//! Names of errors and their numbers on Linux, both ways: those that block I/O fails with.

/// Read and written; `verify` is a block that does not hold what was written, EILSEQ in fio.
const NUMBERS: [(&str, u64); 20] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EIO", 5),
    ("ENXIO", 6),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EBUSY", 16),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("ENODATA", 61),
    ("verify", 84),
    ("EOPNOTSUPP", 95),
    ("ETIMEDOUT", 110),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
];

/// Written only: what fio reports keeps its number as the name.
const WRITTEN: [(&str, u64); 8] = [
    ("EINTR", 4),
    ("EBADE", 52),
    ("ENOLINK", 67),
    ("EPROTO", 71),
    ("EILSEQ", 84),
    ("ESTALE", 116),
    ("ENOMEDIUM", 123),
    ("ECANCELED", 125),
];

/// The number of a name; EIO where it is not one of these.
pub(crate) fn number_of(name: &str) -> u64 {
    NUMBERS.iter().chain(&WRITTEN).find(|entry| entry.0 == name).map_or(5, |entry| entry.1)
}

/// The name of a number.
pub(crate) fn name_of(number: u64) -> String {
    let known = NUMBERS.iter().find(|entry| entry.1 == number);
    known.map_or_else(|| format!("errno {number}"), |entry| entry.0.to_owned())
}
