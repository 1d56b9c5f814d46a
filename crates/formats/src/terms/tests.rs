use super::*;

#[track_caller]
fn found(word: &str) -> Vec<&'static str> {
    match find(word) {
        Found::Terms(terms) => terms.iter().map(|term| term.name).collect(),
        Found::Nearest(near) => panic!("{word} is not found, only {near:?}"),
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
    let mut names: Vec<&str> = all().map(|term| term.name).collect();
    let number = names.len();
    assert!(number >= 45, "{number} terms");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), number);
    for term in all() {
        assert!(term.meaning.ends_with('.') && term.meaning.len() > 40, "{}", term.name);
        assert!(!term.traps.is_empty(), "{}", term.name);
        for text in term.traps.iter().chain([&term.meaning]) {
            assert!(!text.contains("  "), "{}: {text}", term.name);
        }
    }
}
