//! Which keywords each kind of definition knows, in the order in which a shortened keyword is matched.

use assay_formats::near::nearest;

/// The kinds of definitions, in the order in which a file must give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    General,
    Host,
    ReplayGroup,
    FileSystem,
    Storage,
    Workload,
    FileWorkload,
    Run,
}

impl Kind {
    /// The kind that a keyword opens.
    pub(crate) fn opened_by(key: &str) -> Option<Self> {
        match key {
            "hd" => Some(Self::Host),
            "rg" => Some(Self::ReplayGroup),
            "fsd" => Some(Self::FileSystem),
            "sd" => Some(Self::Storage),
            "wd" => Some(Self::Workload),
            "fwd" => Some(Self::FileWorkload),
            "rd" => Some(Self::Run),
            _ => None,
        }
    }

    /// How a message calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::General => "general parameters",
            Self::Host => "host definition (hd)",
            Self::ReplayGroup => "replay group (rg)",
            Self::FileSystem => "file system definition (fsd)",
            Self::Storage => "storage definition (sd)",
            Self::Workload => "workload definition (wd)",
            Self::FileWorkload => "file workload definition (fwd)",
            Self::Run => "run definition (rd)",
        }
    }

    /// Keywords, each with whether it must be written in full.
    fn table(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::General => GENERAL,
            Self::Host => HOST,
            Self::ReplayGroup => REPLAY_GROUP,
            Self::FileSystem => FILE_SYSTEM,
            Self::Storage => STORAGE,
            Self::Workload => WORKLOAD,
            Self::FileWorkload => FILE_WORKLOAD,
            Self::Run => RUN,
        }
    }

    /// All keywords of this kind.
    fn keywords(self) -> impl Iterator<Item = &'static str> {
        self.table().iter().map(|(name, _)| *name)
    }
}

/// All kinds, in file order.
const KINDS: [Kind; 8] = [
    Kind::General,
    Kind::Host,
    Kind::ReplayGroup,
    Kind::FileSystem,
    Kind::Storage,
    Kind::Workload,
    Kind::FileWorkload,
    Kind::Run,
];

/// The full keyword that `key` (lower case) stands for: the first one of which it is a prefix.
pub(crate) fn lookup(kind: Kind, key: &str) -> Option<&'static str> {
    let full = kind.table().iter().find(|(name, _)| *name == key);
    let prefix =
        || kind.table().iter().find(|(name, exact)| key.len() >= 2 && !exact && name.starts_with(key));
    full.or_else(prefix).map(|(name, _)| *name)
}

/// What to say about a keyword that `kind` does not know.
pub(crate) fn suggestion(kind: Kind, key: &str) -> String {
    let elsewhere: Vec<&str> =
        KINDS.iter().filter(|k| **k != kind && lookup(**k, key).is_some()).map(|k| k.name()).collect();
    let order = "definitions must come in the order general, hd, fsd, sd, wd, fwd, rd";
    if !elsewhere.is_empty() {
        return format!("it belongs to: {}; {order}", elsewhere.join(", "));
    }
    match nearest(key, kind.keywords()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => order.to_owned(),
    }
}

const GENERAL: &[(&str, bool)] = &[
    ("compression", false),
    ("compratio", false),
    ("compressionseed", false),
    ("dedupratio", false),
    ("dedupunit", false),
    ("dedupsets", false),
    ("deduphotsets", false),
    ("dedupflipflop", false),
    ("port", false),
    ("pattern", false),
    ("data_errors", false),
    ("dataerrors", false),
    ("swat", false),
    ("validate", false),
    ("journal", true),
    ("startcmd", true),
    ("start_cmd", true),
    ("endcmd", true),
    ("end_cmd", true),
    ("heartbeat_error", true),
    ("debug", true),
    ("unix2windows", false),
    ("formatxfersize", false),
    ("create_anchors", false),
    ("formatsds", false),
    ("report", false),
    ("report_run_totals", false),
    ("histogram", false),
    ("psrset", false),
    ("auxreport", false),
    ("monitor", false),
    ("concatenatesds", false),
    ("messagescan", false),
    ("abort_failed_skew", false),
    ("misc", false),
    ("pattern_buffer", true),
    ("showlba", true),
    ("loop", true),
    ("timeout", false),
    ("ios_per_jvm", false),
    ("fwd_thread_adjust", false),
];

const HOST: &[(&str, bool)] = &[
    ("hd", true),
    ("system", false),
    ("master", false),
    ("vdbench", false),
    ("shell", false),
    ("user", true),
    ("jvms", false),
    ("clients", false),
    ("mount", false),
];

const REPLAY_GROUP: &[(&str, bool)] = &[("rg", true), ("devices", false), ("sd", true)];

const STORAGE: &[(&str, bool)] = &[
    ("sd", true),
    ("host", true),
    ("hd", true),
    ("lun", false),
    ("count", false),
    ("size", false),
    ("threads", false),
    ("hitarea", false),
    ("offset", false),
    ("align", false),
    ("kstat", false),
    ("instance", false),
    ("replay", true),
    ("journal", false),
    ("resetlun", false),
    ("resetbus", false),
    ("openflags", false),
    ("range", false),
    ("dedupratio", false),
    ("dedupunit", false),
    ("dedupsets", false),
    ("deduphotsets", false),
    ("dedupflipflop", false),
    ("streams", false),
];

const WORKLOAD: &[(&str, bool)] = &[
    ("wd", true),
    ("sd", true),
    ("skew", false),
    ("xfersize", false),
    ("readpct", false),
    ("rdpct", false),
    ("writepct", false),
    ("wrpct", false),
    ("range", false),
    ("hotband", false),
    ("seekpct", false),
    ("stride", false),
    ("priority", false),
    ("iorate", false),
    ("rhpct", false),
    ("whpct", false),
    ("host", true),
    ("hd", true),
    ("openflags", false),
    ("user", true),
    ("threads", false),
    ("streams", false),
];

const FILE_SYSTEM: &[(&str, bool)] = &[
    ("fsd", true),
    ("anchor", false),
    ("journal", false),
    ("width", false),
    ("depth", false),
    ("sizes", false),
    ("shared", false),
    ("wss", false),
    ("workingsetsize", false),
    ("totalsize", false),
    ("files", false),
    ("distribution", false),
    ("openflags", false),
    ("log", true),
    ("mask", true),
    ("count", false),
    ("cloud", true),
    ("dedupratio", false),
    ("dedupunit", false),
    ("dedupsets", false),
    ("deduphotsets", false),
    ("dedupflipflop", false),
];

const FILE_WORKLOAD: &[(&str, bool)] = &[
    ("fwd", true),
    ("fsd", true),
    ("readpct", false),
    ("rdpct", false),
    ("stopafter", false),
    ("operation", false),
    ("operations", false),
    ("fileselect", false),
    ("fileio", true),
    ("xfersizes", false),
    ("skew", false),
    ("threads", false),
    ("target", false),
    ("host", true),
    ("hd", true),
    ("openflags", false),
];

const RUN: &[(&str, bool)] = &[
    ("rd", true),
    ("wd", true),
    ("sd", true),
    ("fsd", true),
    ("fwd", true),
    ("iorate", false),
    ("maxdata", false),
    ("maxdataread", false),
    ("maxdatawritten", false),
    ("curve", false),
    ("stopcurve", false),
    ("elapsed", false),
    ("interval", false),
    ("warmup", false),
    ("replay", true),
    ("pause", false),
    ("forxfersize", false),
    ("xfersize", false),
    ("forthreads", false),
    ("threads", false),
    ("forrdpct", false),
    ("rdpct", false),
    ("forrhpct", false),
    ("rhpct", false),
    ("forwhpct", false),
    ("whpct", false),
    ("forseekpct", false),
    ("seekpct", false),
    ("forhitarea", false),
    ("hitarea", false),
    ("forcompratio", false),
    ("compratio", false),
    ("forcompression", false),
    ("compression", false),
    ("fordepth", false),
    ("depth", false),
    ("forwidth", false),
    ("width", false),
    ("forfiles", false),
    ("files", false),
    ("forsizes", false),
    ("sizes", false),
    ("fortotalsize", false),
    ("totalsize", false),
    ("forwss", false),
    ("wss", false),
    ("forworkingsetsize", false),
    ("workingsetsize", false),
    ("foroperations", false),
    ("distribution", false),
    ("startcmd", true),
    ("start_cmd", true),
    ("endcmd", true),
    ("end_cmd", true),
    ("fwdrate", false),
    ("operations", false),
    ("format", false),
    ("openflags", false),
    ("mount", false),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keywords_take_the_first_match() {
        for (kind, key, full) in [
            (Kind::Run, "el", "elapsed"),
            (Kind::Run, "io", "iorate"),
            (Kind::Run, "in", "interval"),
            (Kind::Run, "forx", "forxfersize"),
            (Kind::Run, "th", "threads"),
            (Kind::Run, "maxdata", "maxdata"),
            (Kind::Run, "operation", "operations"),
            (Kind::Workload, "seek", "seekpct"),
            (Kind::Workload, "xf", "xfersize"),
            (Kind::FileSystem, "size", "sizes"),
            (Kind::FileSystem, "file", "files"),
            (Kind::FileSystem, "openflag", "openflags"),
            (Kind::General, "concatenate", "concatenatesds"),
            (Kind::FileWorkload, "xfersize", "xfersizes"),
        ] {
            assert_eq!(lookup(kind, key), Some(full), "{key}");
        }
    }

    #[test]
    fn exact_and_one_letter_keywords_are_not_shortened() {
        assert_eq!(lookup(Kind::Workload, "x"), None);
        assert_eq!(lookup(Kind::General, "jour"), None);
        assert_eq!(lookup(Kind::Run, "maxdata_read"), None);
        assert_eq!(lookup(Kind::FileWorkload, "filei"), None);
    }

    #[test]
    fn unknown_keywords_come_with_help() {
        assert_eq!(suggestion(Kind::Run, "elapsd"), "did you mean `elapsed`?");
        assert!(suggestion(Kind::Workload, "lun").contains("storage definition"));
    }
}
