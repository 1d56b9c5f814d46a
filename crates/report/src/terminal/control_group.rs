//! Limits of a control group, with what they do to a measurement.

use assay_results::environment::CgroupLimits;

use super::sections::{Mark, Row, row};
use crate::format;

/// A row for each limit in force; none where it is not known whether there are any.
pub fn control_group(limits: &CgroupLimits) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(cpus) = limits.cpu_quota_cpus {
        let text = format!(
            "{cpus:.2} processors for the control group: beyond it the generator is stopped, and latencies grow by \
             whole periods"
        );
        rows.push(row("CPU quota", text, Mark::Warn));
    }
    if let Some(bytes) = limits.memory_bytes {
        let text = format!("{} for the control group, page cache included", format::bytes(bytes));
        rows.push(row("memory", text, Mark::Plain));
    }
    for device in &limits.devices {
        let caps = [
            (device.read_bytes_per_s, "read", true),
            (device.write_bytes_per_s, "write", true),
            (device.read_iops, "read", false),
            (device.write_iops, "write", false),
        ];
        let caps: Vec<String> = caps
            .into_iter()
            .filter_map(|(cap, what, bytes)| {
                let cap = cap?;
                let rate = if bytes {
                    format::bandwidth(cap as f64)
                } else {
                    format!("{} IOPS", format::count(cap))
                };
                Some(format!("{what} {rate}"))
            })
            .collect();
        let text = format!("{}: the control group's limit is measured, not the device", caps.join(", "));
        rows.push(row(&format!("device {}", device.device), text, Mark::Warn));
    }
    if rows.is_empty() && limits.version.is_some() {
        rows.push(row("control group", "no limits", Mark::Good));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttled_group_is_a_warning_and_a_free_one_is_said() {
        use assay_results::environment::{CgroupDeviceLimit, CgroupVersion};
        let throttled = CgroupLimits {
            version: Some(CgroupVersion::V2),
            cpu_quota_cpus: Some(0.5),
            devices: vec![CgroupDeviceLimit {
                device: "8:0".to_owned(),
                read_iops: Some(1000),
                ..CgroupDeviceLimit::default()
            }],
            ..CgroupLimits::default()
        };
        let rows = control_group(&throttled);
        assert_eq!(rows.len(), 2);
        assert!(rows[1].1.starts_with("read 1,000 IOPS"), "{}", rows[1].1);
        let free = CgroupLimits { version: Some(CgroupVersion::V2), ..CgroupLimits::default() };
        assert_eq!(control_group(&free)[0].1, "no limits");
        assert!(control_group(&CgroupLimits::default()).is_empty(), "not known is not 'no limits'");
    }
}
