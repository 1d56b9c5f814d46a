//! An array model: what is accepted can place any segment.

#![no_main]

use std::sync::LazyLock;

use assay_fuzz::plan::ArrayModel;
use assay_fuzz::{Input, share};
use assay_sim::Model;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<ArrayModel> = LazyLock::new(ArrayModel::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let read = Model::from_toml(&text);
    share::count(read.is_ok());
    match read {
        Err(error) => drop(error.to_string()),
        Ok(model) => {
            for segment in [0, 1, 7, 1 << 20, u64::MAX / 4096] {
                let core = model.front_end.core_of(segment);
                assert!(core < model.front_end.cores());
                let _ = model.front_end.controller_of(core);
            }
        }
    }
});
