//! Where a workload file says what: the first line with a word for it.

use assay_workload::plan::LoadAspect;

use super::Format;

/// The number of the first line of a text that says something of an aspect; `None`: it is left to the default.
pub(crate) fn lines_of(format: Format, text: &str, aspect: LoadAspect) -> Option<usize> {
    let words = words(format, aspect);
    (1..)
        .zip(text.lines())
        .find(|(_, line)| keys(format, line).iter().any(|key| is_one(format, key, words)))
        .map(|(number, _)| number)
}

/// vdbench takes what a keyword begins with.
fn is_one(format: Format, key: &str, words: &[&str]) -> bool {
    match format {
        Format::Vdbench => key.len() > 1 && words.iter().any(|word| word.starts_with(key)),
        _ => words.contains(&key),
    }
}

/// What stands in front of each `=` of a line, or the one option of it.
fn keys(format: Format, line: &str) -> Vec<String> {
    let line = line.trim();
    let comment = match format {
        Format::Fio => line.starts_with([';', '#']),
        Format::Vdbench => line.starts_with(['/', '#', '*']),
        Format::Native => line.starts_with('#'),
    };
    if comment {
        return Vec::new();
    }
    match format {
        // A line is one option, with a value or without.
        Format::Fio => vec![line.split('=').next().unwrap_or_default().trim().to_owned()],
        Format::Vdbench | Format::Native => {
            let before = line.match_indices('=').map(|(at, _)| &line[..at]);
            let word = |text: &str| {
                text.rsplit(|c: char| !c.is_alphanumeric() && c != '_')
                    .find(|word| !word.is_empty())
                    .unwrap_or_default()
                    .to_lowercase()
            };
            let headers = line.starts_with('[').then(|| line.trim_matches(['[', ']']).to_owned());
            before.map(word).chain(headers).collect()
        }
    }
}

fn words(format: Format, aspect: LoadAspect) -> &'static [&'static str] {
    use LoadAspect::*;
    match (format, aspect) {
        (Format::Fio, Phases) => &["stonewall", "wait_for_previous", "wait_for"],
        (Format::Fio, Targets) => &["filename", "directory", "filename_format", "nrfiles"],
        (Format::Fio, WorkingSet) => &["size", "filesize", "offset", "offset_increment"],
        (Format::Fio, Operations) => &["rw", "readwrite", "rwmixread", "rwmixwrite", "ioengine"],
        (Format::Fio, BlockSizes) => &["bs", "blocksize", "bssplit", "bsrange", "blocksize_range"],
        (Format::Fio, Placement) => {
            &["random_distribution", "norandommap", "percentage_random", "rw", "readwrite"]
        }
        (Format::Fio, Outstanding) => &["iodepth", "numjobs"],
        (Format::Fio, Rate) => &["rate_iops", "rate", "rate_process"],
        (Format::Fio, Pauses) => &["thinktime", "thinktime_blocks"],
        (Format::Fio, Duration) => &["runtime", "timeout", "number_ios", "io_size", "io_limit", "loops"],
        (Format::Fio, WarmUp) => &["ramp_time"],
        (Format::Fio, Caching) => &["direct", "buffered"],
        (Format::Fio, Durability) => &["sync", "fsync", "fdatasync", "end_fsync"],
        (Format::Vdbench, Phases) => &["rd"],
        (Format::Vdbench, Targets) => &["lun", "anchor"],
        (Format::Vdbench, WorkingSet) => &["range", "size", "sizes", "offset", "hitarea"],
        (Format::Vdbench, Operations) => &["rdpct", "readpct", "forrdpct", "operations"],
        (Format::Vdbench, BlockSizes) => &["xfersizes", "forxfersizes"],
        (Format::Vdbench, Placement) => {
            &["seekpct", "forseekpct", "hotband", "rhpct", "fileio", "fileselect"]
        }
        (Format::Vdbench, Outstanding) => &["threads", "forthreads"],
        (Format::Vdbench, Rate) => &["iorate", "fwdrate", "curve", "distribution"],
        (Format::Vdbench, Pauses) => &["pause"],
        (Format::Vdbench, Duration) => &["elapsed", "maxdata"],
        (Format::Vdbench, WarmUp) => &["warmup"],
        (Format::Vdbench, Caching | Durability) => &["openflags"],
        (Format::Native, Phases) => &["phase", "wait"],
        (Format::Native, Targets) => &["path"],
        (Format::Native, WorkingSet) => &["size", "length", "offset", "range"],
        (Format::Native, Operations) => &["op", "mix", "read_percent", "operations"],
        (Format::Native, BlockSizes) => &["block_size"],
        (Format::Native, Placement) => &["pattern"],
        (Format::Native, Outstanding) => &["outstanding", "threads"],
        (Format::Native, Rate) => &["rate", "arrival"],
        (Format::Native, Pauses) => &["think_time"],
        (Format::Native, Duration) => &["runtime", "bytes", "ios", "passes"],
        (Format::Native, WarmUp) => &["ramp"],
        (Format::Native, Caching) => &["caching"],
        (Format::Native, Durability) => &["flush"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_it_is_found_in_each_language() {
        let fio = "; bs=8k\n[global]\ndirect=1\n[a]\nbs=4k\nfilename=/dev/sdb\n";
        assert_eq!(lines_of(Format::Fio, fio, LoadAspect::BlockSizes), Some(5));
        assert_eq!(lines_of(Format::Fio, fio, LoadAspect::Duration), None);
        let vdbench = "* elapsed=1\nsd=sd1,lun=/dev/sda,th=8\nwd=wd1,sd=sd1,xf=4k\nrd=r,wd=wd1,el=300\n";
        assert_eq!(lines_of(Format::Vdbench, vdbench, LoadAspect::Duration), Some(4));
        assert_eq!(lines_of(Format::Vdbench, vdbench, LoadAspect::Outstanding), Some(2));
        let plan = "[[target]]\npath = 'a'\n[[job]]\nblock_size = '4k'\n";
        assert_eq!(lines_of(Format::Native, plan, LoadAspect::BlockSizes), Some(4));
    }
}
