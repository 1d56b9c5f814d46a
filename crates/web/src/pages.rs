//! Pages, made of what the index, the store and the run that goes on say. The style is that of reports, with a few rules of our
//! own; everything works without scripts.

mod baselines;
mod history;
mod layout;
mod live;
mod run;
mod start;
mod trend;

pub(crate) use baselines::baselines;
pub(crate) use history::{HistoryPage, PAGE_RUNS, history, import, tagging};
pub(crate) use layout::{SCRIPT, STYLE, address, error, login, report_style};
pub(crate) use live::{live, live_part};
pub(crate) use run::{RunPage, compared, run_page};
pub(crate) use start::{review, start};
pub(crate) use trend::trend;
