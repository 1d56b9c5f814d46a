use proptest::prelude::*;

use super::*;

const RUN: u64 = 9;

fn identity(offset_bytes: u64, generation: u64) -> Identity {
    Identity { target: target_id("data"), offset_bytes, generation, run: RUN, block_bytes: 0 }
}

fn block(len: usize, first: &Identity) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
    seal(&mut bytes, first);
    bytes
}

fn expected(offset_bytes: u64, generation: u64) -> Expected {
    Expected { first: identity(offset_bytes, generation), failed_writes: 0 }
}

/// What is wrong with a block of eight sectors, of which `spoil` changed something.
fn diagnosis(spoil: impl Fn(&mut Vec<u8>)) -> Diagnosis {
    let mut bytes = block(4096, &identity(8192, 7));
    assert!(holds(&bytes, &identity(8192, 7)));
    assert_eq!(diagnose(&bytes, &expected(8192, 7)), None);
    spoil(&mut bytes);
    assert!(!holds(&bytes, &identity(8192, 7)));
    diagnose(&bytes, &expected(8192, 7)).expect("a fault")
}

fn fault(spoil: impl Fn(&mut Vec<u8>)) -> (Fault, usize, usize) {
    let found = diagnosis(spoil);
    (found.fault, found.sector, found.sectors_at_fault)
}

#[test]
fn faults_are_told_apart() {
    assert_eq!(fault(|bytes| bytes[3000] ^= 1), (Fault::Damaged, 5, 1));
    assert_eq!(fault(|bytes| bytes[1024..2048].fill(0)), (Fault::Zeros, 2, 2));
    assert_eq!(fault(|bytes| bytes[512..1024].fill(7)), (Fault::NotOurs, 1, 1));
    assert_eq!(fault(|bytes| bytes.copy_within(0..512, 512)), (Fault::Misplaced, 1, 1));
    assert_eq!(fault(|bytes| *bytes = block(4096, &identity(0, 7))), (Fault::Misplaced, 0, 8));
    let other = Identity { target: 1, ..identity(8192, 7) };
    assert_eq!(fault(|bytes| *bytes = block(4096, &other)), (Fault::OtherTarget, 0, 8));
    assert_eq!(fault(|bytes| *bytes = block(4096, &identity(8192, 6))), (Fault::Stale, 0, 8));
    assert_eq!(fault(|bytes| *bytes = block(4096, &identity(8192, 8))), (Fault::Unwritten, 0, 8));
    let earlier = Identity { run: 8, ..identity(8192, 7) };
    assert_eq!(fault(|bytes| *bytes = block(4096, &earlier)), (Fault::OtherRun, 0, 8));
}

#[test]
fn sectors_of_different_writes_are_a_torn_block() {
    let older = |from: usize, generation| {
        move |bytes: &mut Vec<u8>| {
            bytes[from..].copy_from_slice(&block(4096, &identity(8192, generation))[from..]);
        }
    };
    assert_eq!(fault(older(2048, 6)), (Fault::Torn, 4, 4));
    let two = |bytes: &mut Vec<u8>| {
        older(0, 6)(bytes);
        older(2048, 5)(bytes);
    };
    assert_eq!(fault(two), (Fault::Torn, 0, 8));
}

#[test]
fn what_a_sector_should_be_and_what_it_says_are_named() {
    let found = diagnosis(|bytes| bytes.copy_within(0..512, 1024));
    assert_eq!(found.expected, identity(8192 + 1024, 7));
    assert_eq!(found.found, Some(identity(8192, 7)));
    assert_eq!(
        found.expected.to_string(),
        format!("target {:08x}, offset 9216, generation 7, run 0000000000000009", target_id("data"))
    );
}

#[test]
fn after_a_write_that_failed_old_and_new_sectors_are_good() {
    let allowed = Expected { failed_writes: 1, ..expected(8192, 7) };
    let mut bytes = block(4096, &identity(8192, 7));
    bytes[512..].copy_from_slice(&block(4096, &identity(8192, 6))[512..]);
    assert_eq!(diagnose(&bytes, &allowed), None);
    let stale = block(4096, &identity(8192, 5));
    assert_eq!(diagnose(&stale, &allowed).map(|found| found.fault), Some(Fault::Stale));
}

#[test]
fn generations_begin_again() {
    assert_eq!((next_generation(0), next_generation(GENERATION_MAX)), (1, 1));
    let stale = block(512, &identity(0, u64::from(GENERATION_MAX)));
    let found = diagnose(&stale, &expected(0, 1)).expect("a fault");
    assert_eq!(found.fault, Fault::Stale);
}

proptest! {
    #[test]
    fn any_flipped_bit_is_found(sectors in 1_usize..10, at: usize, bit in 0_u32..8) {
        let first = identity(4096, 3);
        let mut bytes = block(sectors * SECTOR_BYTES, &first);
        let at = at % bytes.len();
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(!holds(&bytes, &first));
        let found = diagnose(&bytes, &Expected { first, failed_writes: 0 }).expect("a fault");
        prop_assert_eq!(found.sector, at / SECTOR_BYTES);
    }

    #[test]
    fn what_holds_has_no_fault_and_what_does_not_has_one(
        sectors in proptest::collection::vec((0_u64..3, 1_u64..4, 0_u64..2), 1..6),
    ) {
        let mut bytes = Vec::new();
        for (index, (from, generation, run)) in sectors.iter().enumerate() {
            let offset_bytes = (index as u64 + from / 2) * 512;
            bytes.extend(block(512, &Identity { run: RUN - run, ..identity(offset_bytes, *generation) }));
        }
        let diagnosed = diagnose(&bytes, &expected(0, 2));
        prop_assert_eq!(holds(&bytes, &identity(0, 2)), diagnosed.is_none());
    }
}
