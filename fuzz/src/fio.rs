//! Job files and command lines of fio: its table of options says what there is, and of each option the lines that are accepted alone.

use std::sync::LazyLock;

use assay_fio as fio;
use assay_formats::loader::MemoryLoader;
use toml::Value;

use crate::Grammar;
use crate::lines::Lines;
use crate::random::Random;

const TABLE: &str = include_str!("../../crates/fio/options.toml");

/// Values of a shape that are worth a try.
fn values(kind: &str) -> &'static [&'static str] {
    match kind {
        "text" => &["x", "/dev/x", "a.dat"],
        "optional-text" => &["", "x"],
        "flag" => &["", "0", "1"],
        "bool" => &["0", "1"],
        "int" | "last-int" => &["1", "2", "8", "50", "100", "4k", "1m", "0"],
        "triple" => &["4k", "4k,8k", "4k,8k,16k", "50", "10,20", "100,200,300", "1m"],
        "size" => &["1m", "50%", "1g", "64k", "100%", "3m"],
        "seconds" => &["10", "10s", "500ms", "1m"],
        "micros" => &["10", "10ms", "1s"],
        "time-span" => &["5", "1-2"],
        "byte-span" => &["4k", "1m-2m"],
        "ranges" => &["4k-8k", "4k-8k,8k-16k", "512-4k,4k-8k,8k-8k"],
        "floats" => &["50", "50:90", "99.0:99.9:99.99"],
        "split" => &["4k/50:8k/50", "4k/10:64k/", "4k/30:8k/70,16k/50:32k/50", "512/:1m/"],
        "distribution" => &[
            "random",
            "zipf:1.2",
            "zipf:0.8:0.3",
            "pareto:0.2",
            "normal:25",
            "zoned:60/10:40/90",
            "zoned_abs:60/1m:40/4m",
            "random,zipf:1.2",
        ],
        "files" => &["a.dat", "a.dat:b.dat", "/dev/x:/dev/y"],
        "pattern" => &["0xdeadbeef", "\"abc\"0x0f", "'%o'", "12"],
        "cpus" => &["0", "0,1", "0-1"],
        "error-groups" => &["EIO", "EIO:ENOSPC,EILSEQ", ",EIO"],
        "steady" => &["iops:10%", "bw_slope:1%", "lat:5%", "iops_slope:100"],
        _ => &["1", "x", "10:20"],
    }
}

/// Lines of options, each of which is accepted in a job without others.
static OPTIONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let table = Value::Table(TABLE.parse().expect("the table of options is TOML"));
    let mut lines = Vec::new();
    for option in table["option"].as_array().expect("a list of options") {
        let name = option["name"].as_str().expect("a name");
        let mut add = |value: &str| {
            lines.push(if value.is_empty() { name.to_owned() } else { format!("{name}={value}") });
        };
        match option.get("kind") {
            Some(Value::String(kind)) => values(kind).iter().for_each(|value| add(value)),
            Some(Value::Table(kind)) => {
                let words = kind.values().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
                words.for_each(&mut add);
            }
            _ => add("1"),
        }
        lines.extend(option.get("sample").and_then(Value::as_str).map(str::to_owned));
    }
    lines.retain(|line| is_job_file(&format!("[t]\nrw=randrw\nsize=1g\n{line}\n")));
    lines.push("include inc".to_owned());
    lines.push("bs=${V}".to_owned());
    lines.push("offset=(2*4k)".to_owned());
    lines.push("size=$mb_memory".to_owned());
    lines
});

/// Files and variables that a text may refer to.
pub fn loader(included: &str) -> MemoryLoader {
    let mut loader = MemoryLoader::default();
    loader.files.insert("inc".to_owned(), included.to_owned());
    loader.env.insert("V".to_owned(), "4k".to_owned());
    loader
}

/// The machine that a text is read for.
pub const SYSTEM: fio::System = fio::System { page_size_bytes: 4096, memory_mib: Some(1000), cpus: Some(2) };

fn is_job_file(text: &str) -> bool {
    let (file, _) = fio::parse_with("fuzz", text, &loader("bs=8k\n"), &SYSTEM);
    file.is_some_and(|file| fio::lower("fuzz", &file).0.is_some())
}

/// The words of a command line, one a line.
pub fn words(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Job files.
#[derive(Debug)]
pub struct JobFile(Lines);

impl Default for JobFile {
    fn default() -> Self {
        JobFile(Lines {
            pool: OPTIONS.clone(),
            header: |number| if number == 1 { "[global]".to_owned() } else { format!("[j{number}]") },
            is_header: |line| line.starts_with('['),
            needed: &["size=1m"],
        })
    }
}

impl Grammar for JobFile {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        self.0.mutate(text, random)
    }

    fn accepts(&self, text: &str) -> bool {
        is_job_file(text)
    }
}

/// Command lines, a word a line.
#[derive(Debug)]
pub struct CommandLine(Lines);

impl Default for CommandLine {
    fn default() -> Self {
        let dashed = |lines: &String| {
            let of_job = |line: &str| format!("--{line}");
            lines.lines().map(of_job).collect::<Vec<_>>().join("\n")
        };
        let mut pool: Vec<String> =
            OPTIONS.iter().filter(|line| !line.starts_with("include")).map(dashed).collect();
        pool.push("--output-format=json+".to_owned());
        pool.push("--section=j".to_owned());
        pool.push("inc".to_owned());
        CommandLine(Lines {
            pool,
            header: |number| format!("--name=j{number}"),
            is_header: |line| line.starts_with("--name"),
            needed: &["--size=1m"],
        })
    }
}

impl Grammar for CommandLine {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        self.0.mutate(text, random)
    }

    fn accepts(&self, text: &str) -> bool {
        let (file, _) = fio::parse_command_line(&words(text), &loader("[j]\nrw=read\nsize=1m\n"));
        file.is_some_and(|file| fio::lower("fuzz", &file).0.is_some())
    }
}
