use std::collections::BTreeSet;

use super::*;

fn tree(width: u32, depth: u32, files: u32) -> TreeWorkload {
    TreeWorkload { width, depth, files, sizes: vec![(4096, 1.0)], ..TreeWorkload::default() }
}

fn layout(tree: &TreeWorkload) -> TreeLayout {
    TreeLayout::new(tree).unwrap()
}

fn path(layout: &TreeLayout, file: u64) -> String {
    let mut text = Vec::new();
    layout.push_file_path(file, &mut text);
    String::from_utf8(text).unwrap()
}

fn directory(layout: &TreeLayout, index: u64) -> String {
    let mut text = Vec::new();
    layout.push_directory_path(index, &mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn counts_follow_the_definition() {
    let bottom = layout(&tree(3, 2, 4));
    assert_eq!((bottom.directories(), bottom.files(), bottom.bytes()), (3 + 9, 36, 36 * 4096));
    let all = layout(&TreeWorkload { files_in_all_directories: true, ..tree(3, 2, 4) });
    assert_eq!((all.directories(), all.files()), (12, 48));
    let deep = layout(&tree(1, 200, 1));
    assert_eq!((deep.directories(), deep.files(), deep.depth()), (200, 1, 200));
    assert!(path(&deep, 0).len() < 4096);
}

#[test]
fn names_are_those_of_vdbench() {
    let small = layout(&tree(2, 2, 2));
    let names: Vec<String> = (0..6).map(|i| directory(&small, i)).collect();
    assert_eq!(
        names,
        [
            "vdb.1_1.dir",
            "vdb.1_2.dir",
            "vdb.1_1.dir/vdb.2_1.dir",
            "vdb.1_1.dir/vdb.2_2.dir",
            "vdb.1_2.dir/vdb.2_1.dir",
            "vdb.1_2.dir/vdb.2_2.dir",
        ]
    );
    assert_eq!(path(&small, 0), "vdb.1_1.dir/vdb.2_1.dir/vdb_f0000.file");
    assert_eq!(path(&small, 7), "vdb.1_2.dir/vdb.2_2.dir/vdb_f0007.file");
    let many = layout(&tree(1, 1, 12_345));
    assert_eq!(path(&many, 12_344), "vdb.1_1.dir/vdb_f12344.file");
}

#[test]
fn every_path_is_its_own_and_parents_agree() {
    for all in [false, true] {
        let layout = layout(&TreeWorkload { files_in_all_directories: all, ..tree(3, 3, 5) });
        let paths: BTreeSet<String> = (0..layout.files()).map(|i| path(&layout, i)).collect();
        assert_eq!(paths.len() as u64, layout.files());
        for index in 0..layout.directories() {
            let mut text = layout.parent_of(index).map_or(String::new(), |up| directory(&layout, up) + "/");
            let mut name = Vec::new();
            layout.push_directory_name(index, &mut name);
            assert!(is_scheme_directory(&name, layout.level_of(index)));
            text += std::str::from_utf8(&name).unwrap();
            assert_eq!(text, directory(&layout, index));
            for file in layout.files_in(index) {
                assert_eq!(layout.directory_of(file), index);
            }
            let first = layout.first_child_of(layout.parent_of(index)).unwrap();
            assert!((first..first + layout.width()).contains(&index));
            assert!(layout.level(layout.level_of(index)).contains(&index));
        }
        let held: u64 = (0..layout.directories()).map(|d| layout.files_in(d).count() as u64).sum();
        assert_eq!(held, layout.files());
    }
}

#[test]
fn sizes_have_the_shares_asked_for() {
    let mixed = TreeWorkload { sizes: vec![(4096, 25.0), (8192, 75.0)], ..tree(1, 1, 10_000) };
    let layout = layout(&mixed);
    let small = (0..layout.files()).filter(|file| layout.size_bytes(*file) == 4096).count();
    // The discrepancy of the sequence is of the order of log(n).
    assert!((2490..=2510).contains(&small), "{small}");
    assert_eq!(layout.bytes(), (0..layout.files()).map(|file| layout.size_bytes(file)).sum::<u64>());
}

#[test]
fn sizes_around_a_mean_have_it() {
    let around = TreeWorkload { sizes_around_mean: true, sizes: vec![(1 << 20, 1.0)], ..tree(1, 1, 20_000) };
    let layout = layout(&around);
    let mean = layout.bytes() as f64 / layout.files() as f64 / f64::from(1 << 20);
    // Rounding down to at most a tenth takes some per cent off.
    assert!((0.90..1.03).contains(&mean), "{mean}");
    assert!((0..20_000).all(|file| layout.size_bytes(file) > 0 && layout.size_bytes(file) <= 2 << 20));
    let kinds: BTreeSet<u64> = (0..20_000).map(|file| layout.size_bytes(file)).collect();
    assert!(kinds.len() > 50, "{}", kinds.len());
}

#[test]
fn a_total_size_cuts_files_and_a_working_set_their_use() {
    let cut = TreeWorkload {
        total_bytes: Some(10 * 4096 + 1),
        working_set_bytes: Some(3 * 4096),
        ..tree(2, 2, 100)
    };
    let cut = layout(&cut);
    assert_eq!((cut.files(), cut.bytes()), (11, 11 * 4096));
    assert_eq!((cut.working_files(), cut.working_bytes()), (3, 3 * 4096));
    assert!(cut.describe().contains("of which 3 files"), "{}", cut.describe());
    let mixed = TreeWorkload {
        total_bytes: Some(1 << 20),
        sizes: vec![(4096, 1.0), (65_536, 1.0)],
        ..tree(2, 2, 100)
    };
    let mixed = layout(&mixed);
    assert!((1 << 20..(1 << 20) + 65_536).contains(&mixed.bytes()), "{}", mixed.bytes());
}

#[test]
fn what_cannot_be_kept_track_of_is_refused() {
    let refused = |tree: &TreeWorkload| TreeLayout::new(tree).unwrap_err();
    assert!(matches!(refused(&tree(1000, 9, 1)), TreeError::TooManyDirectories { .. }));
    assert!(matches!(refused(&tree(u32::MAX, 200, 1)), TreeError::TooManyDirectories { .. }));
    assert!(matches!(refused(&tree(1, 201, 1)), TreeError::TooDeep(201)));
    assert!(matches!(refused(&tree(4, 10, u32::MAX)), TreeError::TooManyFiles));
    assert!(matches!(refused(&tree(0, 1, 1)), TreeError::Zero("width")));
    let nothing = TreeWorkload { sizes: Vec::new(), ..tree(1, 1, 1) };
    assert!(matches!(refused(&nothing), TreeError::NoSizes));
    // With a total size the same shape is small.
    let cut = TreeWorkload { total_bytes: Some(1 << 20), ..tree(4, 10, u32::MAX) };
    assert_eq!(layout(&cut).files(), 256);
}

#[test]
fn only_names_of_the_scheme_are_ours() {
    assert!(is_scheme_file(b"vdb_f0000.file") && is_scheme_file(b"vdb_f123456.file"));
    for other in ["vdb_f000.file", "vdb_f0000.file~", "vdb_fx000.file", "file", "vdb_control.file"] {
        assert!(!is_scheme_file(other.as_bytes()), "{other}");
    }
    assert!(is_scheme_directory(b"vdb.2_10.dir", 2) && !is_scheme_directory(b"vdb.2_10.dir", 1));
    assert!(!is_scheme_directory(b"vdb.2_.dir", 2));
}
