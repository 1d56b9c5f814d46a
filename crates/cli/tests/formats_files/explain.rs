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

/// Words in quotes between `from` and the end of the call or list, but for those with a placeholder.
fn quoted_after<'t>(text: &'t str, from: &str, until: char) -> Vec<&'t str> {
    let lists = text.split(from).skip(1).filter_map(|rest| rest.split(until).next());
    lists.flat_map(|list| list.split('"').skip(1).step_by(2)).filter(|word| !word.contains('{')).collect()
}

/// Every head of a column in the sources of the renderers.
fn heads() -> std::collections::BTreeSet<String> {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![crates.join("report/src"), crates.join("cli/src")];
    let mut heads = std::collections::BTreeSet::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(path).expect("sources").map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in ["Column::words(", "Column::numbers(", "Head::words(", "Head::number("] {
            heads.extend(quoted_after(text, call, ',').into_iter().map(str::to_owned));
        }
        for list in [
            "words_table(&[",
            "let heads = [",
            "heads = vec![",
            "heads.extend([",
            "const NUMBERS: [&str; 4] = [",
        ] {
            let plain = |word: &&str| !word.is_empty();
            heads.extend(quoted_after(text, list, ']').into_iter().filter(plain).map(str::to_owned));
        }
        // ("head", priority, is it words)
        let tuples = text.split("heads(&[").skip(1).filter_map(|rest| rest.split("])").next());
        heads.extend(tuples.flat_map(|list| quoted_after(list, "(", ',')).map(str::to_owned));
    }
    heads.remove("");
    heads
}

/// Every key that the published schema of runs describes.
fn keys(schema: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(fields) => {
            let described = schema["properties"].as_object().into_iter().flatten();
            found.extend(
                described.filter(|(_, of)| of["description"].is_string()).map(|(key, _)| key.clone()),
            );
            fields.values().for_each(|part| keys(part, found));
        }
        serde_json::Value::Array(parts) => parts.iter().for_each(|part| keys(part, found)),
        _ => {}
    }
}

#[test]
fn every_word_that_output_shows_is_explained() {
    let place = Place::new();
    let mut words = heads();
    assert!(words.len() > 60 && words.contains("outst.") && words.contains("× mean"), "{words:?}");
    let mut described = std::collections::BTreeSet::new();
    for schema in [
        include_str!("../../../../docs/schemas/run-1.json"),
        include_str!("../../../../docs/schemas/plan-1.json"),
    ] {
        keys(&serde_json::from_str(schema).expect("JSON"), &mut described);
    }
    assert!(described.len() > 200 && described.contains("device_busy_share"), "{}", described.len());
    assert!(described.contains("direct_align_bytes"), "of the plan in a run");
    words.extend(described);
    words.extend(assay_results::checks::ALL.iter().map(|check| check.id.to_owned()));
    let audit = ["few-cores-at-a-time", "crossing-segments", "misaligned-offsets", "overlapping-walks"];
    let verdicts = ["valid", "suspect", "invalid", "incomplete", "info", "unchecked", "warning"];
    let compared = ["better", "worse", "equivalent", "no evidence", "knee"];
    // The words of a published table that sets vdbench beside fio.
    let published = [
        "xfersize",
        "bs",
        "threads",
        "iodepth",
        "numjobs",
        "rdpct",
        "rwmixread",
        "seekpct",
        "percentage_random",
        "percent_random",
        "openflags",
        "direct",
        "ioengine",
        "size",
        "range",
        "offset",
        "warmup",
        "ramp_time",
        "elapsed",
        "runtime",
        "time_based",
        "interval",
        "status-interval",
        "log_avg_msec",
        "iorate",
        "rate_iops",
        "distribution",
        "rate_process",
        "rhpct",
        "whpct",
        "hitarea",
        "random_distribution",
        "data_errors",
        "continue_on_error",
        "debug",
        "disk_util",
        "norandommap",
        "group_reporting",
        "sd",
        "wd",
        "rd",
        "lun",
        "filename",
    ];
    for list in [&audit[..], &verdicts, &compared, &published] {
        words.extend(list.iter().map(|word| (*word).to_owned()));
    }
    let unknown: Vec<String> =
        words.into_iter().filter(|word| place.assay(&["explain", word]).code != Some(0)).collect();
    assert!(unknown.is_empty(), "explain does not know {unknown:?}");
}

#[test]
fn a_word_of_results_and_a_key_of_run_json_have_a_page() {
    let place = Place::new();
    let page = place.assay(&["explain", "knee"]).done();
    assert!(page.starts_with("knee\n") && page.contains("faster than throughput"), "{page}");
    let page = place.assay(&["explain", "device_busy_share"]).done();
    assert!(page.contains("share") || page.contains("Share"), "{page}");
    let text = place.assay(&["explain", "suspect", "--json"]).done();
    assert!(text.contains("a figure may be off"), "{text}");
}
