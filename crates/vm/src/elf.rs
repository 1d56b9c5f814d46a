//! As much of ELF as images need: programs without their symbols, what a kernel module says of itself, what a program is linked with.

/// 64-bit little-endian: the only ones that are put into images.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const PT_LOAD: u64 = 1;

fn number(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = file.get(at..at.checked_add(bytes)?)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The program without what is not loaded: symbols, debugging information, the table of sections. What is no such file stays as it is.
pub fn stripped(file: &[u8]) -> Vec<u8> {
    loaded_end(file).map_or_else(
        || file.to_vec(),
        |end| {
            let mut kept = file[..end].to_vec();
            // e_shoff, and e_shnum with e_shstrndx (System V ABI, chapter 4): there are no sections any more.
            kept[40..48].fill(0);
            kept[60..64].fill(0);
            kept
        },
    )
}

/// Where the last byte that a program header speaks of ends.
fn loaded_end(file: &[u8]) -> Option<usize> {
    if !file.starts_with(MAGIC) || file.len() < 64 {
        return None;
    }
    let (table, step, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let mut end = table.checked_add(step.checked_mul(count)?)?;
    let mut loads = false;
    for index in 0..count {
        let header = usize::try_from(table.checked_add(index * step)?).ok()?;
        loads |= number(file, header, 4)? == PT_LOAD;
        let (offset, bytes) = (number(file, header + 8, 8)?, number(file, header + 32, 8)?);
        end = end.max(offset.checked_add(bytes)?);
    }
    usize::try_from(end).ok().filter(|&end| loads && end <= file.len())
}

/// The modules that a kernel module needs, by name; `None`: it does not say.
pub fn module_needs(file: &[u8]) -> Option<Vec<String>> {
    let info = section(file, ".modinfo")?;
    let entries = info.split(|&byte| byte == 0);
    let needs = entries.filter_map(|entry| entry.strip_prefix(b"depends=")).next()?;
    let names = std::str::from_utf8(needs).ok()?.split(',').filter(|name| !name.is_empty());
    Some(names.map(str::to_owned).collect())
}

fn section<'a>(file: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    if !file.starts_with(MAGIC) {
        return None;
    }
    let at = |index: u64| {
        let (table, step) = (number(file, 40, 8)?, number(file, 58, 2)?);
        usize::try_from(table.checked_add(index.checked_mul(step)?)?).ok()
    };
    let content = |header: usize| {
        let (offset, bytes) = (number(file, header + 24, 8)?, number(file, header + 32, 8)?);
        file.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(bytes)?).ok()?)
    };
    let names = content(at(number(file, 62, 2)?)?)?;
    (0..number(file, 60, 2)?).find_map(|index| {
        let header = at(index)?;
        let name = names.get(usize::try_from(number(file, header, 4)?).ok()?..)?;
        let name = name.split(|&byte| byte == 0).next()?;
        if name == wanted.as_bytes() { content(header) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_smaller_without_its_symbols_and_what_is_no_program_stays() {
        let own = std::fs::read("/proc/self/exe").expect("this test");
        let kept = stripped(&own);
        assert!(kept.len() < own.len() && kept[64..] == own[64..kept.len()]);
        assert!(section(&own, ".text").is_some() && section(&kept, ".text").is_none());
        assert_eq!(stripped(b"#!/bin/sh"), b"#!/bin/sh");
        assert_eq!(stripped(&own[..100]), &own[..100]);
        assert_eq!(module_needs(&own), None);
    }

    #[test]
    fn a_program_without_sections_still_runs() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("assay-vm-stripped-{}", std::process::id()));
        std::fs::write(&path, stripped(&std::fs::read("/bin/true").expect("true"))).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("executable");
        let status = std::process::Command::new(&path).status();
        std::fs::remove_file(&path).expect("removed");
        assert!(status.expect("started").success());
    }
}
