//! A fio job file: read, expanded, turned into a workload, and written again in all three languages.

#![no_main]

use assay_fio as fio;
use assay_formats::loader::MemoryLoader;
use assay_formats::native;
use assay_vdbench as vdbench;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut loader = MemoryLoader::default();
    loader.files.insert("inc".to_owned(), text.chars().take(512).collect());
    loader.env.insert("V".to_owned(), "4k".to_owned());
    let system = fio::System { page_size_bytes: 4096, memory_mib: Some(1000), cpus: Some(2) };
    let (file, diagnostics) = fio::parse_with("fuzz", &text, &loader, &system);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    let Some(file) = file else { return };
    for job in file.expand().iter().take(100) {
        let _ = job.resolved_line();
    }
    let (workload, _) = fio::lower("fuzz", &file);
    let Some(workload) = workload else { return };
    let _ = fio::write(&workload);
    let _ = vdbench::write(&workload);
    let _ = native::write(&workload);
});
