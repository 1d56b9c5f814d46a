//! The applications that plans may name, as far as this build has them.

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
    let mut kinds = Kinds::default();
    #[cfg(feature = "oltp")]
    kinds.native.push(std::sync::Arc::new(assay_oltp::Oltp::for_plans(crate::oltp::here(context, false)?)));
    #[cfg(feature = "mail")]
    kinds.native.push(std::sync::Arc::new(assay_mail::Mail::default()));
    let _ = context;
    Ok(kinds)
}
