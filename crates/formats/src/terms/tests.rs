use super::*;

#[track_caller]
fn found(word: &str) -> Vec<&'static str> {
    match find(word) {
        Found::Terms(terms) => terms.iter().map(|term| term.name.as_str()).collect(),
        other => panic!("{word} is no term: {other:?}"),
    }
}

#[test]
fn words_of_every_tool_lead_to_the_same_term() {
    for word in ["xfersize", "bs", "block_size", "Block Size", "bs=4k", "BLOCKSIZE"] {
        assert_eq!(found(word), ["block-size"], "{word}");
    }
    assert_eq!(found("iodepth"), ["outstanding-io"]);
    assert!(found("threads").starts_with(&["threads"]), "its own name comes first");
    assert!(found("threads").contains(&"outstanding-io"), "vdbench's threads are outstanding I/Os");
}

#[test]
fn near_words_are_offered_and_far_ones_not() {
    assert_eq!(find("iodepht"), Found::Nearest(vec!["iodepth"]));
    let Found::Nearest(near) = find("percentil") else { panic!("there is no such word") };
    assert!(near.contains(&"percentile"), "{near:?}");
    assert_eq!(find("wombat"), Found::Nearest(vec![]));
}

#[test]
fn names_are_unique_and_pages_are_complete() {
    let mut names: Vec<&str> = all().map(|term| term.name.as_str()).collect();
    let number = names.len();
    assert!(number >= 45, "{number} terms");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), number);
    for term in all() {
        assert!(term.meaning.ends_with('.') && term.meaning.len() > 40, "{}", term.name);
        assert!(!term.traps.is_empty() && !term.title.is_empty(), "{}", term.name);
        for text in term.traps.iter().chain([&term.meaning]) {
            assert!(!text.contains("  "), "{}: {text}", term.name);
        }
    }
}

#[test]
fn words_of_results_have_a_meaning_each_and_no_spelling_twice() {
    let names: Vec<String> =
        TABLE.word.iter().flat_map(|shown| &shown.names).map(|name| plain(name)).collect();
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert!(TABLE.word.iter().all(|shown| shown.meaning.ends_with('.')));
    assert!(matches!(find("Outst."), Found::Word(shown) if shown.names[0] == "outst."));
}
