//! The options of kubuculum's bench_fiorand, by the names that its two versions give them, on the command line and in inventories. Each has an entry
//! in one table: what it is read into, or why it has no effect here.

use std::str::FromStr;

use assay_fleet::kube::options::Label;
use assay_formats::near;

/// What is asked for. Numbers and defaults are those of `roles/bench_fiorand/defaults/main.yml` of kubuculum 0.1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Workers, each with a volume.
    pub(crate) instances: u32,
    /// Size of each job's file, GiB.
    pub(crate) file_gb: f64,
    /// Jobs of each worker.
    pub(crate) jobs: u32,
    /// Files of each job.
    pub(crate) files: u32,
    /// Block sizes of the random I/O, KiB.
    pub(crate) block_kb: Vec<u32>,
    /// Block size of the prepare write, KiB.
    pub(crate) prepare_block_kb: u32,
    /// Outstanding I/Os of each job.
    pub(crate) depth: Vec<u32>,
    /// I/Os a second of each job; none: unlimited.
    pub(crate) rate: Vec<f64>,
    /// Seconds of each test.
    pub(crate) seconds: f64,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) server_label: Option<Label>,
    /// Size of each volume, GiB; `None`: by the formula.
    pub(crate) volume_gb: Option<f64>,
    pub(crate) scale: f64,
    pub(crate) extra_gb: f64,
    pub(crate) storage_class: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) image: Option<String>,
    /// The whole run ends after so many seconds.
    pub(crate) seconds_max: u64,
    /// Where the output directory is made.
    pub(crate) directory: Option<String>,
    /// Drop caches of the nodes behind the prepare phase, and between phases.
    pub(crate) drop_caches: bool,
    /// A privileged DaemonSet may do that.
    pub(crate) may_be_privileged: bool,
    /// Ambient load beside the tests.
    pub(crate) calm: bool,
    pub(crate) calm_instances: u32,
    pub(crate) calm_rate: f64,
    /// Words for which something else is done, or nothing, with the reason.
    pub(crate) remarks: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            instances: 1,
            file_gb: 2.0,
            jobs: 2,
            files: 1,
            block_kb: vec![8],
            prepare_block_kb: 1024,
            depth: vec![32],
            rate: Vec::new(),
            seconds: 60.0,
            read: true,
            write: true,
            server_label: None,
            volume_gb: None,
            scale: 2.0,
            extra_gb: 32.0,
            storage_class: None,
            namespace: None,
            image: None,
            seconds_max: 36_000,
            directory: None,
            drop_caches: false,
            may_be_privileged: false,
            calm: false,
            calm_instances: 1,
            calm_rate: 256.0,
            remarks: Vec::new(),
        }
    }
}

type Take = fn(&mut Settings, &str) -> Result<(), String>;

/// What becomes of an option.
enum Fate {
    Read(Take),
    /// It is said that it has no effect, and why.
    Nothing(&'static str),
}

/// A number that is more than nothing.
fn positive<T: FromStr + PartialOrd + Default>(text: &str) -> Result<T, String> {
    let number = text.parse::<T>().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| format!("'{text}' is not a number above 0"))
}

fn truth(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "on" => Ok(true),
        "false" | "no" | "0" | "off" => Ok(false),
        _ => Err(format!("'{text}' is neither true nor false")),
    }
}

/// `8`, `[8, 16]` or `8 16`: kubuculum's lists, and a single value of its first version.
fn list<T: FromStr + PartialOrd + Default>(text: &str) -> Result<Vec<T>, String> {
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    let words = inside.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
    let numbers: Vec<T> =
        words.map(|word| positive(word.trim_matches(['\'', '"']))).collect::<Result<_, _>>()?;
    if numbers.is_empty() { Err(format!("'{text}' is an empty list")) } else { Ok(numbers) }
}

/// I/Os a second, with fio's `k`.
fn rates(text: &str) -> Result<Vec<f64>, String> {
    let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
    let rate = |word: &str| {
        let word = word.trim().trim_matches(['\'', '"']);
        match word.strip_suffix('k') {
            Some(thousands) => positive::<f64>(thousands).map(|number| number * 1e3),
            None => positive::<f64>(word),
        }
    };
    inside.split(',').filter(|word| !word.trim().is_empty()).map(rate).collect()
}

fn gigabytes(text: &str) -> Result<f64, String> {
    positive(text.trim_end_matches(['g', 'G', 'i', 'b', 'B']))
}

fn set<T>(to: &mut T, value: T) -> Result<(), String> {
    *to = value;
    Ok(())
}

use Fate::{Nothing, Read};

const OUTSIDE: &str = "the coordinator runs outside of the cluster: there is no client pod";

/// All options: their names, and what becomes of them. Those of the first version begin with `bench_fiorand_`, which may be left out.
const OPTIONS: &[(&[&str], Fate)] = &[
    (&["ninstances"], Read(|to, text| set(&mut to.instances, positive(text)?))),
    (&["fsz_gb", "filesize_gb"], Read(|to, text| set(&mut to.file_gb, gigabytes(text)?))),
    (&["njobs", "numjobs"], Read(|to, text| set(&mut to.jobs, positive(text)?))),
    (&["nrfiles", "nfiles"], Read(|to, text| set(&mut to.files, positive(text)?))),
    (&["bs_kb", "bs_kb_list"], Read(|to, text| set(&mut to.block_kb, list(text)?))),
    (&["sbs_kb"], Read(|to, text| set(&mut to.prepare_block_kb, positive(text)?))),
    (&["iodepth", "iodepth_list"], Read(|to, text| set(&mut to.depth, list(text)?))),
    (&["rate_iops", "rate_iops_list"], Read(|to, text| set(&mut to.rate, rates(text)?))),
    (&["run_sec", "runtime_sec"], Read(|to, text| set(&mut to.seconds, positive(text)?))),
    (&["testread", "testrread"], Read(|to, text| set(&mut to.read, truth(text)?))),
    (&["testwrite", "testrwrite"], Read(|to, text| set(&mut to.write, truth(text)?))),
    (
        &["servernodelabel", "server_nodeselector"],
        Read(|to, text| set(&mut to.server_label, Some(text.parse()?))),
    ),
    (&["pvcsz_req_gb", "pvcsize_gb"], Read(|to, text| set(&mut to.volume_gb, Some(gigabytes(text)?)))),
    (&["pvcsz_scalefactor", "scalefactor"], Read(|to, text| set(&mut to.scale, positive(text)?))),
    (
        &["pvcsz_extra_gb", "extraspace_gb"],
        Read(|to, text| {
            set(&mut to.extra_gb, text.parse().map_err(|_| format!("'{text}' is not a number"))?)
        }),
    ),
    (
        &["storageclass", "run_storageclass"],
        Read(|to, text| set(&mut to.storage_class, Some(text.to_owned()))),
    ),
    (&["namespace", "run_namespace"], Read(|to, text| set(&mut to.namespace, Some(text.to_owned())))),
    (&["image"], Read(|to, text| set(&mut to.image, Some(text.to_owned())))),
    (&["maxtime_sec", "maxruntime_sec"], Read(|to, text| set(&mut to.seconds_max, positive(text)?))),
    (&["run_basedir"], Read(|to, text| set(&mut to.directory, Some(text.to_owned())))),
    // The second is as kubuculum's own example prints it.
    (
        &["dropcaches_postprepare", "dopcaches_postprepare"],
        Read(|to, text| set(&mut to.drop_caches, truth(text)?)),
    ),
    (&["allow_osrootpods"], Read(|to, text| set(&mut to.may_be_privileged, truth(text)?))),
    (&["calm_enabled"], Read(|to, text| set(&mut to.calm, truth(text)?))),
    (
        &["calm_fioiops_ninstances", "calm_ninstances"],
        Read(|to, text| set(&mut to.calm_instances, positive(text)?)),
    ),
    (&["calm_fioiops_rate_iops", "calm_rate_iops"], Read(|to, text| set(&mut to.calm_rate, positive(text)?))),
    (
        &["calm_role"],
        Read(|_, text| match text {
            "calm_fioiops" | "fioiops" => Ok(()),
            other => Err(format!("'{other}' is no ambient load; available: calm_fioiops")),
        }),
    ),
    (
        &["benchmark_role"],
        Read(|_, text| match text {
            "bench_fiorand" | "fio_random" => Ok(()),
            other => Err(format!("'{other}' is another benchmark; this one is bench_fiorand")),
        }),
    ),
    (&["refill_buffers"], Nothing("what is written is different in every block in any case")),
    (&["ceph_benchrun"], Nothing("caches of an array are dropped by your own command: --drop-hook")),
    (&["nodelabel", "nodeselector"], Nothing(OUTSIDE)),
    (&["podlabel", "preppodlabel"], Nothing(OUTSIDE)),
    (&["podoutdir"], Nothing(OUTSIDE)),
    (&["fio_image"], Nothing("workers run Assay's own image: --image")),
    (
        &["stats_enabled", "stats_role"],
        Nothing("workers count devices, CPU and memory of their nodes each second in any case"),
    ),
    (&["stats_sysstat_nodelabel"], Nothing("workers count their own nodes; no others are watched")),
    (&["os_rootpods_nodelabel"], Nothing("caches are dropped on the nodes of the workers")),
];

impl Settings {
    /// Takes an option, wherever it comes from.
    ///
    /// # Errors
    /// What is wrong with it, and what is possible.
    pub(crate) fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let short =
            name.strip_prefix("bench_fiorand_").or_else(|| name.strip_prefix("fio_random_")).unwrap_or(name);
        let found = OPTIONS.iter().find(|(names, _)| names.contains(&short));
        let Some((_, fate)) = found else {
            let names = || OPTIONS.iter().flat_map(|(names, _)| names.iter().copied());
            let hint =
                near::nearest(short, names()).map_or(String::new(), |near| format!("did you mean {near}? "));
            return Err(format!(
                "there is no option '{name}'; {hint}available: {}",
                names().collect::<Vec<_>>().join(", ")
            ));
        };
        match fate {
            Fate::Read(take) => take(self, value).map_err(|what| format!("{name}: {what}")),
            Fate::Nothing(why) => {
                self.remarks.push(format!("{name} has no effect: {why}"));
                Ok(())
            }
        }
    }

    /// The size of each volume, GiB: kubuculum's formula where none is asked for.
    pub(crate) fn volume_gb(&self) -> f64 {
        let formula = self.scale * f64::from(self.jobs * self.files) * self.file_gb + self.extra_gb;
        self.volume_gb.unwrap_or(formula)
    }

    /// What does not fit together.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !self.read && !self.write {
            return Err("testread and testwrite are both false: there is nothing to measure".to_owned());
        }
        let needed = f64::from(self.jobs * self.files) * self.file_gb;
        if needed > self.volume_gb() {
            return Err(format!(
                "{} files of {} GiB take {needed} GiB, and the volume has {} GiB (pvcsz_req_gb)",
                self.jobs * self.files,
                self.file_gb,
                self.volume_gb()
            ));
        }
        let smallest = f64::from(*self.block_kb.iter().max().unwrap_or(&1)) / f64::from(1 << 20);
        if smallest > self.file_gb {
            return Err(format!(
                "a block of {} KiB is larger than a file of {} GiB",
                smallest * 1_048_576.0,
                self.file_gb
            ));
        }
        Ok(())
    }
}

/// A line of an inventory: its number, the name and the value.
pub(crate) type Line = (usize, String, String);

/// The variables of an inventory, as ansible's YAML and INI forms have them: `name: value` and `name=value`. What names a group or a host says
/// nothing here; a list may follow in lines of its own.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['#', '[', ';']) || line.starts_with("---") {
            continue;
        }
        let bare = line.trim_start_matches("- ").trim();
        let separator = bare.find(['=', ':']).filter(|at| !bare[..*at].contains(' '));
        match (separator, line.starts_with("- "), &open) {
            // An item of a list that was begun.
            (None, true, Some((at, name))) => match found.last_mut().filter(|last| last.1 == *name) {
                Some(last) => last.2 = format!("{},{bare}", last.2),
                None => found.push((*at, name.clone(), bare.to_owned())),
            },
            (Some(at), ..) => {
                let (name, value) = (bare[..at].trim().to_owned(), unquoted(bare[at + 1..].trim()));
                open = value.is_empty().then(|| (number, name.clone()));
                if !value.is_empty() {
                    found.push((number, name, value));
                }
            }
            _ => {}
        }
    }
    found
}

fn unquoted(text: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inside.to_owned();
        }
    }
    text.to_owned()
}

/// The runs of a batch (kubuculum's `batch_control.run_list`): a tag, and the variables that differ.
pub(crate) fn batch(text: &str) -> Vec<(String, Vec<Line>)> {
    let mut runs: Vec<(String, Vec<Line>)> = Vec::new();
    let mut item = String::new();
    let mut first = 1;
    let mut items: Vec<(usize, String)> = Vec::new();
    let mut is_list = false;
    let mut indent = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let depth = line.len() - line.trim_start().len();
        if line.trim_start().starts_with("run_list") {
            is_list = true;
        } else if is_list
            && line.trim_start().starts_with("- ")
            && (items.is_empty() && item.is_empty() || depth <= indent)
        {
            if !item.is_empty() {
                items.push((first, std::mem::take(&mut item)));
            }
            (first, indent) = (number, depth);
            item.push_str(&line.replacen("- ", "  ", 1));
            item.push('\n');
        } else if is_list {
            item.push_str(line);
            item.push('\n');
        }
    }
    if !item.is_empty() {
        items.push((first, item));
    }
    for (first, text) in items {
        let mut own: Vec<Line> =
            lines(&text).into_iter().map(|(at, name, value)| (at + first - 1, name, value)).collect();
        let tag = own.iter().position(|line| line.1 == "run_tag").map(|at| own.remove(at).2);
        runs.push((tag.unwrap_or_else(|| format!("run{}", runs.len() + 1)), own));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(words: &[(&str, &str)]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        words.iter().try_for_each(|(name, value)| settings.take(name, value)).map(|()| settings)
    }

    #[test]
    fn names_of_both_versions_are_known() {
        let settings = taken(&[
            ("bench_fiorand_ninstances", "4"),
            ("bench_fiorand_fsz_gb", "10"),
            ("bench_fiorand_njobs", "3"),
            ("bench_fiorand_bs_kb", "16"),
            ("bench_fiorand_testwrite", "False"),
            ("bench_fiorand_servernodelabel", "node-role.kubernetes.io/worker=''"),
            ("dopcaches_postprepare", "True"),
            ("allow_osrootpods", "true"),
        ])
        .expect("options");
        assert_eq!((settings.instances, settings.jobs, settings.block_kb.as_slice()), (4, 3, &[16][..]));
        assert!(settings.drop_caches && settings.may_be_privileged && !settings.write && settings.read);
        assert_eq!(settings.server_label.as_ref().map(|label| label.value.as_str()), Some(""));
        // 2 x 3 x 10 + 32.
        assert_eq!(settings.volume_gb(), 92.0);
        let settings = taken(&[
            ("bs_kb_list", "[4, 8]"),
            ("iodepth_list", "1 32"),
            ("rate_iops_list", "['1k', 500]"),
            ("filesize_gb", "1"),
            ("scalefactor", "1.25"),
            ("extraspace_gb", "2"),
            ("dropcaches_postprepare", "yes"),
        ])
        .expect("options");
        assert_eq!(
            (settings.block_kb, settings.depth, settings.rate),
            (vec![4, 8], vec![1, 32], vec![1000.0, 500.0])
        );
        assert!(settings.drop_caches);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (name, value, expected) in [
            ("bench_fiorand_ninstance", "1", "did you mean ninstances?"),
            ("ninstances", "0", "not a number above 0"),
            ("testread", "maybe", "neither true nor false"),
            ("calm_role", "x", "available: calm_fioiops"),
        ] {
            let why = taken(&[(name, value)]).expect_err(name);
            assert!(why.contains(expected), "{why}");
        }
        let nothing = taken(&[("testread", "no"), ("testwrite", "no")]).expect("options");
        assert!(nothing.check().expect_err("nothing").contains("nothing to measure"));
        let small = taken(&[("pvcsize_gb", "1"), ("filesize_gb", "1")]).expect("options");
        assert!(
            small
                .check()
                .expect_err("small")
                .contains("2 files of 1 GiB take 2 GiB, and the volume has 1 GiB")
        );
        let remarks = taken(&[("ceph_benchrun", "True")]).expect("options").remarks;
        assert!(remarks[0].contains("--drop-hook"), "{remarks:?}");
    }

    #[test]
    fn inventories_are_read_in_both_forms() {
        let yaml = "---\nall:\n  vars:\n    bench_fiorand_ninstances: 2   # two\n    storageclass: \"rbd\"\n    bs_kb_list:\n      - 4\n      - 8\n    run_sec: 5\n";
        let ini = "[all:vars]\n; a comment\nbench_fiorand_ninstances=2\nservernodelabel=disk=nvme\n";
        let short = |lines: Vec<Line>| {
            lines.into_iter().map(|(at, name, value)| format!("{at}:{name}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(
            short(lines(yaml)),
            ["4:bench_fiorand_ninstances=2", "5:storageclass=rbd", "6:bs_kb_list=4,8", "9:run_sec=5"]
        );
        assert_eq!(short(lines(ini)), ["3:bench_fiorand_ninstances=2", "4:servernodelabel=disk=nvme"]);
    }

    #[test]
    fn a_batch_has_runs_with_tags() {
        let text = "batch_control:\n  run_list:\n  - run_tag: one\n    fio_random:\n      ninstances: 1\n  - run_tag: two\n    fio_random:\n      ninstances: 2\n      bs_kb_list:\n        - 4\n        - 16\n";
        let runs = batch(text);
        assert_eq!(runs.iter().map(|run| run.0.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(runs[0].1, [(5, "ninstances".to_owned(), "1".to_owned())]);
        assert_eq!(runs[1].1[1], (9, "bs_kb_list".to_owned(), "4,16".to_owned()));
    }
}
