//! An array model: what is accepted can place any segment.

#![no_main]

use assay_sim::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match Model::from_toml(&text) {
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
