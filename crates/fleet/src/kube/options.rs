//! What is asked of Kubernetes, as it is written: `--on kube:4,storage-class=fast,size=20Gi`. Pure; the table of options is the one that
//! messages list.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use assay_workload::units::Bytes;

/// Volumes of one worker at most.
pub const VOLUMES_MAX: u32 = 64;

/// How a volume comes to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VolumeMode {
    /// Mounted, with a file system.
    #[default]
    Filesystem,
    /// As a block device.
    Block,
}

impl VolumeMode {
    /// As Kubernetes writes it.
    pub const fn name(self) -> &'static str {
        match self {
            VolumeMode::Filesystem => "Filesystem",
            VolumeMode::Block => "Block",
        }
    }
}

impl FromStr for VolumeMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "filesystem" => Ok(VolumeMode::Filesystem),
            "block" => Ok(VolumeMode::Block),
            _ => Err(format!("'{text}' is no volume mode; possible: filesystem, block")),
        }
    }
}

/// How workers are spread over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// As evenly as possible; a pod for which that cannot be is placed nevertheless.
    #[default]
    Even,
    /// As evenly as possible, and a pod for which that cannot be stays pending.
    Required,
    /// As the scheduler likes.
    None,
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "even" => Ok(Spread::Even),
            "required" => Ok(Spread::Required),
            "none" => Ok(Spread::None),
            _ => Err(format!("'{text}' is no way to spread workers; possible: even, required, none")),
        }
    }
}

/// When a node's image is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pull {
    /// Where the node does not have it.
    #[default]
    IfNotPresent,
    /// Each time.
    Always,
    /// Not: it was imported.
    Never,
}

impl Pull {
    /// As Kubernetes writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Pull::IfNotPresent => "IfNotPresent",
            Pull::Always => "Always",
            Pull::Never => "Never",
        }
    }
}

impl FromStr for Pull {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Pull::IfNotPresent, Pull::Always, Pull::Never];
        let found = all.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| format!("'{text}' is no pull policy; possible: IfNotPresent, Always, Never"))
    }
}

/// A label and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub key: String,
    /// Its value; empty is one.
    pub value: String,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // kubuculum's example quotes an empty value: node-role.kubernetes.io/worker=''.
        let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is not LABEL=VALUE"))?;
        if key.is_empty() {
            return Err(format!("'{text}' names no label; write LABEL=VALUE"));
        }
        let value = value.trim_matches(|c| c == '\'' || c == '"');
        Ok(Label { key: key.to_owned(), value: value.to_owned() })
    }
}

/// A taint of nodes that workers tolerate: `KEY[=VALUE][:EFFECT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's key.
    pub key: String,
    /// Its value; `None`: any.
    pub value: Option<String>,
    /// Its effect; `None`: any.
    pub effect: Option<String>,
}

impl FromStr for Toleration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (taint, effect) = match text.rsplit_once(':') {
            Some((taint, effect)) => (taint, Some(effect)),
            None => (text, None),
        };
        const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        if let Some(effect) = effect.filter(|effect| !EFFECTS.contains(effect)) {
            return Err(format!("'{effect}' is no effect of a taint; possible: {}", EFFECTS.join(", ")));
        }
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (taint, None),
        };
        if key.is_empty() {
            return Err(format!("'{text}' names no taint; write KEY[=VALUE][:EFFECT]"));
        }
        Ok(Toleration { key: key.to_owned(), value, effect: effect.map(str::to_owned) })
    }
}

/// A length of time in seconds or with a unit.
fn wait(text: &str) -> Result<Duration, String> {
    let nanos: assay_workload::units::Nanos = match text.parse::<u64>() {
        Ok(seconds) => return Ok(Duration::from_secs(seconds)),
        Err(_) => text.parse().map_err(|error| format!("{error}"))?,
    };
    Ok(Duration::from_nanos(nanos.0))
}

/// Which object owns another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The name of the ConfigMap.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

impl Owner {
    /// From `NAME:UID`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, uid) = text.split_once(':').filter(|(name, uid)| !name.is_empty() && !uid.is_empty())?;
        Some(Owner { name: name.to_owned(), uid: uid.to_owned() })
    }
}

/// Everything that is asked of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The context of the kubeconfig; `None`: the current one.
    pub context: Option<String>,
    /// The namespace; `None`: that of the context.
    pub namespace: Option<String>,
    /// The image of the workers; it holds this very program.
    pub image: String,
    /// When it is fetched.
    pub pull: Pull,
    /// The storage class of the volumes; `None`: the cluster's default.
    pub storage_class: Option<String>,
    /// Of each volume.
    pub size: Bytes,
    /// Volumes of each worker.
    pub volumes: u32,
    /// How they come to it.
    pub mode: VolumeMode,
    /// Labels that the workers' nodes have.
    pub node_selector: Vec<Label>,
    /// Taints that workers tolerate.
    pub tolerations: Vec<Toleration>,
    /// How workers are spread over nodes.
    pub spread: Spread,
    /// CPU of each worker, requested and the limit, as Kubernetes writes it; `None`: none is requested.
    pub cpu: Option<String>,
    /// Memory of each worker, the same.
    pub memory: Option<String>,
    /// The user that workers run as; `None`: root of the container, without any capability.
    pub run_as: Option<u32>,
    /// Whether objects are left there at the end.
    pub keep: bool,
    /// How long pods may take to run.
    pub pod_wait: Duration,
    /// What the objects of the run are told by; `None`: a name is made.
    pub id: Option<String>,
    /// What owns the run's objects, in the pod of a coordinator.
    pub owner: Option<Owner>,
    /// The address of this pod, where workers come to it over the pod network; `None`: they are reached through the API server.
    pub pod_network: Option<IpAddr>,
}

/// The image where none is named: what `assay kube image` makes.
pub const IMAGE_DEFAULT: &str = concat!("localhost/assay:", env!("CARGO_PKG_VERSION"));

impl Default for Options {
    fn default() -> Self {
        Options {
            context: None,
            namespace: None,
            image: IMAGE_DEFAULT.to_owned(),
            pull: Pull::default(),
            storage_class: None,
            size: Bytes(10 << 30),
            volumes: 1,
            mode: VolumeMode::default(),
            node_selector: Vec::new(),
            tolerations: Vec::new(),
            spread: Spread::default(),
            cpu: None,
            memory: None,
            run_as: None,
            keep: false,
            pod_wait: Duration::from_secs(120),
            id: None,
            owner: None,
            pod_network: None,
        }
    }
}

type Set = fn(&mut Options, &str) -> Result<(), String>;

/// All options: the word, the form of its value, and what takes it.
const OPTIONS: [(&str, &str, Set); 17] = [
    ("context", "NAME", |to, text| set(&mut to.context, Some(text.to_owned()))),
    ("namespace", "NAME", |to, text| set(&mut to.namespace, Some(text.to_owned()))),
    ("image", "IMAGE", |to, text| set(&mut to.image, text.to_owned())),
    ("pull", "POLICY", |to, text| set(&mut to.pull, text.parse()?)),
    ("storage-class", "NAME", |to, text| set(&mut to.storage_class, Some(text.to_owned()))),
    ("size", "SIZE", |to, text| set(&mut to.size, volume_size(text)?)),
    ("volumes", "N", |to, text| set(&mut to.volumes, volumes(text)?)),
    ("mode", "filesystem|block", |to, text| set(&mut to.mode, text.parse()?)),
    ("node-selector", "LABEL=VALUE", |to, text| push(&mut to.node_selector, text.parse()?)),
    ("toleration", "KEY[=VALUE][:EFFECT]", |to, text| push(&mut to.tolerations, text.parse()?)),
    ("spread", "even|required|none", |to, text| set(&mut to.spread, text.parse()?)),
    ("cpu", "CPUS", |to, text| set(&mut to.cpu, Some(text.to_owned()))),
    ("memory", "SIZE", |to, text| set(&mut to.memory, Some(text.to_owned()))),
    ("run-as", "UID", |to, text| {
        let user = text.parse().map_err(|_| format!("'{text}' is not the number of a user"))?;
        set(&mut to.run_as, Some(user))
    }),
    ("keep", "", |to, _| set(&mut to.keep, true)),
    ("pod-wait", "TIME", |to, text| set(&mut to.pod_wait, wait(text)?)),
    ("id", "NAME", |to, text| set(&mut to.id, Some(name(text)?))),
];

fn set<T>(to: &mut T, value: T) -> Result<(), String> {
    *to = value;
    Ok(())
}

fn push<T>(to: &mut Vec<T>, value: T) -> Result<(), String> {
    to.push(value);
    Ok(())
}

/// The size of a volume: not nothing.
///
/// # Errors
/// What it is not.
pub fn volume_size(text: &str) -> Result<Bytes, String> {
    // Kubernetes writes 10Gi.
    let spelled = if text.ends_with('i') { format!("{text}B") } else { text.to_owned() };
    let size: Bytes = spelled.parse().map_err(|error| format!("{error}"))?;
    if size.0 < 1 << 20 { Err(format!("'{text}' is no size of a volume: 1 MiB at least")) } else { Ok(size) }
}

/// A number of volumes of one worker.
///
/// # Errors
/// What is possible.
pub fn volumes(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=VOLUMES_MAX).contains(number));
    number.ok_or_else(|| format!("'{text}' is not a number of volumes from 1 to {VOLUMES_MAX}"))
}

/// A name that objects may have, short enough for what is put behind it.
///
/// # Errors
/// What is possible.
pub fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.ends_with('-');
    if ends && text.len() <= 30 && text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is no name of objects: lower-case letters, digits and '-', at most 30"))
    }
}

impl Options {
    /// Takes the words behind the number of workers: `storage-class=fast,keep`.
    ///
    /// # Errors
    /// The word that is none, and those that are.
    pub fn take(&mut self, words: &str) -> Result<(), String> {
        for word in words.split(',').filter(|word| !word.is_empty()) {
            let (name, value) =
                word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            let Some((_, form, take)) = OPTIONS.iter().find(|(known, _, _)| *known == name) else {
                let known: Vec<&str> = OPTIONS.iter().map(|(known, _, _)| *known).collect();
                return Err(format!("'{name}' is no option of kube; available: {}", known.join(", ")));
            };
            match (form.is_empty(), value) {
                (true, None) => take(self, "")?,
                (true, Some(value)) => return Err(format!("{name} takes no value, and '{value}' is given")),
                (false, Some(value)) if !value.is_empty() => take(self, value)?,
                (false, _) => return Err(format!("{name} needs a value: {name}={form}")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(words: &str) -> Result<Options, String> {
        let mut options = Options::default();
        options.take(words).map(|()| options)
    }

    #[test]
    fn words_are_options() {
        let options = taken(
            "storage-class=fast,size=20Gi,volumes=2,mode=block,node-selector=disk=nvme,\
             node-selector=node-role.kubernetes.io/worker='',toleration=dedicated=bench:NoSchedule,toleration=gpu,\
             spread=required,cpu=2,memory=4Gi,keep,pod-wait=30",
        )
        .expect("options");
        assert_eq!(options.storage_class.as_deref(), Some("fast"));
        assert_eq!((options.size, options.volumes, options.mode), (Bytes(20 << 30), 2, VolumeMode::Block));
        assert_eq!(options.node_selector[0], Label { key: "disk".to_owned(), value: "nvme".to_owned() });
        assert_eq!(options.node_selector[1].value, "");
        assert_eq!(options.tolerations[0].effect.as_deref(), Some("NoSchedule"));
        assert_eq!(options.tolerations[1].value, None);
        assert!(options.keep && options.spread == Spread::Required);
        assert_eq!(options.pod_wait, Duration::from_secs(30));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_possible() {
        for (words, expected) in [
            ("clas=x", "available: context, namespace"),
            ("mode=raw", "possible: filesystem, block"),
            ("volumes=0", "from 1 to 64"),
            ("size=0", "1 MiB at least"),
            ("size", "size needs a value: size=SIZE"),
            ("keep=yes", "takes no value"),
            ("toleration=a:Never", "possible: NoSchedule"),
            ("node-selector=x", "LABEL=VALUE"),
            ("id=A_b", "lower-case letters"),
            ("run-as=root", "number of a user"),
        ] {
            let why = taken(words).expect_err(words);
            assert!(why.contains(expected), "{words}: {why}");
        }
    }
}
