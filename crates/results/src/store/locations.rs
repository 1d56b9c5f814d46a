//! Where runs and baselines go. The values of the environment are parameters: only the program reads them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The directory for Assay's data: `$XDG_DATA_HOME/assay`, else `$HOME/.local/share/assay`; `None` without either.
///
/// A relative `$XDG_DATA_HOME` counts as unset, as the XDG Base Directory Specification says.
pub fn data_root(xdg_data_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let usable = |value: Option<&OsStr>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = usable(xdg_data_home).or_else(|| usable(home).map(|home| home.join(".local/share")))?;
    Some(base.join("assay"))
}

/// The directory for runs: `$ASSAY_RUNS`, else `runs` in [`data_root`].
pub fn runs_root(
    assay_runs: Option<&OsStr>,
    xdg_data_home: Option<&OsStr>,
    home: Option<&OsStr>,
) -> Option<PathBuf> {
    let named = assay_runs.filter(|value| !value.is_empty()).map(Path::new);
    named.map(Path::to_owned).or_else(|| Some(data_root(xdg_data_home, home)?.join("runs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_set_counts() {
        let os = |text: &'static str| Some(OsStr::new(text));
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(runs_root(os("mine"), os("/x"), os("/h")), path("mine"));
        assert_eq!(runs_root(os(""), os("/x"), os("/h")), path("/x/assay/runs"));
        assert_eq!(runs_root(None, os("x"), os("/h")), path("/h/.local/share/assay/runs"));
        assert_eq!(data_root(None, os("/h")), path("/h/.local/share/assay"));
        assert_eq!(runs_root(None, None, os("h")), None);
    }
}
