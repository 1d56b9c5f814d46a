//! What an array is made of.
//!
//! A request goes through the parts in this order, each of them optional: the pure `delay`, the link of its controller,
//! the stages on the cores, the cache, the drives. Stations serve first come first served.

mod back_end;
mod bound;
mod cache;
mod check;
mod fault;
mod shipped;
pub(crate) mod units;

use serde::{Deserialize, Serialize};

use assay_workload::pattern::OpKind;

use crate::service::Service;
pub use back_end::{BackEnd, Drive, Hdd, Protection, Ssd};
pub use cache::{Cache, Policy, WriteBack};
pub use fault::{Fault, Span};
pub use shipped::{SHIPPED, Shipped};
pub use units::Size;

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The text is not a model: bad TOML, an unknown or missing field, a value of the wrong kind.
    #[error("not an array model: {0}")]
    Syntax(String),
    /// A value makes no sense.
    #[error("array model {model}: {field}: {problem}")]
    Value {
        /// The model's name.
        model: String,
        /// Where: a path of field names.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// No shipped model has this name.
    #[error("no array model '{name}'; available: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
}

/// What is wrong with a text, on one line and without a copy of it.
fn syntax_error(text: &str, error: &toml::de::Error) -> ModelError {
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map_or(String::new(), |before| format!("line {}: ", before.matches('\n').count() + 1));
    ModelError::Syntax(format!("{place}{message}"))
}

/// One service time for each kind of operation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Services {
    /// Reads.
    #[serde(default)]
    pub read: Service,
    /// Writes; `None`: as reads.
    #[serde(default)]
    pub write: Option<Service>,
    /// Trims; `None`: as writes.
    #[serde(default)]
    pub trim: Option<Service>,
    /// fsync and fdatasync.
    #[serde(default)]
    pub flush: Service,
}

impl Services {
    /// The one of `kind`.
    pub fn of(&self, kind: OpKind) -> &Service {
        match kind {
            OpKind::Read => &self.read,
            OpKind::Write => self.write.as_ref().unwrap_or(&self.read),
            OpKind::Trim => self.trim.as_ref().unwrap_or(self.of(OpKind::Write)),
            OpKind::Fsync | OpKind::Fdatasync => &self.flush,
        }
    }
}

/// Which core serves the address-bound stages of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Segment k belongs to core k mod N, cores counted controller by controller.
    #[default]
    RoundRobin,
    /// Segment k belongs to controller k mod C, and there to core (k / C) mod (N / C).
    Alternate,
    /// By a hash of the segment's number: objects placed over nodes.
    Hash,
    /// By a hash of what a segment of data holds, as arrays do that find duplicates: equal data has one owner. The audit makes the
    /// data and hashes it; a simulation, which has none, places by the segment's number.
    Content,
}

/// Which core a stage runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorePlacement {
    /// The core that owns the address.
    Bound,
    /// Whichever core of the owning controller is free first.
    Controller,
    /// Whichever core of the array is free first: with one queue for all of them this is the same as first come first
    /// served.
    Array,
}

/// Which requests a stage applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// All.
    #[default]
    Always,
    /// Those answered by the cache.
    Hit,
    /// Those that go to the drives.
    Miss,
}

/// One step of processing on a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub place: CorePlacement,
    /// For which requests.
    #[serde(default)]
    pub when: When,
    /// How long it takes.
    pub service: Services,
}

/// Controllers and their cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEnd {
    /// Number of controllers (nodes).
    pub controllers: u16,
    /// Cores of each.
    pub cores_per_controller: u16,
    /// The unit in which addresses are dealt out to cores.
    pub segment: Size,
    /// How.
    #[serde(default)]
    pub layout: Layout,
    /// Steps of processing, in order.
    #[serde(default)]
    pub stages: Vec<Stage>,
}

impl Default for FrontEnd {
    fn default() -> Self {
        FrontEnd {
            controllers: 1,
            cores_per_controller: 1,
            segment: Size(1 << 20),
            layout: Layout::RoundRobin,
            stages: Vec::new(),
        }
    }
}

impl FrontEnd {
    /// Number of cores in all.
    pub fn cores(&self) -> u32 {
        u32::from(self.controllers) * u32::from(self.cores_per_controller)
    }

    /// The core that owns `segment`, counted controller by controller.
    #[inline]
    pub fn core_of(&self, segment: u64) -> u32 {
        let cores = u64::from(self.cores());
        let core = match self.layout {
            Layout::RoundRobin => segment % cores,
            Layout::Alternate => {
                let (controllers, per) = (u64::from(self.controllers), u64::from(self.cores_per_controller));
                segment % controllers * per + segment / controllers % per
            }
            Layout::Hash | Layout::Content => {
                let mut state = segment;
                assay_workload::rng::splitmix64(&mut state) % cores
            }
        };
        core as u32
    }

    /// Whether segments come back to the same core after a fixed number of them.
    pub fn is_periodic(&self) -> bool {
        !matches!(self.layout, Layout::Hash | Layout::Content)
    }

    /// The controller of `core`.
    pub fn controller_of(&self, core: u32) -> u32 {
        core / u32::from(self.cores_per_controller)
    }
}

/// The connection of each controller to its hosts, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Bytes a second.
    pub bytes_per_s: f64,
}

/// An array.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// What it stands for, and where its numbers come from.
    #[serde(default)]
    pub description: String,
    /// Time every request takes whatever else goes on: any number of them side by side.
    #[serde(default)]
    pub delay: Services,
    /// Controllers and cores.
    #[serde(default)]
    pub front_end: FrontEnd,
    /// Links between hosts and controllers; `None`: they take no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The cache; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// The drives; `None`: requests end in the front end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_end: Option<BackEnd>,
    /// What goes wrong, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Model {
    /// A model from the text of a model file.
    ///
    /// # Errors
    /// [`ModelError::Syntax`] with the place, and [`ModelError::Value`].
    pub fn from_toml(text: &str) -> Result<Model, ModelError> {
        let model: Model = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        model.check()?;
        Ok(model)
    }

    /// The shipped model called `name`.
    ///
    /// # Errors
    /// [`ModelError::Unknown`] with the names there are.
    pub fn shipped(name: &str) -> Result<Model, ModelError> {
        match SHIPPED.iter().find(|shipped| shipped.name == name) {
            Some(shipped) => Model::from_toml(shipped.toml),
            None => Err(ModelError::Unknown {
                name: name.to_owned(),
                known: SHIPPED.iter().map(|shipped| shipped.name).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// A model that only delays: unlimited requests side by side, each taking a time of this distribution.
    pub fn known_latency(read: Service, write: Service) -> Model {
        let delay = Services { read, write: Some(write), ..Services::default() };
        Model { name: "known-latency".to_owned(), delay, ..Model::default() }
    }
}

#[cfg(test)]
mod tests;
