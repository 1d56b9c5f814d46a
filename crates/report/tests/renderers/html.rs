//! The page of a run. With `ASSAY_PAGES` naming a directory, the pages are written there to be looked at.

use assay_report::html::page;
use assay_results::run::Verdict;
use assay_workload::{PhaseKind, SweepPoint};

use crate::support::{assay_run, curve_run, hdd, long_run, mixed_run, stb_run, typical};

/// Keeps a page for a person, where asked.
fn show(name: &str, page: &str) {
    if let Some(directory) = std::env::var_os("ASSAY_PAGES") {
        let path = std::path::Path::new(&directory).join(format!("{name}.html"));
        std::fs::write(path, page).expect("the directory ASSAY_PAGES names can be written");
    }
}

/// Tags that are opened are closed, in order.
fn assert_well_formed(page: &str) {
    let void = ["meta", "!DOCTYPE", "br"];
    let mut open: Vec<&str> = Vec::new();
    let (page, script) = page.split_once("<script>").expect("the script");
    assert!(script.ends_with("</script></body></html>"));
    let page = format!("{page}</body></html>");
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let name = tag.split([' ', '\n']).next().unwrap_or_default();
            if !void.contains(&name) {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_run_of_phases() {
    let page = page(&mixed_run(), &[]);
    show("mixed", &page);
    assert_well_formed(&page);
    // The style sheet is a file of its own, and changes for its own reasons.
    let (head, rest) = page.split_once("<style>").expect("a style sheet");
    let (_, body) = rest.split_once("</style>").expect("its end");
    let (body, _) = body.split_once("<script>").expect("the script");
    insta::assert_snapshot!(format!("{head}{body}").replace("><", ">\n<"));
}

#[test]
fn the_quick_series_of_the_original() {
    let page = page(&stb_run(), &[hdd()]);
    show("stb", &page);
    assert_well_formed(&page);
    assert_eq!(page.matches("class=\"group\"").count(), 5);
    assert_eq!(page.matches("cached 98 %").count(), 2);
    for must in ["1,180 %", "nobarrier", "Possible bias", "1 file, 16 threads, rnd 4k writes, posixaio"] {
        assert!(page.contains(must), "{must}");
    }
}

#[test]
fn the_quick_series_of_windows() {
    let page = page(&assay_run(), &typical());
    show("assay", &page);
    assert_well_formed(&page);
    for must in ["typical SATA SSD 6,000 to 12,000", "9,620–10,010", "IOPS of each window"] {
        assert!(page.contains(must), "{must}");
    }
}

#[test]
fn a_curve_and_a_long_run() {
    let curve = page(&curve_run(), &[]);
    show("curve", &curve);
    assert_well_formed(&curve);
    assert!(curve.contains("response time against IOPS"));
    let long = page(&long_run(), &[]);
    show("long", &long);
    assert_well_formed(&long);
    assert!(long.contains("lowest and the highest of them"));
    assert!(long.len() < 200_000, "{}", long.len());
}

#[test]
fn the_page_is_complete_in_itself() {
    for page in [page(&mixed_run(), &[]), page(&stb_run(), &[hdd()])] {
        for outside in
            ["http:", "https:", "src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("]
        {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<script").count(), 1, "the one that zooms");
    }
}

#[test]
fn long_lists_stand_behind_a_line() {
    let mut run = mixed_run();
    assert!(!page(&run, &[]).contains(">All "), "a short run shows everything at once");
    let one = run.phases.iter().find(|phase| phase.kind == PhaseKind::Measure).unwrap().clone();
    run.phases = vec![one; 60];
    let jobs: usize = run.phases.iter().map(|phase| phase.jobs.len()).sum();
    let page = page(&run, &[]);
    assert!(page.contains("<h3>All 60 phases</h3>"));
    assert!(page.contains(&format!("<h3>Each of the {jobs} measured windows</h3>")));
    assert_well_formed(&page);
}

#[test]
fn a_range_of_bias_is_not_broken_at_its_hyphen() {
    let mut run = mixed_run();
    let page_of_one = page(&run, &[]);
    assert!(page_of_one.contains("IOPS <span class=\"whole\">0-4 %</span> low"));
    assert!(page_of_one.contains(".whole { white-space: nowrap; }"));
    // Where two places differ in it, it stands in their lines.
    let mut other = run.findings[0].clone();
    other.bias = Some("IOPS 0-11 % low".to_owned());
    run.findings.push(other);
    assert!(page(&run, &[]).contains("possible bias: IOPS <span class=\"whole\">0-11 %</span> low"));
}

#[test]
fn names_are_escaped_everywhere() {
    let evil = "<script>alert(\"1\")</script>&'";
    let mut run = mixed_run();
    run.name = evil.to_owned();
    run.started = evil.to_owned();
    run.plan.name = evil.to_owned();
    run.verdict = Verdict::Suspect;
    for phase in &mut run.phases {
        phase.name = evil.to_owned();
        phase.point = SweepPoint::new(evil);
        for job in &mut phase.jobs {
            job.name = evil.to_owned();
            job.pattern = evil.to_owned();
            job.engine = evil.into();
            job.engine_notes = vec![evil.to_owned()];
        }
    }
    for finding in &mut run.findings {
        finding.id = evil.to_owned();
        finding.message = evil.to_owned();
        finding.advice = evil.to_owned();
    }
    run.environment.targets[0].path = evil.to_owned();
    run.environment.machine.hostname = Some(evil.to_owned());
    for series in [None, Some("assay-1")] {
        run.plan.series = series.map(str::to_owned);
        let page = page(&run, &typical());
        assert!(!page.contains("<script>alert") && page.matches("<script").count() == 1);
        assert_well_formed(&page);
    }
}
