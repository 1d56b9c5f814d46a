//! The models that come with Assay.

/// A model file in the program.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// The model's name.
    pub name: &'static str,
    /// The file.
    pub toml: &'static str,
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// All shipped models.
        pub const SHIPPED: &[Shipped] = &[
            $(Shipped { name: $name, toml: include_str!(concat!("../../models/", $name, ".toml")) }),+
        ];
    };
}

shipped!["known-latency", "mm1", "mmc", "one-brick", "two-brick", "raid10-12", "ssd", "hdd", "cluster-4",];
