//! A mail database whose files were damaged, opened after a crash: replayed, verified, read, written, closed.
//!
//! Input is a list of damages of eight bytes: which file, where, how, and a value. Checksums are made right behind most of them, so
//! that what stands behind them is reached.

#![no_main]

use std::sync::LazyLock;

use assay_fuzz::mail::{Image, damaged, image};
use assay_fuzz::share;
use assay_mail::key::Key;
use assay_mail::{recover, scan};
use libfuzzer_sys::fuzz_target;

static IMAGE: LazyLock<Image> = LazyLock::new(image);

fuzz_target!(|data: &[u8]| {
    let mut disk = damaged(&IMAGE, data);
    let opened = recover::open(&mut disk, 1, assay_fuzz::mail::tuning());
    share::count(opened.is_ok());
    let Ok((store, ..)) = opened else { return };
    let _ = scan::check(&store, &mut disk, &|| true);
    let keys = (0..6).map(|mailbox| Key::new(mailbox, mailbox % 4, u64::from(mailbox) * 43));
    for key in keys {
        let read = store.with(&mut disk, &mut |state| state.get(&key));
        let _ = store.with(&mut disk, &mut |state| state.pick(&key, 5));
        let now_ns = assay_mail::disk::Disk::now_ns(&disk);
        let put = store.with(&mut disk, &mut |state| {
            state.put(&key, &[7; 5000])?;
            state.delete(&Key::new(key.mailbox, 0, 11))?;
            Ok(state.commit(now_ns))
        });
        if read.is_err() || put.is_err() {
            break;
        }
        let _ = put.map(|lsn| store.commit(&mut disk, lsn, true));
    }
    let _ = store.close(&mut disk);
});
