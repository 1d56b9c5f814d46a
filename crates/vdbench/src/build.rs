//! From grouped parameters to typed definitions: templates, `count=`, and one pass per definition.

use assay_formats::Affects;

use super::args::Args;
use super::file::ParameterFile;
use super::file_workload;
use super::keyword::{Definition, Kind, lookup};
use super::keywords::suggestion;
use super::objects::{Object, repeat_for_hosts};
use super::options::Options;
use super::ranges::values;
use super::run::RunDef;
use super::sink::{At, Sink};
use super::word::Param;
use super::{FileSystemDef, FileWorkloadDef, HostDef, StorageDef, WorkloadDef};

/// What `KIND=default` has set so far.
#[derive(Default)]
struct Templates {
    host: HostDef,
    storage: StorageDef,
    workload: WorkloadDef,
    file_system: FileSystemDef,
    file_workload: FileWorkloadDef,
    format_workload: FileWorkloadDef,
    run: RunDef,
}

/// Builds every definition of the file.
pub(crate) fn build(objects: Vec<Object>, options: &Options, sink: &mut Sink) -> ParameterFile {
    let mut builder = Builder {
        file: ParameterFile::default(),
        templates: Templates { format_workload: format_template(), ..Templates::default() },
        elements: options.limits.elements,
        options,
        sink,
    };
    let (hosts, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(|o| o.kind <= Kind::Host);
    for object in &hosts {
        builder.object(object);
    }
    let mut labels: Vec<String> = builder.file.hosts.iter().map(|h| h.name.clone()).collect();
    if labels.is_empty() {
        labels.push("localhost".to_owned());
    }
    let others = repeat_for_hosts(others, &labels, &options.limits, builder.sink);
    for object in &others {
        builder.object(object);
    }
    builder.file.default_workload = builder.templates.workload;
    builder.file
}

/// `fwd=format` starts from its own defaults.
fn format_template() -> FileWorkloadDef {
    const FORMAT_TRANSFER_BYTES: u64 = 128 << 10;
    FileWorkloadDef {
        threads: 8.0,
        transfer: super::access::Sizes::Fixed(FORMAT_TRANSFER_BYTES),
        operation: file_workload::FileOperation::Write,
        ..FileWorkloadDef::default()
    }
}

struct Builder<'b> {
    file: ParameterFile,
    templates: Templates,
    elements: usize,
    options: &'b Options,
    sink: &'b mut Sink,
}

/// Starts a definition from its template, applies each parameter, and keeps it (or makes it the new template).
macro_rules! from_template {
    ($builder:ident, $object:ident, $template:ident, $keep:ident) => {{
        let Some((name, at)) = $builder.name($object) else { return };
        let is_default = name.eq_ignore_ascii_case("default");
        let mut def = $builder.templates.$template.clone();
        def.at = at;
        $builder.parameters($object, &mut def);
        if is_default {
            $builder.templates.$template = def;
        } else {
            def.name = name;
            $builder.$keep(def);
        }
    }};
}

impl Builder<'_> {
    fn object(&mut self, object: &Object) {
        match object.kind {
            Kind::General => {
                let mut parameters = std::mem::take(&mut self.file.general);
                self.each(object.kind, &object.params, &mut parameters);
                self.file.general = parameters;
            }
            Kind::Host => from_template!(self, object, host, keep_host),
            Kind::ReplayGroup => self.replay_group(object),
            Kind::FileSystem => from_template!(self, object, file_system, keep_file_system),
            Kind::Storage => self.storage(object),
            Kind::Workload => from_template!(self, object, workload, keep_workload),
            Kind::FileWorkload => self.file_workload(object),
            Kind::Run => self.run(object),
        }
    }

    /// The name and place of a definition.
    fn name(&mut self, object: &Object) -> Option<(String, At)> {
        let param = object.params.first()?;
        let name = param.values.first()?;
        if param.values.len() > 1 && !param.key.text.eq_ignore_ascii_case("host") {
            let message = format!("`{}` needs one name, not a list", param.key.text);
            self.sink.error("bad-value", name.at, &name.text, message, "give each definition its own line");
        }
        Some((name.text.clone(), param.key.at))
    }

    fn parameters<D: Definition>(&mut self, object: &Object, definition: &mut D) {
        self.each(object.kind, object.params.get(1..).unwrap_or_default(), definition);
    }

    fn each<D: Definition>(&mut self, kind: Kind, params: &[Param], definition: &mut D) {
        for param in params {
            let key = param.key.text.to_ascii_lowercase();
            let Some((keyword, name)) = lookup::<D>(&key) else {
                self.unknown(kind, param, &key);
                continue;
            };
            if let Some(values) = values(param, &mut self.elements, self.sink) {
                definition.places().push((keyword.names[0], param.key.at));
                keyword.apply(definition, &mut Args { name, at: param.key.at, values, sink: self.sink });
            }
        }
    }

    fn unknown(&mut self, kind: Kind, param: &Param, key: &str) {
        let message = match key {
            _ if key.chars().count() < 2 => format!("`{key}` is too short: a keyword needs two characters"),
            "maxdata_read" | "max_data_read" => "unknown parameter; it is spelled `maxdataread`".to_owned(),
            "maxdata_written" | "max_data_written" => {
                "unknown parameter; it is spelled `maxdatawritten`".to_owned()
            }
            _ => {
                format!("`{}` is not a keyword of the {}", super::sink::shorten(&param.key.text), kind.name())
            }
        };
        let help = suggestion(kind, key);
        self.sink.error("unknown-keyword", param.key.at, &param.key.text, message, &help);
    }

    fn replay_group(&mut self, object: &Object) {
        if let Some((name, at)) = self.name(object) {
            let message = "a replay group is not used: no trace is replayed here";
            self.sink.loss("replay", Affects::Test, at, &name, message, "import the trace with `assay run`");
        }
    }

    fn storage(&mut self, object: &Object) {
        from_template!(self, object, storage, keep_storage);
        let template = &mut self.templates.storage;
        if let Some(lun) = template.luns.pop() {
            template.luns.clear();
            let message = "`lun=` cannot be part of sd=default";
            let help = "give each sd its own lun";
            self.sink.error("bad-default", object.params[0].key.at, &lun.path, message, help);
        }
    }

    fn file_workload(&mut self, object: &Object) {
        if object
            .params
            .first()
            .and_then(|p| p.values.first())
            .is_some_and(|v| v.text.eq_ignore_ascii_case("format"))
        {
            let mut def = self.templates.format_workload.clone();
            def.at = object.params[0].key.at;
            "format".clone_into(&mut def.name);
            self.parameters(object, &mut def);
            self.file.format_workload = Some(def);
            return;
        }
        from_template!(self, object, file_workload, keep_file_workload);
    }

    fn run(&mut self, object: &Object) {
        self.templates.run.inherited = self.templates.run.set.len();
        from_template!(self, object, run, keep_run);
        if self.templates.run.format.take().is_some() {
            let message = "`format=` cannot be part of rd=default";
            self.sink.error("bad-default", object.params[0].key.at, "format", message, "give it in each rd");
        }
    }

    fn admit(&mut self, count: usize, more: u64, at: At, name: &str) -> bool {
        let limit = self.options.limits.definitions as u64;
        if (count as u64).saturating_add(more) > limit {
            let message = format!("more than {limit} definitions of one kind");
            self.sink.error("too-large", at, name, message, "lower count=");
            return false;
        }
        true
    }

    fn keep_host(&mut self, def: HostDef) {
        let Some(clients) = def.clients else {
            self.file.hosts.push(def);
            return;
        };
        if self.admit(self.file.hosts.len(), clients, def.at, &def.name) {
            for i in 0..clients {
                self.file.hosts.push(HostDef { name: format!("{}_cl{i}", def.name), ..def.clone() });
            }
        }
    }

    fn keep_storage(&mut self, def: StorageDef) {
        let Some((start, n)) = def.count else {
            self.file.storages.push(def);
            return;
        };
        if self.admit(self.file.storages.len(), n, def.at, &def.name) {
            for i in start..start.saturating_add(n) {
                let mut clone = def.clone();
                clone.name = numbered(&def.name, i, true);
                for lun in &mut clone.luns {
                    lun.path = numbered(&lun.path, i, true);
                }
                self.file.storages.push(clone);
            }
        }
    }

    fn keep_file_system(&mut self, def: FileSystemDef) {
        let Some((start, n)) = def.count else {
            self.file.file_systems.push(def);
            return;
        };
        if self.admit(self.file.file_systems.len(), n, def.at, &def.name) {
            for i in start..start.saturating_add(n) {
                let (name, anchor) = (numbered(&def.name, i, false), numbered(&def.anchor, i, false));
                self.file.file_systems.push(FileSystemDef { name, anchor, ..def.clone() });
            }
        }
    }

    fn keep_workload(&mut self, def: WorkloadDef) {
        self.file.workloads.push(def);
    }

    fn keep_file_workload(&mut self, def: FileWorkloadDef) {
        self.file.file_workloads.push(def);
    }

    fn keep_run(&mut self, mut def: RunDef) {
        def.elapsed_s = self.options.elapsed_s.unwrap_or(def.elapsed_s);
        def.interval_s = self.options.interval_s.unwrap_or(def.interval_s);
        def.warmup_s = self.options.warmup_s.unwrap_or(def.warmup_s);
        self.file.runs.push(def);
    }
}

/// A name with the number of a clone: into a `%..d` mask, in place of `*` (storage definitions), else appended.
fn numbered(name: &str, number: u64, star: bool) -> String {
    const WIDEST: usize = 32;
    if let Some(start) = name.find('%') {
        let rest = &name[start + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let width = &rest[..digits];
        if let Some(after) = rest[digits..].strip_prefix('d') {
            let wide = width.parse::<usize>().unwrap_or(0).min(WIDEST);
            let filled =
                if width.starts_with('0') { format!("{number:0wide$}") } else { format!("{number:wide$}") };
            return format!("{}{filled}{after}", &name[..start]);
        }
    }
    if star && name.contains('*') {
        return name.replacen('*', &number.to_string(), 1);
    }
    format!("{name}{number}")
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn clones_are_numbered_by_mask_star_or_tail() {
        assert_eq!(numbered("/dev/vd%02d", 7, true), "/dev/vd07");
        assert_eq!(numbered("/dev/vd*x", 7, true), "/dev/vd7x");
        assert_eq!(numbered("/mnt/*", 7, false), "/mnt/*7");
        assert_eq!(numbered("sd", 12, true), "sd12");
        assert_eq!(numbered("50%", 1, true), "50%1");
        assert_eq!(numbered("a%999999999999999999999d", 1, true).len(), 2);
    }
}
