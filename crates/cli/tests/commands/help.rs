//! What the program says of itself.

use crate::world::World;

/// Names under `Commands:` of a help text.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself() {
    let world = World::new();
    let mut pending: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        let mut words: Vec<&str> = path.iter().map(String::as_str).collect();
        words.push("--help");
        let said = world.assay(&words).ended(0);
        assert!(said.err.is_empty() && said.out.contains("Usage: assay"), "{words:?}: {}", said.out);
        assert!(said.out.lines().all(|line| line.chars().count() <= 120), "{words:?} is too wide");
        // What is to be copied must not be broken in two.
        let examples = said.out.lines().skip_while(|line| *line != "Examples:");
        assert!(examples.clone().all(|line| line.chars().count() <= 80), "{words:?} has a long example");
        let whole = |line: &str| {
            ["  assay ", "  fio ", "  ssh ", "  # ", "  ASSAY_"].iter().any(|begin| line.starts_with(begin))
        };
        let broken = examples.skip(1).take_while(|line| !line.is_empty()).find(|line| !whole(line));
        assert_eq!(broken, None, "{words:?}");
        seen += 1;
        pending.extend(commands(&said.out).into_iter().map(|name| [path.clone(), vec![name]].concat()));
    }
    assert!(seen > 15, "only {seen} commands were found");
}

#[test]
fn the_version_names_the_commit() {
    let said = World::new().assay(&["--version"]).ended(0);
    assert!(said.out.starts_with("assay 0.") && said.out.trim_end().ends_with(')'), "{}", said.out);
}

#[test]
fn quick_documents_other_hosts_and_hides_what_is_for_tests() {
    let said = World::new().assay(&["quick", "--help"]).ended(0);
    assert!(said.out.contains("ASSAY_SSH") && said.out.contains("[user@]host[:dir]"), "{}", said.out);
    assert!(!said.out.contains("--window"), "{}", said.out);
}

#[test]
fn the_series_are_listed_with_their_tests() {
    let said = World::new().assay(&["quick", "--series", "list"]).ended(0);
    for expected in ["assay-1", "stb-2.1", "1 file, 16 threads, rnd 4k writes, posixaio", crate::world::TEST]
    {
        assert!(said.out.contains(expected), "{expected}");
    }
}

#[test]
fn completions_ask_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let said = World::new().assay(&["completions", shell]).ended(0);
        assert!(said.out.contains("ASSAY_COMPLETE") && said.out.contains("assay"), "{shell}: {}", said.out);
    }
}
