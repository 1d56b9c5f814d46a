//! Resolves the names by which definitions refer to each other, wildcards included.

use std::collections::{BTreeMap, BTreeSet};

use super::file::ParameterFile;
use super::options::Options;
use super::sink::{At, Sink};
use assay_formats::near::nearest;

/// Names of one kind of definition, for exact and prefix look-ups.
struct Names {
    kind: &'static str,
    by_name: BTreeMap<String, usize>,
    /// The last list and what it selected: files repeat `sd=sd*` on every line.
    last: (Vec<String>, Vec<usize>),
    /// What asks is used by no run: a name that is not there is worth a note.
    optional: bool,
}

impl Names {
    /// Collects names; duplicates are reported.
    fn new<'n>(kind: &'static str, names: impl Iterator<Item = (&'n str, At)>, sink: &mut Sink) -> Self {
        let mut by_name = BTreeMap::new();
        for (index, (name, at)) in names.enumerate() {
            if by_name.insert(name.to_owned(), index).is_some() {
                let message = format!("the name `{}` is defined twice", super::sink::shorten(name));
                sink.error("duplicate-name", at, name, message, "give each definition its own name");
            }
        }
        Self { kind, by_name, last: Default::default(), optional: false }
    }

    /// The definitions that a list of names and `prefix*` patterns selects, in the order of the file for a pattern.
    fn select(&mut self, words: &[(String, At)], budget: &mut usize, sink: &mut Sink) -> Vec<usize> {
        let same =
            words.len() == self.last.0.len() && words.iter().zip(&self.last.0).all(|((w, _), l)| w == l);
        if same && self.last.1.len() <= *budget {
            *budget -= self.last.1.len();
            return self.last.1.clone();
        }
        let mut chosen = Vec::new();
        let mut seen = BTreeSet::new();
        for (word, at) in words {
            let mut hits: Vec<usize> = match word.strip_suffix('*') {
                Some(prefix) => self
                    .by_name
                    .range(prefix.to_owned()..)
                    .take_while(|(name, _)| name.starts_with(prefix))
                    .map(|(_, index)| *index)
                    .take(*budget + 1)
                    .collect(),
                None => self.by_name.get(word).copied().into_iter().collect(),
            };
            if hits.is_empty() {
                self.no_match(word, *at, sink);
            }
            if hits.len() > *budget {
                let message = "the definitions refer to each other too often";
                sink.error("too-large", *at, word, message, "use fewer definitions");
                *budget = 0;
                return chosen;
            }
            *budget -= hits.len();
            hits.sort_unstable();
            chosen.extend(hits.into_iter().filter(|i| seen.insert(*i)));
        }
        // What was not found is reported each time, so it is not remembered.
        if !chosen.is_empty() {
            self.last = (words.iter().map(|(word, _)| word.clone()).collect(), chosen.clone());
        }
        chosen
    }

    fn no_match(&self, word: &str, at: At, sink: &mut Sink) {
        let known = || self.by_name.keys().take(1000).map(String::as_str);
        let help = match (nearest(word, known()), known().next()) {
            (Some(name), _) => format!("did you mean `{name}`?"),
            (None, Some(name)) => format!("the first {} of this file is `{name}`", self.kind),
            (None, None) => format!("this file defines no {}", self.kind),
        };
        let message = format!("no {} matches `{}`", self.kind, super::sink::shorten(word));
        if self.optional {
            let message = format!("{message}; no run uses this definition");
            return sink.note("no-match-unused", at, word, message, &help);
        }
        sink.error("no-match", at, word, message, &help);
    }
}

/// Resolves all references of the file.
pub(crate) fn link(file: &mut ParameterFile, options: &Options, sink: &mut Sink) {
    let mut hosts = Names::new("hd", file.hosts.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let mut sds = Names::new("sd", file.storages.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let mut wds = Names::new("wd", file.workloads.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let mut fsds = Names::new("fsd", file.file_systems.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let mut fwds = Names::new("fwd", file.file_workloads.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let runs = Names::new("rd", file.runs.iter().map(|d| (d.name.as_str(), d.at)), sink);
    let mut budget = options.limits.references;
    for rd in &mut file.runs {
        rd.workloads = wds.select(&rd.words[0], &mut budget, sink);
    }
    let used: BTreeSet<String> = file
        .runs
        .iter()
        .flat_map(|rd| &rd.workloads)
        .filter_map(|index| file.workloads.get(*index).map(|wd| wd.name.clone()))
        .collect();
    for wd in file.workloads.iter_mut().chain(std::iter::once(&mut file.default_workload)) {
        sds.optional = !used.contains(&wd.name);
        wd.storages = sds.select(&wd.storage_words, &mut budget, sink);
        sds.optional = false;
        check_hosts(&mut hosts, &wd.hosts, wd.at, &mut budget, sink);
    }
    for sd in &file.storages {
        for lun in &sd.luns {
            check_hosts(&mut hosts, &lun.hosts, sd.at, &mut budget, sink);
        }
    }
    for fwd in &mut file.file_workloads {
        fwd.file_systems = fsds.select(&fwd.file_system_words, &mut budget, sink);
        check_hosts(&mut hosts, &fwd.hosts, fwd.at, &mut budget, sink);
    }
    for rd in &mut file.runs {
        rd.file_workloads = fwds.select(&rd.words[2], &mut budget, sink);
        rd.storages = (!rd.words[1].is_empty()).then(|| sds.select(&rd.words[1], &mut budget, sink));
        rd.file_systems = (!rd.words[3].is_empty()).then(|| fsds.select(&rd.words[3], &mut budget, sink));
    }
    if let Some(name) = &options.restart_at {
        match runs.by_name.get(name) {
            Some(first) => drop(file.runs.drain(..*first)),
            None => {
                let message = format!("no rd is called `{name}`, so nothing can be restarted there");
                sink.error("no-match", None, name, message, "name a run of this file");
            }
        }
    }
}

/// Hosts are only checked: which worker does the I/O is decided elsewhere.
fn check_hosts(names: &mut Names, hosts: &[String], at: At, budget: &mut usize, sink: &mut Sink) {
    if names.by_name.is_empty() {
        return;
    }
    let unknown = |h: &&String| {
        let prefix = h.strip_suffix('*');
        match prefix {
            Some(p) => !names.by_name.range(p.to_owned()..).next().is_some_and(|(n, _)| n.starts_with(p)),
            None => !names.by_name.contains_key(*h) && *h != "localhost",
        }
    };
    let words: Vec<(String, At)> = hosts.iter().filter(unknown).map(|h| (h.clone(), at)).collect();
    names.select(&words, budget, sink);
}
