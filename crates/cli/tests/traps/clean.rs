//! Runs with nothing staged: no check may raise a doubt.

use crate::bounded::Bounded as _;
use crate::look::{stolen_since, ticks, until};
use crate::stage::{Run, Stage, text};

/// Findings that say something is wrong, but for the host's taking processor time where an independent look, from `begun`
/// to now, saw it take some.
pub(crate) fn doubts(run: &Run, begun: &[u64]) -> Result<(), String> {
    let stolen = stolen_since(begun).is_some();
    let doubts: Vec<String> = run
        .findings()
        .iter()
        .filter(|finding| ["warning", "invalid"].contains(&finding["severity"].as_str().unwrap_or("")))
        .filter(|finding| !(stolen && finding["evidence"]["steal_share"].is_number()))
        .map(|finding| format!("{}: {}", finding["id"], finding["message"]))
        .collect();
    if doubts.is_empty() { Ok(()) } else { Err(doubts.join("; ")) }
}

#[test]
fn direct_reads_of_a_filled_file() {
    let stage = Stage::new();
    let file = stage.file("data", 128);
    until("direct reads", || {
        let begun = ticks();
        let job =
            "op = \"read\"\nblock_size = \"4k\"\npattern = \"random\"\noutstanding = 8\nruntime = \"3s\"";
        let run = stage.run(text(&file), job);
        let truth = &run.run["phases"][0]["device"];
        let asked = truth["asked_read_bytes"].as_f64().ok_or("nothing asked")?;
        let fetched = truth["process_read_bytes"].as_f64().ok_or("nothing fetched")?;
        assert!((fetched / asked - 1.0).abs() < 0.02, "{truth:#}");
        assert!(run.run["phases"][0]["evidence"]["quiet_after"]["span_ns"].as_u64() > Some(400_000_000));
        doubts(&run, &begun)
    });
}

#[test]
fn direct_writes_over_an_own_file() {
    let stage = Stage::new();
    until("direct writes", || {
        let begun = ticks();
        let plan = stage.plan(
            "name = \"clean\"\ntarget = [{ name = \"t\", path = \"own\", size = \"64m\" }]\n\
             [[phase]]\nname = \"fill\"\nkind = \"precondition\"\n[[phase.job]]\nop = \"write\"\nblock_size = \"1m\"\n\
             pattern = \"sequential\"\n[[phase]]\nname = \"writes\"\n[[phase.job]]\nop = \"write\"\nblock_size = \"8k\"\n\
             pattern = \"random\"\noutstanding = 4\nruntime = \"2500ms\"\n",
        );
        let output =
            stage.command(&["run", text(&plan), "--json", "--quiet"]).output_in_time().expect("assay");
        doubts(&Run::of(output), &begun)
    });
}
