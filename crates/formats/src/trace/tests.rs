use proptest::prelude::*;

use super::*;

const KNOWN: &[Begin] = &[csv, blkparse];

fn parse(name: &str, text: &str) -> (Option<Trace>, Vec<Diagnostic>) {
    super::parse(name, text, KNOWN)
}

fn issued(trace: &Trace) -> Vec<TraceOp> {
    let op = |event: &TraceEvent| match event {
        TraceEvent::Issued(op) => Some(*op),
        TraceEvent::Completed { .. } => None,
    };
    trace.events.iter().filter_map(op).collect()
}

fn op(at_ns: u64, target: u16, kind: OpKind, offset_bytes: u64, len_bytes: u32) -> TraceOp {
    TraceOp { at_ns, target, kind, offset_bytes, len_bytes, latency_ns: None }
}

#[test]
fn blkparse_counts_what_was_issued_and_completed() {
    let text = "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
  8,0    3        4     0.000063000   697  D  WS 223490 + 8 [kjournald]
  8,0    0        5     0.000100000     0  D   R 16 + 256 [swapper]
  8,0    0        5     0.000120000     0  D FN [swapper]
  8,0    3        6     0.000563123     0  C  WS 223490 + 8 [0]
CPU0 (8,0):
 Reads Queued:           0,        0KiB
";
    let (trace, said) = parse("t", text);
    let trace = trace.unwrap();
    let expected =
        [op(63_000, 0, OpKind::Write, 223_490 * 512, 4096), op(100_000, 0, OpKind::Read, 8192, 131_072)];
    assert_eq!(issued(&trace), expected);
    assert_eq!(trace.events[2], TraceEvent::Completed { at_ns: 563_123 });
    assert_eq!((said.len(), said[0].id), (1, "blkparse-action"));
}

#[test]
fn blkparse_of_arrivals_alone() {
    let line = |index: u64| format!("8,16 0 {index} 0.{index:09} 1 Q R {} + 8 [x]\n", index * 8);
    let text: String = (0..100).map(line).collect();
    let trace = parse("t", &text).0.unwrap();
    assert_eq!(trace.events.len(), 100 - 64);
}

#[test]
fn csv_with_and_without_a_head() {
    let (trace, said) = parse("t", "time,op,offset,length\n0.5,R,4096,8192\n0.75,write,0,512\n");
    assert!(said.is_empty(), "{said:?}");
    let expected = [op(500_000_000, 0, OpKind::Read, 4096, 8192), op(750_000_000, 0, OpKind::Write, 0, 512)];
    assert_eq!(issued(&trace.unwrap()), expected);
    let trace = parse("t", "1,R,0,4096\n2,W,0,4096\n").0.unwrap();
    assert_eq!(issued(&trace).len(), 2);
    let text = "target,length,offset,op,time_us,latency_ns\nlun,512,0,r,3,900\n";
    let trace = parse("t", text).0.unwrap();
    assert_eq!(trace.targets, ["lun"]);
    assert_eq!(issued(&trace), [TraceOp { latency_ns: Some(900), ..op(3000, 0, OpKind::Read, 0, 512) }]);
}

#[test]
fn what_cannot_be_read_is_said_with_its_line() {
    let (trace, said) =
        parse("a.csv", "time,op,offset,length\n0,R,0,4096\n1,X,0,4096\n2,R,-5,1\n3,R,0,99999999999\n");
    assert_eq!(trace.unwrap().events.len(), 1);
    let lines: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert!(lines[0].starts_with("a.csv:3: not honoured: an operation 'X' is not known"), "{lines:?}");
    assert!(lines[1].starts_with("a.csv:4: ") && lines[2].starts_with("a.csv:5: "), "{lines:?}");
    let (trace, said) = parse("x", "hello\n");
    assert!(trace.is_none());
    assert_eq!(said.last().unwrap().severity, Severity::Error);
}

proptest! {
    /// Whatever the text, there is an answer, and every operation is within bounds.
    #[test]
    fn no_text_breaks_it(
        head in prop_oneof![
            Just(""), Just("time,op,offset,length,latency\n"),
            Just("8,0 0 1 0.1 1 D R 8 + 8 [a]\n"),
        ],
        body in "([0-9]{1,22}[ ,.+-]?|read |write |R,|[ \\t\\n,]|8,0 |\\PC){0,60}",
    ) {
        let text = format!("{head}{body}");
        let (trace, said) = parse("t", &text);
        if let Some(trace) = trace {
            for op in issued(&trace) {
                prop_assert!(usize::from(op.target) < trace.targets.len());
                prop_assert!(op.offset_bytes.checked_add(u64::from(op.len_bytes)).is_some());
            }
        } else {
            prop_assert!(!said.is_empty());
        }
    }
}
