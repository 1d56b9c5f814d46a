//! Words of users that would move a cursor, set colours or forge a line: shown in a form that can be seen, by every renderer.

use std::fs;

use crate::world::{Said, World};

/// Sets the title of a window, erases the line, begins another one, is no ASCII, turns the direction of text.
const ODD: &str = "x\u{1b}]0;pwned\u{7}\u{1b}[2K\rerror: forged\nforged\u{9b}31m\u{202e}y";

/// Nothing of it stands raw in a text, and it is there in another form.
#[track_caller]
fn harmless(what: &str, text: &str, shown: bool) {
    let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(raw), "{what}: {text:?}");
    assert!(
        !text.lines().any(|line| line.starts_with("forged") || line.starts_with("error: forged")),
        "{what}: {text}"
    );
    assert!(!shown || text.contains("x1b"), "{what}: {text}");
}

#[track_caller]
fn harmless_words(what: &str, said: &Said, shown: bool) {
    harmless(what, &said.out, false);
    harmless(what, &said.err, false);
    harmless(what, &format!("{}{}", said.out, said.err), shown);
}

/// A TOML text in quotes.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| format!("\\u{:04x}", u32::from(c)));
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn names_in_a_plan_are_shown_and_do_nothing() {
    let world = World::new();
    let odd = quoted(ODD);
    let text = format!(
        "name = {odd}\n[[target]]\nname = {odd}\npath = 'file'\nsize = '4m'\n\n[[phase]]\nname = {odd}\nkind = 'measure'\n\n\
         [[phase.job]]\nname = {odd}\ntargets = [{odd}]\nop = 'read'\nblock_size = '4k'\npattern = 'random'\nruntime = '100ms'\n"
    );
    fs::write(world.path().join("plan.toml"), text).expect("written");
    for (words, shown) in [
        (["plan", "plan.toml"].as_slice(), true),
        (&["audit", "plan.toml"], true),
        (&["convert", "plan.toml", "--to", "toml"], false),
        (&["convert", "plan.toml", "--to", "fio"], false),
        (&["convert", "plan.toml", "--to", "vdbench"], false),
        (&["run", "plan.toml"], true),
        (&["run", "plan.toml", "--verbose"], true),
        (&["runs", "list"], true),
        (&["runs", "show", "last"], true),
        (&["check", "last"], false),
        (&["compare", "last", "last"], true),
    ] {
        let mut said = world.assay(words);
        if words[0] == "convert" {
            // A file, which holds the names as its language does.
            said.out.clear();
        }
        harmless_words(&words.join(" "), &said, shown);
    }
    let files = ["--html", "page.html", "--md", "page.md", "--csv", "page.csv"];
    let said = world.assay(&[["report", "last"].as_slice(), &files].concat()).ended(0);
    harmless_words("report", &said, false);
    for name in ["page.html", "page.md", "page.csv"] {
        let text = fs::read_to_string(world.path().join(name)).expect("written");
        // A line break is a space to HTML.
        harmless(name, &if name.ends_with(".html") { text.replace('\n', " ") } else { text }, true);
    }
}

#[test]
fn names_in_messages_are_shown_and_do_nothing() {
    let world = World::new();
    let name = format!("{}.fio", ODD.replace('/', ""));
    let bad = format!("[{}]\nrw={}\n", ODD.replace('\n', ""), ODD.replace('\n', ""));
    fs::write(world.path().join(&name), &bad).expect("written");
    fs::write(world.path().join("parm"), bad.replace("rw=", "sd=sd1,lun=/x\nwd=")).expect("written");
    fs::write(world.path().join("bad.toml"), format!("[[target]]\n{} = 1\n", quoted(ODD))).expect("written");
    for words in [
        ["run", name.as_str()].as_slice(),
        &["plan", "bad.toml"],
        &["plan", "parm", "--format", "vdbench"],
        &["run", ODD],
        &[ODD],
        &["quick", ODD],
        &["quick", "data", ODD],
        &["cleanup", ODD],
        &["run", "--profile", ODD],
        &["quick", "data", "--series", ODD],
        &["runs", "show", ODD],
        &["check", ODD],
        &["explain", ODD],
        &["baseline", "show", ODD],
        &["probe", ODD],
        &["import", ODD],
        &["judge", "--", ODD],
    ] {
        let said = world.assay(words);
        assert_ne!(said.code, Some(0), "{words:?}");
        harmless_words(&format!("{words:?}"), &said, true);
    }
}

#[test]
fn names_in_foreign_results_are_shown_and_do_nothing() {
    let world = World::new();
    let odd = serde_json::to_string(ODD).expect("text");
    let json = format!(
        "{{\"fio version\": {odd}, \"timestamp\": 1, \"jobs\": [{{\"jobname\": {odd}, \"job options\": {{\"name\": {odd}, \
         \"rw\": \"randread\", \"bs\": \"4k\", \"filename\": {odd}}}, \"error\": 0, \"job_runtime\": 1000, \"read\": \
         {{\"io_bytes\": 4096000, \"bw_bytes\": 4096000, \"iops\": 1000.0, \"runtime\": 1000, \"total_ios\": 1000, \
         \"short_ios\": 0, \"drop_ios\": 0, \"clat_ns\": {{\"min\": 1000, \"max\": 2000, \"mean\": 1500.0, \"stddev\": 1.0, \
         \"N\": 1000, \"percentile\": {{\"50.000000\": 1500}}}}}}}}]}}"
    );
    fs::write(world.path().join("fio.json"), json).expect("written");
    let said = world.assay(&["import", "fio.json"]);
    harmless_words("import", &said, false);
    harmless_words("runs list", &world.assay(&["runs"]), false);
}
