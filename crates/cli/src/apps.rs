//! The applications that plans may name, as far as this build has them.

use assay_engine::{JobKind, ThisMachine};
use assay_runner::Kinds;
use assay_workload::application::ApplicationKind;

use crate::context::Context;
use crate::failure::Failure;

/// What reads their settings.
pub(crate) const KINDS: &[&dyn ApplicationKind] = &[
    #[cfg(feature = "oltp")]
    &assay_oltp::OltpInPlans,
    #[cfg(feature = "mail")]
    &assay_mail::MailInPlans,
];

/// What carries them out.
pub(crate) fn kinds(context: &Context) -> Result<Kinds, Failure> {
    let native: &[std::sync::Arc<dyn JobKind<ThisMachine> + Send>] = &[
        #[cfg(feature = "oltp")]
        std::sync::Arc::new(assay_oltp::Oltp::for_plans(here(context, false)?)),
        #[cfg(feature = "mail")]
        std::sync::Arc::new(assay_mail::Mail::default()),
    ];
    #[cfg(not(feature = "oltp"))]
    let _ = context;
    Ok(Kinds { native: native.to_vec(), ..Kinds::default() })
}

/// What the databases have to know of this program and machine.
#[cfg(feature = "oltp")]
pub(crate) fn here(context: &Context, force: bool) -> Result<assay_oltp::Here, Failure> {
    Ok(assay_oltp::Here {
        now_us: std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as i64),
        random: assay_runner::random_u64().map_err(Failure::failed)?,
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32,
        password: std::env::var("PGPASSWORD").ok(),
        data: context.data.clone(),
        force,
    })
}
