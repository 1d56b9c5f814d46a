//! fio's command line, a word a line.

#![no_main]

use std::sync::LazyLock;

use assay_fio as fio;
use assay_fuzz::fio::{CommandLine, loader, words};
use assay_fuzz::{Input, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<CommandLine> = LazyLock::new(CommandLine::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (file, _) = fio::parse_command_line(&words(&text), &loader("[j]\nrw=read\nsize=1m\n"));
    share::count(file.is_some_and(|file| fio::lower("fuzz", &file).0.is_some()));
});
