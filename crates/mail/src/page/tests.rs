use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn cell(key: u64, len: usize) -> Vec<u8> {
    let mut cell = Key::new(1, 1, key).encode().to_vec();
    cell.push(0);
    cell.extend((len as u16).to_le_bytes());
    cell.extend((0..len).map(|at| (key as usize + at) as u8));
    cell
}

proptest! {
    #[test]
    fn cells_are_those_of_a_map(steps in prop::collection::vec((0..60_u64, 0..3000_usize, any::<bool>()), 1..300)) {
        let mut page = Page::zeroed();
        page.format(PageKind::Leaf, 0);
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (key, len, adds) in steps {
            let found = page.search(&Key::new(1, 1, key));
            prop_assert_eq!(found.is_ok(), model.contains_key(&key));
            match (found, adds) {
                (Ok(index), false) => {
                    page.remove(index);
                    model.remove(&key);
                }
                (Err(index), true) => {
                    let bytes = cell(key, len);
                    let used: usize = model.values().map(|cell| cell.len() + 2).sum();
                    let fits = SLOTS + used + bytes.len() + 2 <= PAGE_BYTES;
                    prop_assert_eq!(page.insert(index, &bytes), fits);
                    if fits {
                        model.insert(key, bytes);
                    }
                }
                _ => {}
            }
            prop_assert!(page.is_ordered());
            let cells: Vec<Vec<u8>> = (0..page.count()).map(|index| page.cell(index).to_vec()).collect();
            prop_assert_eq!(cells, model.values().cloned().collect::<Vec<_>>());
        }
    }

    #[test]
    fn differences_make_one_page_of_the_other(changes in prop::collection::vec((BODY..PAGE_BYTES, 1..200_usize, any::<u8>()), 0..30)) {
        let before = Page::zeroed();
        let mut after = before.clone();
        for (from, len, value) in changes {
            after.0[from..(from + len).min(PAGE_BYTES)].fill(value);
        }
        let mut made = before.clone();
        differences(&before, &after, &mut |at, bytes| made.0[at..at + bytes.len()].copy_from_slice(bytes));
        prop_assert!(made.0[..] == after.0[..]);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let mut page = Page::zeroed();
    page.format(PageKind::Leaf, 0);
    page.identify(3, 17);
    page.seal(1);
    let old = page.clone();
    assert_eq!(page.verify(3, 17), Ok(()));
    assert_eq!(page.verify(3, 18), Err(PageFault::Misplaced { found: 17, database: 3 }));
    assert_eq!(page.verify(4, 17), Err(PageFault::Misplaced { found: 17, database: 3 }));
    page.0[SLOTS..].fill(7);
    page.seal(2);
    assert_eq!(page.verify(3, 17), Ok(()));
    // 20 sectors of 512 bytes arrived: two blocks and a half.
    let mut torn = page.clone();
    torn.0[20 * 512..].copy_from_slice(&old.0[20 * 512..]);
    assert_eq!(torn.verify(3, 17), Err(PageFault::Torn { counter: 2, bad: 6, first: 2 }));
    // One block of the write before is no damage.
    let mut torn = page.clone();
    torn.0[7 * BLOCK_BYTES..].copy_from_slice(&old.0[7 * BLOCK_BYTES..]);
    assert_eq!(torn.verify(3, 17), Err(PageFault::Torn { counter: 2, bad: 1, first: 7 }));
    let mut flipped = page.clone();
    flipped.0[9000] ^= 4;
    assert_eq!(flipped.verify(3, 17), Err(PageFault::Damaged { bad: 1, first: 2 }));
    let mut flipped = page;
    flipped.0[30] ^= 4;
    assert!(matches!(flipped.verify(3, 17), Err(PageFault::Damaged { first: 0, .. })));
    assert!(Page::zeroed().is_zero() && !old.is_zero());
}

#[test]
fn counters_have_a_byte_that_is_never_that_of_no_write() {
    assert_eq!([0, 1, 255, 256, 510, 511].map(counter_byte), [0, 1, 255, 1, 255, 1]);
}

#[test]
fn a_cell_without_a_value_is_whole_at_the_end_of_the_page() {
    let mut page = Page::zeroed();
    page.format(PageKind::Leaf, 0);
    assert!(page.insert(0, &cell(0, 0)) && page.is_ordered());
}
