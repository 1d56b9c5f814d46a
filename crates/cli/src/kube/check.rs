//! `assay kube check`: whether a cluster has what a run needs, before one is begun.

use assay_fleet::kube::access::{Need, PERMISSIONS};
use assay_fleet::kube::cluster::Cluster;
use assay_fleet::kube::facts::{Class, quantity_bytes};
use assay_fleet::kube::options::VolumeMode;
use assay_fleet::kube::run::KubeRun;
use assay_report::terminal;
use assay_workload::units::Bytes;
use clap::Args;

use super::PodsArgs;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::signals;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pods: PodsArgs,
    /// Workers that are to run
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: u32,
    /// Start one worker with its volumes and remove it: shows that the image is there and that the class makes volumes of this mode
    #[arg(long = "try")]
    is_tried: bool,
}

/// What was found, in rows, and what is missing.
#[derive(Default)]
struct Found {
    rows: Vec<Vec<String>>,
    missing: Vec<String>,
}

impl Found {
    fn row(&mut self, what: &str, state: &str, more: &str) {
        self.rows.push(vec![what.to_owned(), state.to_owned(), more.to_owned()]);
    }
}

pub(crate) fn check(args: &CheckArgs, context: &Context) -> Result<Outcome, Failure> {
    let cluster = args.pods.place.connect(signals::stop_flag()?)?;
    let mut found = Found::default();
    found.row("server", "ok", &cluster.version()?);
    found.row("namespace", "ok", cluster.namespace());
    permissions(&cluster, &mut found)?;
    classes(&cluster, args, &mut found);
    quota(&cluster, args, &mut found);
    if args.is_tried {
        trial(&cluster, args, &mut found, context)?;
    } else {
        found.row("image", "not tried", &format!("{} (--try starts a worker)", args.pods.image));
    }
    context.out(&terminal::words_table(&["what", "state", ""], &found.rows, &context.style));
    if found.missing.is_empty() {
        return Ok(Outcome::Done);
    }
    Err(Failure::failed(format!("missing: {}", found.missing.join(", "))))
}

fn permissions(cluster: &Cluster, found: &mut Found) -> Result<(), Failure> {
    for permission in PERMISSIONS {
        for verb in permission.verbs {
            let name = format!("{verb} {}", permission.name());
            let state = match (cluster.may(&permission, verb)?, permission.need) {
                (Some(true), _) => "ok",
                (None, _) => "unknown",
                (Some(false), Need::Run) => {
                    found.missing.push(name.clone());
                    "missing"
                }
                (Some(false), Need::InCluster) => "missing: no coordinator in the cluster",
                (Some(false), Need::PodNetwork) => "missing: workers cannot come over the pod network",
                (Some(false), Need::DropCaches) => "missing: caches cannot be dropped",
                (Some(false), Need::Facts) => "missing: results do not say it",
            };
            found.row(&name, state, permission.purpose);
        }
    }
    Ok(())
}

fn classes(cluster: &Cluster, args: &CheckArgs, found: &mut Found) {
    let all = match cluster.classes() {
        Ok(all) => all,
        Err(error) => return found.row("storage class", "unknown", &error.to_string()),
    };
    let names: Vec<&str> = all.iter().map(|class| class.name.as_str()).collect();
    let available = format!("available: {}", names.join(", "));
    if args.pods.storage_class.is_empty() {
        match all.iter().find(|class| class.is_default) {
            Some(class) => class_row(class, args, found),
            None => {
                found.row("storage class", "missing", &format!("the cluster has no default; {available}"));
                found.missing.push("a default storage class (name one with --storage-class)".to_owned());
            }
        }
    }
    for name in &args.pods.storage_class {
        match all.iter().find(|class| class.name == *name) {
            Some(class) => class_row(class, args, found),
            None => {
                found.row(&format!("storage class {name}"), "missing", &available);
                found.missing.push(format!("storage class {name}"));
            }
        }
    }
}

fn class_row(class: &Class, args: &CheckArgs, found: &mut Found) {
    let default = if class.is_default { " (default)" } else { "" };
    found.row(&format!("storage class {}{default}", class.name), "ok", &class.describe());
    let mode = args.pods.mode.name();
    if args.pods.mode == VolumeMode::Block && !args.is_tried {
        // No object says which modes a provisioner makes.
        found.row(
            &format!("{mode} volumes of {}", class.name),
            "not tried",
            "only a volume shows it (--try)",
        );
    }
}

fn quota(cluster: &Cluster, args: &CheckArgs, found: &mut Found) {
    let wanted = args.pods.options(None).size.0 * u64::from(args.pods.pvcs) * u64::from(args.workers);
    match cluster.quotas() {
        Err(error) => found.row("quota", "unknown", &error.to_string()),
        Ok(lines) if lines.is_empty() => found.row("quota", "ok", "none"),
        Ok(lines) => {
            for line in lines {
                let is_short =
                    line.contains(" requests.storage ") && free(&line).is_some_and(|free| free < wanted);
                if is_short {
                    found.missing.push(format!("room in the quota for {} of volumes", Bytes(wanted)));
                }
                found.row("quota", if is_short { "too small" } else { "ok" }, &line);
            }
        }
    }
}

/// What is left in `name: requests.storage 10Gi of 100Gi`.
fn free(line: &str) -> Option<u64> {
    let (used, hard) = line.rsplit(' ').nth(2).zip(line.rsplit(' ').next())?;
    Some(quantity_bytes(hard)?.saturating_sub(quantity_bytes(used)?))
}

/// Starts a worker with its volumes, and removes it.
fn trial(cluster: &Cluster, args: &CheckArgs, found: &mut Found, context: &Context) -> Result<(), Failure> {
    let classes: Vec<Option<&String>> = match &args.pods.storage_class[..] {
        [] => vec![None],
        some => some.iter().map(Some).collect(),
    };
    for class in classes {
        let mut options = args.pods.options(class);
        options.keep = false;
        let what = format!("a worker with a {} volume", options.mode.name());
        match KubeRun::begin(cluster.clone(), options, 1, &[Need::Run], context.sayer()) {
            Ok(run) => {
                let volumes = run.volumes(0)?;
                let volumes: Vec<String> = volumes
                    .iter()
                    .map(|one| {
                        format!("{} of class {}, {}", one.volume, one.class, Bytes(one.bytes.unwrap_or(0)))
                    })
                    .collect();
                found.row(&what, "ok", &format!("on {}: {}", run.nodes().join(", "), volumes.join("; ")));
            }
            Err(assay_fleet::kube::error::KubeError::Stopped) => return Err(Failure::Interrupted),
            Err(error) => {
                found.row(&what, "failed", &error.to_string());
                found.missing.push(format!(
                    "{what}{}",
                    class.map_or(String::new(), |name| format!(" of class {name}"))
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_quota_leaves_is_a_size() {
        assert_eq!(free("q: requests.storage 10Gi of 100Gi"), Some(90 << 30));
        assert_eq!(free("q: pods 3 of 10"), Some(7));
        assert_eq!(free("q"), None);
    }
}
