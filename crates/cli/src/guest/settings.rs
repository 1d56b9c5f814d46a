//! What a machine is told where nobody sits at it: words of the kernel's command line (`assay.run=suite`), and a file on a disk.

use std::fmt;
use std::fs;

use super::disks::Disk;

/// The file with settings, on a disk or partition whose FAT file system has the label ASSAY.
pub(crate) const FILE: &str = "ASSAY.CFG";
/// More than settings take.
const BYTES_MAX: u64 = 64 << 10;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The published measurements: hours.
    Suite,
    /// The same in seconds each: shows that everything works, and measures little.
    Short,
}

/// Where results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Out {
    /// As text to the serial line.
    Serial,
    /// As a tar archive to the virtio-serial port `assay.results`.
    Virtio,
    /// To the FAT partition of the system disk.
    Disk,
    /// Over the network, to who has the token that the console shows.
    Http,
}

const OUTS: &[(&str, Out)] =
    &[("serial", Out::Serial), ("virtio", Out::Virtio), ("disk", Out::Disk), ("http", Out::Http)];

/// What is set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    pub(crate) run: Option<Mode>,
    /// Disks that may be formatted although they are not empty.
    pub(crate) destroy: Vec<String>,
    pub(crate) out: Vec<Out>,
    pub(crate) power_off: bool,
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = match self.run {
            None => "none",
            Some(Mode::Suite) => "suite",
            Some(Mode::Short) => "short",
        };
        let names = OUTS.iter().filter(|(_, out)| self.out.contains(out)).map(|(name, _)| *name);
        let out = names.collect::<Vec<_>>().join(",");
        write!(f, "run={run} out={out} destroy={}", self.destroy.join(","))?;
        write!(f, " poweroff={}", if self.power_off { "yes" } else { "no" })
    }
}

/// Reads `NAME=VALUE` words.
///
/// # Errors
/// The first that is none, and what is possible.
pub(crate) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for word in words {
        let wrong = |possible: &str| format!("'{word}': {possible}");
        let (name, value) = word.split_once('=').ok_or_else(|| wrong("expected NAME=VALUE"))?;
        match (name, value) {
            ("run", "suite") => settings.run = Some(Mode::Suite),
            ("run", "short") => settings.run = Some(Mode::Short),
            ("run", _) => return Err(wrong("run is suite or short")),
            ("destroy", disks) => settings.destroy = disks.split(',').map(str::to_owned).collect(),
            ("poweroff", "yes" | "no") => settings.power_off = value == "yes",
            ("poweroff", _) => return Err(wrong("poweroff is yes or no")),
            ("out", outs) => {
                let find = |out: &str| OUTS.iter().find(|(name, _)| *name == out).map(|(_, out)| *out);
                let found: Option<Vec<Out>> = outs.split(',').map(find).collect();
                settings.out =
                    found.ok_or_else(|| wrong("out is serial, virtio, disk or http, or several with ','"))?;
            }
            _ => return Err(wrong("there are run, out, destroy and poweroff")),
        }
    }
    Ok(settings)
}

/// The settings of this machine, and what is to be said of them. The command line comes after the file.
pub(super) fn found(disks: &[Disk]) -> (Settings, Vec<String>) {
    let mut said = Vec::new();
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let mut words = Vec::new();
    for disk in disks {
        if let Some((place, text)) = disk.file(FILE, BYTES_MAX) {
            said.push(format!("settings of {place}"));
            words.extend(String::from_utf8_lossy(&text).lines().map(|line| line.trim().to_owned()));
        }
    }
    words.extend(line.split_whitespace().filter_map(|word| word.strip_prefix("assay.")).map(str::to_owned));
    let words = words.iter().map(String::as_str).filter(|word| !word.is_empty() && !word.starts_with('#'));
    match parse(words) {
        Ok(settings) => (settings, said),
        Err(why) => {
            said.push(format!("the settings are not used: {why}"));
            (Settings::default(), said)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_a_wrong_one_is_named_with_what_is_possible() {
        let words = ["run=short", "out=virtio,disk", "poweroff=yes", "destroy=vdb"];
        let settings = parse(words).expect("settings");
        assert_eq!(settings.run, Some(Mode::Short));
        assert_eq!(settings.out, [Out::Virtio, Out::Disk]);
        assert!(settings.power_off && settings.destroy == ["vdb"]);
        assert_eq!(settings.to_string(), "run=short out=virtio,disk destroy=vdb poweroff=yes");
        assert_eq!(parse(["out=http,serial"]).expect("settings").out, [Out::Http, Out::Serial]);
        for (word, part) in [
            ("run=all", "suite or short"),
            ("out=tape", "serial, virtio, disk or http"),
            ("speed=11", "run, out, destroy and poweroff"),
            ("run", "NAME=VALUE"),
        ] {
            let why = parse([word]).expect_err(word);
            assert!(why.contains(word) && why.contains(part), "{why}");
        }
    }
}
