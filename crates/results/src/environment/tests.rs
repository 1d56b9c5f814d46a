use super::*;

fn device(name: &str, below: &[&str]) -> BlockDevice {
    BlockDevice {
        name: name.to_owned(),
        below: below.iter().map(|b| (*b).to_owned()).collect(),
        ..BlockDevice::default()
    }
}

#[test]
fn bottom_and_top_follow_the_edges() {
    let target = TargetEnvironment {
        devices: vec![
            device("dm-0", &["sda1", "sdb"]),
            device("sda1", &["sda"]),
            device("sda", &[]),
            device("sdb", &[]),
        ],
        ..TargetEnvironment::default()
    };
    let bottom: Vec<_> = target.bottom_devices().map(|d| d.name.as_str()).collect();
    let top: Vec<_> = target.top_devices().map(|d| d.name.as_str()).collect();
    assert_eq!((bottom, top), (vec!["sda", "sdb"], vec!["dm-0"]));
}

#[test]
fn a_loop_device_is_not_the_bottom() {
    let mut upper = device("loop0", &[]);
    upper.loop_backing = Some(LoopBacking { file: "/disk.img".to_owned(), ..LoopBacking::default() });
    let target = TargetEnvironment { devices: vec![upper], ..TargetEnvironment::default() };
    assert_eq!(target.bottom_devices().count(), 0);
}

#[test]
fn unknown_fields_and_missing_fields_are_accepted() {
    let text = r#"{"assay":{"version":"9"},"a_later_field":1,"machine":{"arch":"x86_64"}}"#;
    let read: Environment = serde_json::from_str(text).expect("a document of another version");
    assert_eq!(read.assay.version, "9");
    assert_eq!(read.machine.cpu.model, None);
}

#[test]
fn unknown_facts_are_null_and_survive_a_round_trip() {
    let environment = Environment {
        targets: vec![TargetEnvironment {
            path: "/data".to_owned(),
            resolution: Resolution::NotResolvable { reason: "tmpfs keeps its data in memory".to_owned() },
            devices: vec![BlockDevice { transport: Some(Transport::NvmePcie), ..device("nvme0n1", &[]) }],
            ..TargetEnvironment::default()
        }],
        ..Environment::default()
    };
    let value = serde_json::to_value(&environment).expect("plain data");
    assert_eq!(value["targets"][0]["resolution"]["state"], "not_resolvable");
    assert_eq!(value["targets"][0]["devices"][0]["transport"], "nvme_pcie");
    assert!(value["machine"]["uptime_s"].is_null());
    assert_eq!(serde_json::from_value::<Environment>(value).expect("same"), environment);
}

#[test]
fn barrier_options_are_recognised() {
    let with = |name: &str, value: Option<&str>| FileSystem {
        options: BTreeMap::from([(name.to_owned(), value.map(str::to_owned))]),
        ..FileSystem::default()
    };
    assert!(with("nobarrier", None).flushes_disabled());
    assert!(with("barrier", Some("0")).flushes_disabled());
    assert!(!with("barrier", Some("1")).flushes_disabled());
    let overlay = |name, value| FileSystem { fs_type: "overlay".to_owned(), ..with(name, value) };
    assert!(overlay("volatile", None).flushes_disabled());
    assert!(overlay("fsync", Some("volatile")).flushes_disabled());
    assert!(!overlay("fsync", Some("auto")).flushes_disabled());
    assert!(!with("volatile", None).flushes_disabled());
}
