//! Notes on a run: those of many workers that say the same are one.

use assay_results::Run;

/// So many notes of one kind are all shown.
const ALIKE_MAX: usize = 3;

/// The notes in their order; of many that differ in numbers only, the first with how many there are.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    let kind = |note: &str| -> String { note.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let mut kinds: Vec<(String, usize)> = Vec::new();
    let of_note: Vec<usize> = run
        .notes
        .iter()
        .map(|note| {
            let kind = kind(note);
            let known = kinds.iter().position(|(known, _)| *known == kind);
            let at = known.unwrap_or_else(|| {
                kinds.push((kind, 0));
                kinds.len() - 1
            });
            kinds[at].1 += 1;
            at
        })
        .collect();
    let mut shown = vec![false; kinds.len()];
    let mut folded = Vec::new();
    for (note, kind) in run.notes.iter().zip(of_note) {
        let count = kinds[kind].1;
        if count <= ALIKE_MAX {
            folded.push(note.clone());
        } else if !std::mem::replace(&mut shown[kind], true) {
            folded.push(format!("{note} (and {} more like it)", count - 1));
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_workers_say_is_said_once() {
        let mut run = assay_results::samples::run("r", "", Vec::new());
        run.notes = (1..=200).map(|n| format!("w{n}: laid out d.{n}")).collect();
        run.notes.insert(1, "another".to_owned());
        assert_eq!(notes(&run), ["w1: laid out d.1 (and 199 more like it)", "another"]);
        run.notes.truncate(4);
        assert_eq!(notes(&run).len(), 4);
    }
}
