//! A matrix of mixes and block sizes repeated until it is steady, on a simulated array: one table of what was measured.

use serde_json::Value;

use crate::world::World;

const PLAN: &str = r#"
assay = 1
name = "matrix"

[[target]]
name = "data"
path = "data.bin"
size = "256m"

[[phase]]
name = "iops"
until = "steady"
sweep = { read_percent = [100, 50, 0], block_size = ["8k", "4k"] }

[[phase.job]]
name = "iops"
pattern = { random = "uniform", once_per_pass = false }
outstanding = 8
runtime = "20ms"
"#;

/// Mean IOPS at a point over the phases that count, as the run has them.
fn mean(run: &Value, point: &str) -> f64 {
    let phases = run["phases"].as_array().expect("phases");
    let counts = |phase: &&Value| phase["kind"] == "measure" && phase["point"] == point;
    let values: Vec<f64> =
        phases.iter().filter(counts).filter_map(|phase| phase["jobs"][0]["total"]["iops"].as_f64()).collect();
    assert_eq!(values.len(), 5, "the rounds of a window");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_matrix_is_told_as_one_table_of_its_steady_window() {
    let world = World::new();
    let plan = world.path().join("matrix.toml");
    std::fs::write(&plan, PLAN).expect("a plan");
    let file = plan.to_str().expect("a path of text");
    let said = world.assay(&["run", "--engine", "sim", "--seed", "3", file]).ended(0);
    let (_, table) =
        said.out.split_once("IOPS by block size and mix (reads/writes in %)\n").expect("the table");
    let cells = |line: usize| -> Vec<String> {
        let line = table.lines().nth(line).unwrap_or_default();
        line.split_whitespace().map(|word| word.replace([',', '*', '!'], "")).collect()
    };
    assert_eq!(cells(0), ["block", "size", "0/100", "50/50", "100/0"]);
    let run = world.only_run();
    for (line, block) in [(1, "4"), (2, "8")] {
        let row = cells(line);
        assert_eq!(row[..2], [block, "KiB"]);
        for (shown, reads) in row[2..].iter().zip(["0", "50", "100"]) {
            let found = mean(&run, &format!("read_percent={reads} block_size={block}k"));
            assert_eq!(*shown, format!("{found:.0}"), "{table}");
        }
    }
    assert!(table.contains("the window in which the rounds were steady"), "{table}");
}
