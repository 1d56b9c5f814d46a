//! `assay explain`: the words of the tools, and of the checks.

use crate::support::Place;

#[test]
fn a_word_of_any_tool_leads_to_the_page_of_the_thing() {
    let place = Place::new();
    for word in ["xfersize", "bs", "block_size"] {
        let page = place.assay(&["explain", word]).done();
        assert!(page.starts_with("Block size\n"), "{page}");
        assert!(page.contains("xfersize=(4k,60,64k,40)"), "an example for copying: {page}");
        assert!(page.contains("! fio: bs=4k-16k is no range"), "{page}");
    }
}

#[test]
fn the_table_names_the_words_of_all_tools() {
    let table = Place::new().assay(&["explain"]).done();
    for word in ["xfersize", "iodepth", "Outstanding IO", "block_size", "not-steady"] {
        assert!(table.contains(word), "{word} is missing: {table}");
    }
}

#[test]
fn a_check_is_explained_as_its_page_says() {
    let page = Place::new().assay(&["explain", "cache-served-reads"]).done();
    assert!(page.contains("Known by comparing the bytes"), "{page}");
    assert!(!page.contains('*') && !page.contains('`'), "{page}");
}

#[test]
fn an_unknown_word_gets_the_nearest_and_status_2() {
    let place = Place::new();
    let said = place.assay(&["explain", "xfersiez"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("did you mean xfersize"), "{said:?}");
    let said = place.assay(&["explain", "io-error"]);
    assert!(said.err.contains("io-errors"), "{said:?}");
}

#[test]
fn json_has_the_same() {
    let text = Place::new().assay(&["explain", "iodepth", "--json"]).done();
    let terms: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(terms[0]["term"], "outstanding-io");
    assert!(terms[0]["vdbench"].as_array().is_some_and(|words| words.contains(&"threads".into())), "{text}");
}
