//! A run that somebody gave away: read, stored, read again, judged, shown in every form, given away again.

#![no_main]

use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};

use assay_fuzz::bundle::{Bundles, archive};
use assay_fuzz::{Input, share};
use assay_report::{Style, csv, hlog, html, md, openmetrics, terminal};
use assay_results::store::{self, Bundle};
use assay_results::{Run, checks};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<Bundles> = LazyLock::new(Bundles::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

/// A directory in memory, one for each process.
fn directory() -> &'static PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let path = PathBuf::from(format!("/dev/shm/assay-fuzz-bundle-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        path
    })
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let bundle = Bundle::read(&archive(&text));
    share::count(bundle.is_ok());
    let Ok(bundle) = bundle else { return };
    let Ok(stored) = bundle.store(directory()) else { return };
    let inside = stored.path().parent() == Some(directory().as_path());
    let read = stored.read_run();
    let recovered = store::recover(stored.path());
    let again = read.as_ref().ok().map(|run| store::export_run(stored.path(), run, true));
    std::fs::remove_dir_all(stored.path()).expect("it was made");
    assert!(inside, "a run leaves its store: {}", stored.path().display());
    for mut run in read.into_iter().chain(recovered) {
        checks::judge(&mut run);
        shown(&run);
    }
    if let Some(Ok(bytes)) = again {
        Bundle::read(&bytes).expect("what is given away can be read");
    }
});

/// Nothing of a stranger moves a cursor or becomes markup.
fn shown(run: &Run) {
    let style = Style::plain(100);
    let page = html::page(run, &[]);
    assert!(!page.contains("<x-evil>"), "markup in the page");
    let texts = [
        terminal::run_summary(run, &style),
        terminal::findings(&run.findings, &style),
        terminal::answer(run, &style),
        csv::csv(run),
        md::markdown(run, &[]),
        openmetrics::openmetrics(run),
        hlog::hlog(run, &[]),
    ];
    for text in texts {
        let moves = |c: &char| c.is_control() && *c != '\n';
        assert!(!text.chars().any(|c| moves(&c)), "a control character in {text:?}");
    }
    for (name, text) in assay_vdbench::vdbench_files(run, &[]) {
        assert!(!text.contains("<x-evil>"), "markup in {name}");
    }
    let _ = assay_fio::fio_json(run, true);
}
