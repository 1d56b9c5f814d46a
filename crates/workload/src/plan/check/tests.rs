use super::*;
use crate::job::{Limits, Phase};
use crate::lun;
use crate::pattern::Mix;
use crate::plan::PlannedSite;

fn plan() -> Plan {
    let pattern = AccessPattern::new(Mix::read_write(50.0), 4096, Placement::random_map());
    let job = lun::job("j", pattern, 4, Limits { ios: Some(100), ..Limits::default() });
    let mut plan = lun::plan(5, 1 << 30, vec![Phase::measure("m", vec![job])]).unwrap();
    (plan.targets[0].path, plan.targets[0].kind) = ("/dev/lun".to_owned(), TargetKind::BlockDevice);
    plan
}

/// What is said of the plan once it is changed.
#[track_caller]
fn refused(said: &str, change: impl Fn(&mut Plan)) {
    let mut changed = plan();
    change(&mut changed);
    assert_eq!(changed.check().expect_err("it cannot be").to_string(), said);
}

#[test]
fn what_is_planned_here_is_a_plan() {
    assert_eq!(plan().check(), Ok(()));
    // What other hosts do is nothing here.
    let mut none = plan();
    none.phases[0].jobs[0].slices.clear();
    assert_eq!(none.check(), Ok(()));
}

#[test]
fn what_comes_from_elsewhere_is_looked_at() {
    type Job = PlannedJob;
    fn job(change: impl Fn(&mut Job)) -> impl Fn(&mut Plan) {
        move |plan| change(&mut plan.phases[0].jobs[0])
    }
    fn site(change: impl Fn(&mut PlannedSite)) -> impl Fn(&mut Plan) {
        move |plan| change(&mut plan.phases[0].jobs[0].slices[0].sites[0])
    }
    refused(
        "the plan: its schema is 'assay.plan/9'; this version of Assay carries out 'assay.plan/1'",
        |plan| {
            plan.schema = "assay.plan/9".to_owned();
        },
    );
    refused("the plan: it has no phases", |plan| plan.phases.clear());
    refused("phases[0]: it has no jobs", |plan| plan.phases[0].jobs.clear());
    refused("targets[0]: its path 'data' is not absolute", |plan| plan.targets[0].path = "data".to_owned());
    let there = "phases[0].jobs[0].slices[0]";
    refused(&format!("{there}: target 1, which its host does not have"), site(|site| site.target = 1));
    refused(&format!("{there}: it has no sites"), job(|job| job.slices[0].sites.clear()));
    refused(
        &format!("{there}: host 7, which the plan does not have"),
        job(|job| job.slices[0].host = HostId(7)),
    );
    refused(
        &format!(
            "{there}: a range of 1 GiB from byte 18446744073709551615 on, which is not in its target of 1 GiB or holds no block of 4 KiB"
        ),
        site(|site| site.offset_bytes = u64::MAX),
    );
    refused(
        "phases[0].jobs[0]: a ramp of 18446744073709551615; 0 to 1576800000000000000 are possible",
        job(|job| job.ramp = Nanos(u64::MAX)),
    );
    refused(
        "phases[0].jobs[0]: a block size of 0; 1 to 2147483647 are possible",
        job(|job| job.pattern.read_sizes = BlockSizes::Fixed(0)),
    );
    for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let slow = job(|job| job.slices[0].rate = Some(SliceRate::Iops(value)));
        refused(&format!("{there}: a rate of {value}"), slow);
    }
    let names = job(|job| job.operations = vec!["op".to_owned(); 200]);
    refused("phases[0].jobs[0]: 200 names of operations; 128 are possible", names);
}
