//! `assay kube fiorand`: what kubuculum's bench_fiorand does. n workers with a volume each write their files, then read and write them at random.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use assay_fleet::Fleet;
use assay_fleet::kube::Options;
use assay_fleet::kube::access::Need;
use assay_fleet::kube::run::{KubeRun, fresh_id};
use assay_fleet::launch::kube::Pods;
use assay_results::{HostEvent, HostId, HostSink};
use assay_runner::{Finished, Site};
use assay_workload::Plan;
use assay_workload::job::PhaseKind;
use assay_workload::units::Bytes;
use clap::Args;

use super::{PodsArgs, classes};
use crate::asked::LoadedWorkload;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::on;
use crate::options::HowArgs;
use crate::run::{self, RunOptions};
use crate::{apps, shown, signals};

mod directory;
mod options;
mod workload;

use directory::{Gathered, RunDirectory};
use options::Settings;

#[derive(Debug, Args)]
#[command(
    after_help = "Options of bench_fiorand are NAME=VALUE, with or without 'bench_fiorand_', in either version's names:
  ninstances fsz_gb njobs bs_kb sbs_kb iodepth run_sec testread testwrite servernodelabel pvcsz_req_gb
  pvcsz_scalefactor pvcsz_extra_gb storageclass namespace maxtime_sec; numjobs filesize_gb bs_kb_list iodepth_list
  rate_iops_list runtime_sec pvcsize_gb scalefactor extraspace_gb; dropcaches_postprepare allow_osrootpods
  calm_enabled run_basedir ..

Examples:
  # as kubuculum is called: an inventory, and what differs
  assay kube fiorand -i inventory.yml -e bench_fiorand_ninstances=4
  # a sweep on one data set
  assay kube fiorand ninstances=2 bs_kb_list=[4,64] iodepth_list=[1,32]
  # two storage classes compared
  assay kube fiorand ninstances=3 --storage-class fast,cheap
  # then: grep -A 1 'All clients' run_*/*/fio-*/fio.randread.run.txt"
)]
pub(crate) struct FiorandArgs {
    /// Options of bench_fiorand
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// The same, as ansible-playbook takes them
    #[arg(short = 'e', long = "extra-vars", value_name = "NAME=VALUE")]
    extra: Vec<String>,
    /// A file with options, YAML or INI; may be given several times
    #[arg(short = 'i', long, value_name = "FILE")]
    inventory: Vec<PathBuf>,
    /// A file with batch_control.run_list: one run for each of its overrides, compared
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// Where run_DATE_EPOCH is made [default: run_basedir, or here]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Drop the page caches of the workers' nodes behind the prepare phase and between tests, by a privileged DaemonSet that is removed at once
    #[arg(long)]
    drop_caches: bool,
    /// Run this shell command on this machine whenever caches are dropped: for caches of an array
    #[arg(long, value_name = "COMMAND")]
    drop_hook: Option<String>,
    /// Seed: the same seed gives the same operations
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    pods: PodsArgs,
    #[command(flatten)]
    loss: on::LossArgs,
    #[command(flatten)]
    how: HowArgs,
}

/// One run of several.
struct Variant {
    /// What it is called; empty: it is the only one.
    tag: String,
    settings: Settings,
    class: Option<String>,
}

pub(crate) fn fiorand(args: &FiorandArgs, context: &Context) -> Result<Outcome, Failure> {
    let variants = variants(args)?;
    let several = variants.len() > 1;
    if several && args.how.output.json {
        return Err(Failure::usage("several runs: 'assay report' writes one of them as a document"));
    }
    let remarks: BTreeSet<&String> = variants.iter().flat_map(|variant| &variant.settings.remarks).collect();
    remarks.into_iter().for_each(|remark| context.say(&format!("note: {remark}")));
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let base = base_directory(args, &variants[0].settings);
    let (mut runs, mut names) = (Vec::new(), Vec::new());
    for variant in &variants {
        if several {
            context.say(&format!("run {} of {}: {}", names.len() + 1, variants.len(), variant.tag));
        }
        let path = if several { base.join(&variant.tag) } else { base.clone() };
        let seed = args.seed.or(runs.first().map(|run: &assay_results::Run| run.plan.seed));
        let Some(finished) = one(args, variant, &path, seed, &site, context)? else { continue };
        let outcome = run::present(&finished, &args.how.output, Some(&args.how.foreign), context)?;
        context.say(&format!("output: {}", path.display()));
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
        names.push(variant.tag.clone());
        runs.push(finished.run);
    }
    if runs.len() > 1 {
        context.out(&classes::comparison(&names, &runs, context)?);
    }
    Ok(Outcome::Done)
}

/// `run_DATE_EPOCH`, as kubuculum names it.
fn base_directory(args: &FiorandArgs, settings: &Settings) -> PathBuf {
    let now = jiff::Timestamp::now();
    let above = args.directory.clone().or_else(|| settings.directory.as_ref().map(PathBuf::from));
    above.unwrap_or_default().join(format!("run_{}_{}", now.strftime("%Y-%m-%d"), now.as_second()))
}

/// What is to be run: the overrides of a batch times the storage classes.
fn variants(args: &FiorandArgs) -> Result<Vec<Variant>, Failure> {
    let mut common = Settings::default();
    for path in &args.inventory {
        let (name, text) = read(path)?;
        for (line, option, value) in options::lines(&text) {
            common.take(&option, &value).map_err(|what| Failure::usage(format!("{name}:{line}: {what}")))?;
        }
    }
    for word in args.extra.iter().chain(&args.settings) {
        let (option, value) =
            word.split_once('=').ok_or_else(|| Failure::usage(format!("'{word}' is not NAME=VALUE")))?;
        common.take(option.trim(), value.trim()).map_err(Failure::usage)?;
    }
    if args.drop_caches {
        (common.drop_caches, common.may_be_privileged) = (true, true);
    }
    let mut tagged = vec![(String::new(), common.clone())];
    if let Some(path) = &args.batch {
        let (name, text) = read(path)?;
        tagged.clear();
        for (tag, lines) in options::batch(&text) {
            let mut own = common.clone();
            for (line, option, value) in lines {
                own.take(&option, &value).map_err(|what| Failure::usage(format!("{name}:{line}: {what}")))?;
            }
            tagged.push((tag, own));
        }
        if tagged.is_empty() {
            return Err(Failure::usage(format!(
                "{name}: no runs; a batch has batch_control.run_list with items"
            )));
        }
    }
    let mut variants = Vec::new();
    for (tag, settings) in tagged {
        settings
            .check()
            .map_err(|what| Failure::usage(if tag.is_empty() { what } else { format!("{tag}: {what}") }))?;
        if args.pods.storage_class.len() < 2 {
            let class = args.pods.storage_class.first().or(settings.storage_class.as_ref()).cloned();
            variants.push(Variant { tag, settings, class });
            continue;
        }
        for class in &args.pods.storage_class {
            let tag = if tag.is_empty() { class.clone() } else { format!("{tag}-{class}") };
            variants.push(Variant { tag, settings: settings.clone(), class: Some(class.clone()) });
        }
    }
    let fits = |tag: &str| !tag.starts_with('.') && !tag.contains(['/', '\0']);
    if let Some(bad) = variants.iter().find(|variant| !fits(&variant.tag)) {
        return Err(Failure::usage(format!("run_tag '{}' cannot be the name of a directory", bad.tag)));
    }
    Ok(variants)
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path);
    text.map(|text| (name.clone(), text))
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))
}

/// What the cluster is asked for, for these settings.
fn pods_of(args: &FiorandArgs, variant: &Variant) -> Options {
    let (settings, mut options) = (&variant.settings, args.pods.options(variant.class.as_ref()));
    if args.pods.pvc_size.is_none() {
        options.size = Bytes((settings.volume_gb() * f64::from(1 << 30)) as u64);
    }
    options.namespace = options.namespace.or_else(|| settings.namespace.clone());
    if let Some(image) = settings.image.clone().filter(|_| args.pods.image == Options::default().image) {
        options.image = image;
    }
    options.node_selector.extend(settings.server_label.clone());
    // So that jobs can name their pods before there are any.
    options.id = options.id.or_else(|| Some(fresh_id()));
    options
}

/// One run, with its directory. `None`: the plan was shown only.
fn one(
    args: &FiorandArgs,
    variant: &Variant,
    path: &Path,
    seed: Option<u64>,
    site: &Site,
    context: &Context,
) -> Result<Option<Finished>, Failure> {
    let settings = &variant.settings;
    let options = pods_of(args, variant);
    let id = options.id.clone().unwrap_or_default();
    let ambient = if settings.calm { settings.calm_instances } else { 0 };
    let names: Vec<String> =
        (0..settings.instances + ambient).map(|number| format!("assay-{id}-{number}")).collect();
    let (workers, calm) = names.split_at(settings.instances as usize);
    let workload = workload::workload(settings, options.mode, workers, calm);
    let mut asked = LoadedWorkload {
        format: None,
        workload,
        directory: PathBuf::new(),
        notes: Vec::new(),
        diagnostics: Vec::new(),
        commands: Vec::new(),
        directories: Vec::new(),
        work_dir: None,
    };
    let how = RunOptions { seed, kube: options.clone(), ..RunOptions::usual(&args.how) };
    on::accept(&mut asked, &how, context)?;
    let setting = on::setting(&asked, &how, site, context);
    let mut pods = Pods::new(names.len(), options, &setting);
    let drops = settings.drop_caches && settings.may_be_privileged;
    if drops {
        pods = pods.needing(Need::DropCaches);
    }
    let (kube_run, gathered) = (pods.run(), Arc::new(Mutex::new(Gathered::default())));
    let mut fleet = Fleet::over(Box::new(pods), &mut asked.workload, None, args.loss.options(site))?;
    let between = Between {
        run: kube_run,
        gathered: Arc::clone(&gathered),
        drops,
        is_asked: settings.drop_caches,
        hook: args.drop_hook.clone(),
        done: 0,
    };
    fleet.before_phases(between.action());
    limit(settings.seconds_max, site);
    let Some(finished) = on::carry_out(asked, fleet, args.how.dry_run, &how, site, context)? else {
        return Ok(None);
    };
    let directory = RunDirectory { settings, path: path.to_owned(), id, workers };
    let gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
    directory.write(&gathered, &finished, &shown::page(&finished.run, &[], context)?)?;
    Ok(Some(finished))
}

/// Stops what takes longer than it may (`maxtime_sec`).
fn limit(seconds: u64, site: &Site) {
    let stop = Arc::downgrade(&site.stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        if let Some(stop) = stop.upgrade() {
            stop.store(true, Ordering::Relaxed);
        }
    });
}

/// What is done before phases.
struct Between {
    run: Arc<OnceLock<KubeRun>>,
    gathered: Arc<Mutex<Gathered>>,
    /// Whether caches are dropped by a DaemonSet.
    drops: bool,
    /// Whether that was asked for.
    is_asked: bool,
    hook: Option<String>,
    done: usize,
}

impl Between {
    fn action(mut self) -> assay_fleet::BeforePhase {
        Box::new(move |plan: &Plan, phase: usize, sink: &mut HostSink<'_>| self.before(plan, phase, sink))
    }

    fn before(&mut self, plan: &Plan, phase: usize, sink: &mut HostSink<'_>) {
        let is_test = plan.phases.get(phase).is_some_and(|planned| planned.kind == PhaseKind::Measure);
        let run = Arc::clone(&self.run);
        let Some(run) = run.get().filter(|_| is_test) else { return };
        if self.done == 0 {
            // The files are there by now.
            self.gathered.lock().unwrap_or_else(PoisonError::into_inner).look(run);
        }
        self.done += 1;
        let mut tell = |host: HostId, id: &str, text: String| {
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            self.gathered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .drops
                .push(format!("{now} {id}: {text}"));
            sink(host, HostEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text });
        };
        const FAILED: &str = "cache-drop-failed";
        if self.is_asked && !self.drops {
            tell(
                HostId::FIRST,
                FAILED,
                "page caches of the nodes were not dropped: allow_osrootpods is not true".to_owned(),
            );
        }
        if self.drops {
            match run.drop_caches(&run.nodes(), self.done) {
                Err(error) => {
                    tell(HostId::FIRST, FAILED, format!("page caches of the nodes were not dropped: {error}"))
                }
                Ok(all) => {
                    for one in all {
                        let worker = run.pods.iter().position(|pod| pod.node == one.node).unwrap_or_default();
                        let host = HostId(worker as u16);
                        match one.outcome {
                            Ok(said) => tell(
                                host,
                                "cache-drop",
                                format!("page cache of node {} dropped: {said}", one.node),
                            ),
                            Err(why) => tell(
                                host,
                                FAILED,
                                format!("page cache of node {} not dropped: {why}", one.node),
                            ),
                        }
                    }
                }
            }
        }
        if let Some(command) = &self.hook {
            match std::process::Command::new("/bin/sh").args(["-c", command]).status() {
                Ok(status) if status.success() => {
                    tell(HostId::FIRST, "cache-drop", format!("'{command}' ended with status 0"))
                }
                Ok(status) => tell(HostId::FIRST, FAILED, format!("'{command}' ended with {status}")),
                Err(error) => tell(HostId::FIRST, FAILED, format!("'{command}': {error}")),
            }
        }
    }
}
