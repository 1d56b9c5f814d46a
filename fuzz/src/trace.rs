//! Recorded I/O, in each of the languages that are read.

use assay_formats::trace::{self, Begin, TraceEvent};

use crate::Grammar;
use crate::random::Random;

/// The languages.
pub const KNOWN: &[Begin] = &[assay_fio::iolog, trace::csv, trace::blkparse];

const HEADS: [&str; 6] = [
    "fio version 2 iolog",
    "fio version 3 iolog",
    "time,op,offset,length",
    "time_us,op,offset,length,target,latency_ms",
    "target,length,offset,rw,time_ms",
    "",
];

/// Traces.
#[derive(Debug)]
pub struct Trace;

impl Trace {
    /// A line that may stand below a head.
    fn line(head: &str, number: usize, random: &mut Random) -> String {
        let file = *random.pick(&["a.dat", "b", "/dev/x", "a name.dat"]);
        let offset = random.next() % (1 << 33) / 512 * 512;
        let length = *random.pick(&[512, 4096, 8192, 1 << 20, 12_345]);
        let time = number as u64 * 10 + random.next() % 10;
        if head.starts_with("fio version") {
            let time = if head.contains('3') { format!("{time} ") } else { String::new() };
            let action =
                *random.pick(&["read", "write", "trim", "add", "open", "close", "sync", "datasync", "wait"]);
            let numbers = if matches!(action, "read" | "write" | "trim") {
                format!(" {offset} {length}")
            } else {
                String::new()
            };
            return format!("{time}{file} {action}{numbers}");
        }
        let op = *random.pick(&["read", "write", "trim", "R", "W", "fsync", "r", "w"]);
        match head {
            "" => {
                let (cpu, device) = (random.below(4), random.below(3));
                let (action, rwbs) =
                    (*random.pick(&["Q", "D", "D", "C"]), *random.pick(&["R", "W", "WS", "D", "FF"]));
                let (seconds, sector, sectors) = (time as f64 / 1e6, offset / 512, length / 512);
                format!(
                    "  8,{device} {cpu} {number} {seconds:.9} 697 {action} {rwbs} {sector} + {sectors} [x]"
                )
            }
            "time_us,op,offset,length,target,latency_ms" => {
                format!("{time},{op},{offset},{length},{file},{}", random.below(100))
            }
            "target,length,offset,rw,time_ms" => format!("{file},{length},{offset},{op},{time}"),
            _ => format!("{:.6},{op},{offset},{length}", time as f64 / 1e6),
        }
    }
}

impl Grammar for Trace {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() || random.one_in(50) {
            let head = *random.pick(&HEADS);
            lines = vec![head.to_owned()];
            lines.retain(|line| !line.is_empty());
            for number in 0..1 + random.below(20) {
                lines.push(Self::line(head, number, random));
            }
            return lines.join("\n") + "\n";
        }
        let head = HEADS.iter().find(|head| **head == lines[0]).copied().unwrap_or("");
        let first = usize::from(!head.is_empty());
        let at = random.below(lines.len());
        match random.below(6) {
            0 | 1 => lines.insert(at.max(first), Self::line(head, at, random)),
            2 if at >= first => drop(lines.remove(at)),
            3 => lines.insert(at.max(first), lines[at].clone()),
            4 => {
                let other = random.below(lines.len());
                if at >= first && other >= first {
                    lines.swap(at, other);
                }
            }
            _ if at >= first => lines[at] = random.with_another_number(&lines[at]),
            _ => {}
        }
        lines.join("\n") + "\n"
    }

    /// One operation is enough: lines that cannot be read are counted.
    fn accepts(&self, text: &str) -> bool {
        let (trace, _) = trace::parse("fuzz", text, KNOWN);
        trace.is_some_and(|trace| trace.events.iter().any(|event| matches!(event, TraceEvent::Issued(_))))
    }
}
