//! Pages as a browser shows them.

use std::fs;
use std::path::Path;

use crate::browser::Browser;
use crate::stored::measured;
use crate::world::{World, path_text};

/// What a page of ours is looked at with, beside what holds for any page.
fn look(browser: &Browser, page: &Path, name: &str, zoom: bool) {
    browser.check_page(path_text(page), name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/report.cjs");
    let words = [path_text(page), name, "zoom"];
    browser.run(&script, if zoom { &words } else { &words[..2] });
}

/// A plan that the simulator carries out in no time.
pub(crate) fn plan(world: &World) -> String {
    let path = world.path().join("plan.toml");
    let text = "assay = 1\nname = \"mixed\"\n[[target]]\nname = \"disk\"\npath = \"data.bin\"\nsize = \"64m\"\n\
                [[job]]\nname = \"load\"\ntargets = [\"disk\"]\nread_percent = 70\nblock_size = \"4k\"\n\
                pattern = { random = \"uniform\", once_per_pass = false }\noutstanding = 8\nruntime = \"1s\"\n";
    fs::write(&path, text).expect("a plan");
    path_text(&path).to_owned()
}

#[test]
fn pages_of_curves_and_searches_are_zoomed_and_read() {
    let Some(browser) = Browser::find() else { return };
    let world = World::new();
    let plan = plan(&world);
    let page = world.path().join("curve.html");
    let simulated = |more: &[&str]| {
        let words = ["run", &plan, "--engine", "sim", "--seed", "7", "--html", path_text(&page), "--force"];
        world.assay(&[&words, more].concat()).ended(0);
    };
    simulated(&["--curve", "25,50,75,90"]);
    look(&browser, &page, "curve", true);
    simulated(&["--repeat", "4"]);
    look(&browser, &page, "repetitions", true);
    simulated(&["--find-rate", "p99<1ms"]);
    look(&browser, &page, "search", true);
}

#[test]
fn pages_of_audits_and_comparisons_hold_what_pages_of_runs_do() {
    let Some(browser) = Browser::find() else { return };
    let world = World::new();
    let page = world.path().join("page.html");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/one-core.vdbench");
    world.assay(&["audit", path_text(&example), "--html", path_text(&page)]).ended(0);
    look(&browser, &page, "audit", false);
    let plan = plan(&world);
    for seed in ["1", "2", "3", "4"] {
        world.assay(&["run", &plan, "--engine", "sim", "--seed", seed]).ended(0);
    }
    let ids: Vec<String> = world.run_directories().iter().map(|path| path_text(path).to_owned()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    world
        .assay(&[&["compare", "--anyway", "--html", path_text(&page), "--force"], &ids[..]].concat())
        .ended(0);
    look(&browser, &page, "comparison", false);
}

#[test]
fn the_page_of_a_run_is_accessible_and_needs_nothing_from_elsewhere() {
    let Some(browser) = Browser::find() else { return };
    let page = measured().run_directories()[0].join("report.html");
    look(&browser, &page, "quick", false);
}
