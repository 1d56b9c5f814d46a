use super::*;
use crate::service::Time;

#[test]
fn shipped_models_are_sound_and_named_after_their_file() {
    for shipped in SHIPPED {
        let model = Model::shipped(shipped.name).unwrap();
        assert_eq!(model.name, shipped.name);
        assert!(!model.description.is_empty(), "{}", shipped.name);
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = Model::shipped("three-brick").unwrap_err().to_string();
    assert!(error.contains("'three-brick'") && error.contains("known-latency"), "{error}");
}

#[test]
fn times_and_sizes_have_units() {
    let text = "name = 'x'\ndelay.read = { constant = '120us' }\ndelay.write = { exponential = 500 }\n\
                front_end = { controllers = 2, cores_per_controller = 2, segment = '1MiB' }\n";
    let model = Model::from_toml(text).unwrap();
    assert_eq!(model.delay.read, Service::Constant(Time(120_000)));
    assert_eq!(model.delay.of(OpKind::Write), &Service::Exponential(Time(500)));
    assert_eq!(model.delay.of(OpKind::Trim), &Service::Exponential(Time(500)));
    assert_eq!(model.front_end.segment, Size(1 << 20));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let error = |text: &str| Model::from_toml(text).unwrap_err().to_string();
    let unknown = error("name = 'x'\ndelay.raed = { constant = 1 }\n");
    assert!(unknown.contains("raed") && unknown.contains("line 2"), "{unknown}");
    let unit = error("name = 'x'\ndelay.read = { constant = '120' }\n");
    assert!(unit.contains("has no unit"), "{unit}");
    let order = error("name = 'x'\ndelay.write = { uniform = { min = 2, max = 1 } }\n");
    assert!(order.contains("delay.write") && order.contains("min is above max"), "{order}");
    let cores =
        error("name = 'x'\nfront_end = { controllers = 0, cores_per_controller = 2, segment = '1MiB' }\n");
    assert!(cores.contains("front_end") && cores.contains("cores"), "{cores}");
}

#[test]
fn layouts_deal_segments_out() {
    let mut front_end = FrontEnd { controllers: 2, cores_per_controller: 2, ..FrontEnd::default() };
    let cores = |front_end: &FrontEnd| (0..6).map(|segment| front_end.core_of(segment)).collect::<Vec<_>>();
    assert_eq!(cores(&front_end), [0, 1, 2, 3, 0, 1]);
    front_end.layout = Layout::Alternate;
    assert_eq!(cores(&front_end), [0, 2, 1, 3, 0, 2]);
    front_end.layout = Layout::Hash;
    let mut counts = [0_u32; 4];
    (0..40_000).for_each(|segment| counts[front_end.core_of(segment) as usize] += 1);
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
}

#[test]
fn a_model_survives_being_stored() {
    for shipped in SHIPPED {
        let model = Model::shipped(shipped.name).unwrap();
        assert_eq!(Model::from_toml(&toml::to_string(&model).unwrap()).unwrap(), model);
    }
}
