//! A run that another machine recorded, kept among the runs here.

use std::path::{Path, PathBuf};

use assay_fleet::login::Recorded;
use assay_results::store::{self, RunDir};
use assay_results::{RunEnd, checks};
use assay_runner::Finished;

use crate::context::Context;
use crate::failure::Failure;

/// Keeps the run among the runs here. One that was killed is made whole from its journal.
pub(super) fn keep(arrived: &Recorded, host: &str, context: &Context) -> Result<Finished, Failure> {
    let directory = write(arrived, &context.runs_root()?)?;
    let opened = RunDir::open(&directory)
        .map_err(|error| Failure::failed(format!("what came from {host} is no run: {error}")))?;
    let run = match opened.read_run() {
        Ok(run) => run,
        Err(_) => {
            let mut run = store::recover(&directory).map_err(Failure::failed)?;
            checks::judge(&mut run);
            opened.write_run(&run).map_err(Failure::failed)?;
            run
        }
    };
    let (end, error) = (run.end.unwrap_or(RunEnd::Interrupted), run.error.clone());
    Ok(Finished { run, directory, end, error, lost: false, warnings: Vec::new(), store_error: None })
}

/// Writes the files beside their place and moves them there together.
fn write(arrived: &Recorded, root: &Path) -> Result<PathBuf, Failure> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::failed(format!("cannot write {path}: {error}"))
    };
    let fresh = root.join(format!(".arriving-{:08x}", assay_runner::random_u64()? as u32));
    std::fs::create_dir_all(root).and_then(|()| std::fs::create_dir(&fresh)).map_err(failed(&fresh))?;
    let write =
        || arrived.files.iter().try_for_each(|(name, content)| std::fs::write(fresh.join(name), content));
    let directory = root.join(&arrived.name);
    let moved = write().and_then(|()| std::fs::rename(&fresh, &directory));
    moved.map_err(|error| {
        // Only what was made just now.
        let _ = std::fs::remove_dir_all(&fresh);
        failed(&directory)(error)
    })?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_arrive_together_or_not_at_all() {
        let root = tempfile::tempdir().expect("a directory");
        let arrived = Recorded { name: "r".to_owned(), files: vec![("run.json".to_owned(), b"{}".to_vec())] };
        let path = write(&arrived, root.path()).expect("written");
        assert_eq!(std::fs::read(path.join("run.json")).expect("there"), b"{}");
        assert!(write(&arrived, root.path()).is_err(), "an existing run is not written over");
        assert_eq!(std::fs::read_dir(root.path()).expect("root").count(), 1, "nothing is left beside it");
    }
}
