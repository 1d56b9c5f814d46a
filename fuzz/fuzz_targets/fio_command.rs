//! fio's command line, a word a line.

#![no_main]

use assay_fio as fio;
use assay_formats::loader::MemoryLoader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let words: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut loader = MemoryLoader::default();
    loader.files.insert("inc".to_owned(), "[j]\nrw=read\nsize=1m\n".to_owned());
    let (file, _) = fio::parse_command_line(&words, &loader);
    if let Some(file) = file {
        let _ = fio::lower("fuzz", &file);
    }
});
