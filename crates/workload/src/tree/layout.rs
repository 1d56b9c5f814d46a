//! The shape of a tree: names, parents and sizes by index.

use super::{TreeError, TreeWorkload};

/// Levels of directories a tree may have: a path of them stays below 4096 bytes.
pub const DEPTH_MAX: u32 = 200;
/// Directories a tree may have: each takes 8 bytes of memory while it is used.
pub const DIRECTORIES_MAX: u64 = 1 << 24;
/// Files a tree may have: each takes a byte of memory while it is used.
pub const FILES_MAX: u64 = 1 << 28;

/// 2^64 divided by the golden ratio: multiples of it are spread evenly (a Weyl sequence), so that any stretch of files
/// has the shares of sizes that were asked for.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

/// How the size of a file follows from its index.
#[derive(Debug, Clone, PartialEq)]
enum SizeRule {
    Fixed(u64),
    /// Upper bounds on 64 bits, size.
    Weighted(Vec<(u64, u64)>),
    /// Uniform between 0 and twice this.
    AroundMean(u64),
}

/// A tree's shape. Directories are numbered level by level from 0, files from 0 in the order of the directories that
/// hold them.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeLayout {
    width: u64,
    depth: u32,
    files_per_directory: u64,
    /// First directory of each level, and their number behind the last.
    level_starts: Vec<u64>,
    /// First directory that holds files.
    first_holder: u64,
    sizes: SizeRule,
    files: u64,
    bytes: u64,
    working_files: u64,
    working_bytes: u64,
}

/// What a name stands for in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntry {
    /// The directory of this index.
    Directory(u64),
    /// The file of this index.
    File(u64),
}

impl TreeLayout {
    /// The shape that `tree` describes.
    ///
    /// # Errors
    /// [`TreeError`] where it would be empty of meaning or too large to keep track of.
    pub fn new(tree: &TreeWorkload) -> Result<Self, TreeError> {
        if tree.width == 0 {
            return Err(TreeError::Zero("width"));
        }
        if tree.depth == 0 {
            return Err(TreeError::Zero("depth"));
        }
        if tree.depth > DEPTH_MAX {
            return Err(TreeError::TooDeep(tree.depth));
        }
        let level_starts = level_starts(u64::from(tree.width), tree.depth)
            .ok_or(TreeError::TooManyDirectories { width: tree.width, depth: tree.depth })?;
        let directories = level_starts[level_starts.len() - 1];
        let first_holder =
            if tree.files_in_all_directories { 0 } else { level_starts[level_starts.len() - 2] };
        let mut layout = TreeLayout {
            width: u64::from(tree.width),
            depth: tree.depth,
            files_per_directory: u64::from(tree.files),
            level_starts,
            first_holder,
            sizes: size_rule(tree)?,
            files: 0,
            bytes: 0,
            working_files: 0,
            working_bytes: 0,
        };
        let all = (directories - first_holder).saturating_mul(u64::from(tree.files));
        (layout.files, layout.bytes) = layout.cut(all, tree.total_bytes)?;
        (layout.working_files, layout.working_bytes) = match tree.working_set_bytes {
            None => (layout.files, layout.bytes),
            some => layout.cut(layout.files, some)?,
        };
        Ok(layout)
    }

    /// What the tree has under this name in a directory, or in the anchor.
    pub fn entry(&self, directory: Option<u64>, name: &[u8]) -> Option<TreeEntry> {
        let number = |prefix: &[u8], suffix: &[u8]| -> Option<u64> {
            let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        };
        // A number with other zeros in front is in no name that we would make.
        let mut own = Vec::with_capacity(64);
        if let Some(file) = number(b"vdb_f", b".file")
            && self.files_in(directory?).contains(&file)
        {
            self.push_file_name(file, &mut own);
            return (own == name).then_some(TreeEntry::File(file));
        }
        let level = directory.map_or(0, |index| self.level_of(index)) + 1;
        let n = number(format!("vdb.{level}_").as_bytes(), b".dir")?;
        if !(1..=self.width()).contains(&n) {
            return None;
        }
        let index = self.first_child_of(directory)? + n - 1;
        self.push_directory_name(index, &mut own);
        (own == name).then_some(TreeEntry::Directory(index))
    }

    /// Whether both have the same directories and files; they may use different parts of them.
    pub fn same_shape(&self, other: &TreeLayout) -> bool {
        let used = |layout: &TreeLayout| TreeLayout { working_files: 0, working_bytes: 0, ..layout.clone() };
        used(self) == used(other)
    }

    /// The first files of `all` that together have at least `limit` bytes, and their bytes.
    fn cut(&self, all: u64, limit: Option<u64>) -> Result<(u64, u64), TreeError> {
        if let SizeRule::Fixed(size) = self.sizes {
            let wanted = match limit {
                Some(limit) if size > 0 => limit.div_ceil(size).min(all),
                _ => all,
            };
            return if wanted > FILES_MAX {
                Err(TreeError::TooManyFiles)
            } else {
                Ok((wanted, wanted.saturating_mul(size)))
            };
        }
        let mut bytes = 0_u64;
        let mut files = 0;
        while files < all && limit.is_none_or(|limit| bytes < limit) {
            if files == FILES_MAX {
                return Err(TreeError::TooManyFiles);
            }
            bytes = bytes.saturating_add(self.size_bytes(files));
            files += 1;
        }
        Ok((files, bytes))
    }

    /// Number of directories, the anchor not among them.
    pub fn directories(&self) -> u64 {
        self.level_starts[self.depth as usize]
    }

    /// Number of files.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Files that operations use: the first so many.
    pub fn working_files(&self) -> u64 {
        self.working_files
    }

    /// Bytes of the files that operations use.
    pub fn working_bytes(&self) -> u64 {
        self.working_bytes
    }

    /// Levels of directories.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The directories of level `level`, 1 for those in the anchor.
    pub fn level(&self, level: u32) -> std::ops::Range<u64> {
        let level = level.clamp(1, self.depth) as usize;
        self.level_starts[level - 1]..self.level_starts[level]
    }

    /// The size of file `file` in bytes.
    pub fn size_bytes(&self, file: u64) -> u64 {
        match &self.sizes {
            SizeRule::Fixed(size) => *size,
            SizeRule::Weighted(table) => {
                let draw = (file + 1).wrapping_mul(WEYL);
                let index = table.partition_point(|entry| entry.0 < draw).min(table.len() - 1);
                table[index].1
            }
            SizeRule::AroundMean(mean) => {
                let mut state = file;
                let draw = crate::rng::splitmix64(&mut state);
                rounded(((u128::from(draw) * u128::from(*mean) * 2) >> 64) as u64)
            }
        }
    }

    /// The directory that holds file `file`.
    pub fn directory_of(&self, file: u64) -> u64 {
        self.first_holder + file / self.files_per_directory.max(1)
    }

    /// The files that directory `directory` holds.
    pub fn files_in(&self, directory: u64) -> std::ops::Range<u64> {
        let Some(holder) = directory.checked_sub(self.first_holder) else { return 0..0 };
        let start = holder.saturating_mul(self.files_per_directory).min(self.files);
        start..start.saturating_add(self.files_per_directory).min(self.files)
    }

    /// The level of a directory: 1 for those in the anchor.
    pub fn level_of(&self, directory: u64) -> u32 {
        self.level_starts.partition_point(|start| *start <= directory) as u32
    }

    /// The directory that holds directory `directory`; `None`: the anchor.
    pub fn parent_of(&self, directory: u64) -> Option<u64> {
        let level = self.level_of(directory) as usize;
        let upper = level.checked_sub(2)?;
        Some(self.level_starts[upper] + (directory - self.level_starts[level - 1]) / self.width)
    }

    /// The first of the directories in `directory` (`None`: in the anchor), [`TreeLayout::width`] of them; `None` at the
    /// bottom.
    pub fn first_child_of(&self, directory: Option<u64>) -> Option<u64> {
        let Some(directory) = directory else { return Some(0) };
        let level = self.level_of(directory) as usize;
        let position = directory - self.level_starts[level - 1];
        (level < self.depth as usize).then(|| self.level_starts[level] + position * self.width)
    }

    /// Directories per directory.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Appends the name of a directory within its parent.
    pub fn push_directory_name(&self, directory: u64, text: &mut Vec<u8>) {
        let level = self.level_of(directory);
        let position = directory - self.level_starts[level as usize - 1];
        text.extend_from_slice(b"vdb.");
        push_number(u64::from(level), 1, text);
        text.push(b'_');
        push_number(position % self.width + 1, 1, text);
        text.extend_from_slice(b".dir");
    }

    /// Appends the path of a directory below the anchor, without a slash at either end.
    pub fn push_directory_path(&self, directory: u64, text: &mut Vec<u8>) {
        let level = self.level_of(directory) as usize;
        let position = directory - self.level_starts[level - 1];
        let mut divisor = self.width.saturating_pow(level as u32 - 1);
        for upper in 1..=level {
            if upper > 1 {
                text.push(b'/');
            }
            text.extend_from_slice(b"vdb.");
            push_number(upper as u64, 1, text);
            text.push(b'_');
            push_number(position / divisor % self.width + 1, 1, text);
            text.extend_from_slice(b".dir");
            divisor /= self.width;
        }
    }

    /// Appends the name of a file within its directory.
    pub fn push_file_name(&self, file: u64, text: &mut Vec<u8>) {
        text.extend_from_slice(b"vdb_f");
        push_number(file, 4, text);
        text.extend_from_slice(b".file");
    }

    /// Appends the path of a file below the anchor.
    pub fn push_file_path(&self, file: u64, text: &mut Vec<u8>) {
        self.push_directory_path(self.directory_of(file), text);
        text.push(b'/');
        self.push_file_name(file, text);
    }

    /// The shape in words: `6 directories, 40 files, 160 KiB`.
    pub fn describe(&self) -> String {
        let mut words = format!(
            "{} directories, {} files, {}",
            self.directories(),
            self.files,
            crate::units::Bytes(self.bytes)
        );
        if self.working_files < self.files {
            let bytes = crate::units::Bytes(self.working_bytes);
            words += &format!(", of which {} files, {bytes}, are used", self.working_files);
        }
        words
    }
}

/// First directory of each level, and the number of all behind them; `None` if there are too many.
fn level_starts(width: u64, depth: u32) -> Option<Vec<u64>> {
    let mut starts = vec![0_u64];
    let mut level = 1_u64;
    let mut total = 0_u64;
    for _ in 0..depth {
        level = level.checked_mul(width)?;
        total = total.checked_add(level).filter(|total| *total <= DIRECTORIES_MAX)?;
        starts.push(total);
    }
    Some(starts)
}

fn size_rule(tree: &TreeWorkload) -> Result<SizeRule, TreeError> {
    let total: f64 = tree.sizes.iter().map(|entry| entry.1).sum();
    let bad = |entry: &(u64, f64)| !(entry.1.is_finite() && entry.1 >= 0.0);
    if tree.sizes.is_empty() || tree.sizes.iter().any(bad) || total <= 0.0 {
        return Err(TreeError::NoSizes);
    }
    if let [(size, _)] = tree.sizes[..] {
        return Ok(if tree.sizes_around_mean { SizeRule::AroundMean(size) } else { SizeRule::Fixed(size) });
    }
    let mut share = 0.0;
    let table = tree.sizes.iter().map(|&(size, weight)| {
        share += weight / total;
        ((share * u64::MAX as f64) as u64, size)
    });
    Ok(SizeRule::Weighted(table.collect()))
}

/// vdbench's rounding of random file sizes: to 1 KiB up to 100 KiB, to 10 KiB up to 1 MiB, to 100 KiB up to 10 MiB, then
/// to 1 MiB; never nothing.
fn rounded(size: u64) -> u64 {
    let step = match size {
        0..=0x1_9000 => 1 << 10,
        0x1_9001..=0x10_0000 => 10 << 10,
        0x10_0001..=0xA0_0000 => 100 << 10,
        _ => 1 << 20,
    };
    (size / step).max(1) * step
}

/// Appends a number of at least `digits` digits.
fn push_number(number: u64, digits: usize, text: &mut Vec<u8>) {
    let mut reversed = [b'0'; 20];
    let mut rest = number;
    let mut length = 0;
    while rest > 0 || length == 0 {
        reversed[length] = b'0' + (rest % 10) as u8;
        rest /= 10;
        length += 1;
    }
    text.extend(reversed[..length.max(digits)].iter().rev());
}

/// Whether `name` is what some tree calls a directory of level `level`.
pub fn is_scheme_directory(name: &[u8], level: u32) -> bool {
    let mut prefix = b"vdb.".to_vec();
    push_number(u64::from(level), 1, &mut prefix);
    prefix.push(b'_');
    numbered(name, &prefix, b".dir", 1)
}

/// Whether `name` is what some tree calls a file.
pub fn is_scheme_file(name: &[u8]) -> bool {
    numbered(name, b"vdb_f", b".file", 4)
}

fn numbered(name: &[u8], prefix: &[u8], suffix: &[u8], digits: usize) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
    number.is_some_and(|number| number.len() >= digits && number.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests;
