//! The table of an application: its kind, and settings that this kind alone knows, as texts.

use assay_workload::application::{Application, ApplicationKind};
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::forms::quote;
use super::key::{Form, Shape};
use super::nearest::nearest;
use super::node::Entry;
use super::sink::Sink;

/// The key of the table that says which kind it is.
const KIND: &str = "kind";

pub(super) const APPLICATION: Form<Application> = Form { shape: Shape::Settings(KIND), read, write };

fn read(sink: &mut Sink, entry: Entry<'_>, _: &Shape) -> Option<Application> {
    let Some(table) = entry.as_table() else {
        return sink.wrong_type(entry, "a table such as { kind = \"mail\" }");
    };
    let Some(word) = table.get(KIND) else {
        let help = "application = { kind = \"oltp\", .. }";
        sink.error("missing-key", entry.span(), "the application does not say its kind", help);
        return None;
    };
    let kind = sink.string(Entry { key: KIND, value: word })?.to_owned();
    let settings = settings(sink, table)?;
    let known = sink.applications;
    let words = match known.iter().find(|one| one.kind() == kind) {
        Some(known) => words(sink, entry, table, *known, &settings)?,
        // Who reads plans without any kinds does not judge them.
        None if known.is_empty() => kind.clone(),
        None => {
            let kinds: Vec<&str> = known.iter().map(|one| one.kind()).collect();
            let message = format!("there is no application '{kind}'");
            sink.error("bad-value", word.span(), message, format!("available: {}", kinds.join(", ")));
            return None;
        }
    };
    Some(Application { kind, words, settings })
}

/// The settings as texts: `true` is `yes`.
fn settings(sink: &mut Sink, table: &DeTable<'_>) -> Option<Map<String, Value>> {
    let mut settings = Map::new();
    for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != KIND) {
        let text = match value.get_ref() {
            DeValue::Boolean(true) => "yes".to_owned(),
            DeValue::Boolean(false) => "no".to_owned(),
            DeValue::Integer(_) | DeValue::Float(_) => sink.text(value.span()).to_owned(),
            _ => sink.string(Entry { key: key.get_ref(), value })?.to_owned(),
        };
        settings.insert(key.get_ref().to_string(), Value::String(text));
    }
    Some(settings)
}

fn words(
    sink: &mut Sink,
    entry: Entry<'_>,
    table: &DeTable<'_>,
    kind: &dyn ApplicationKind,
    settings: &Map<String, Value>,
) -> Option<String> {
    let names = kind.names();
    if let Some((key, _)) =
        table.iter().find(|(key, _)| key.get_ref() != KIND && !names.contains(&key.get_ref().as_ref()))
    {
        let help = match nearest(key.get_ref(), &names) {
            Some(near) => format!("the nearest is '{near}'"),
            None => format!("known are {}", names.join(", ")),
        };
        let message = format!("'{}' is not a setting of {}", key.get_ref(), kind.kind());
        sink.error("unknown-key", key.span(), message, help);
        return None;
    }
    let fault = match kind.words(settings) {
        Ok(words) => return Some(words),
        Err(fault) => fault,
    };
    let span = table.get(fault.name.as_str()).map_or_else(|| entry.span(), |value| value.span());
    let message =
        if fault.name.is_empty() { fault.what } else { format!("'{}': {}", fault.name, fault.what) };
    sink.error("bad-value", span, message, fault.help);
    None
}

fn write(application: &Application) -> String {
    let mut text = format!("{{ {KIND} = {}", quote(&application.kind));
    for (name, value) in &application.settings {
        let value = value.as_str().map_or_else(|| value.to_string(), quote);
        text.push_str(&format!(", {name} = {value}"));
    }
    text.push_str(" }");
    text
}

#[cfg(test)]
mod tests {
    use assay_workload::application::SettingFault;

    use super::*;
    use crate::native::{parse, parse_with, write};

    struct Toy;

    impl ApplicationKind for Toy {
        fn kind(&self) -> &'static str {
            "toy"
        }

        fn names(&self) -> Vec<&'static str> {
            vec!["speed", "loud"]
        }

        fn words(&self, settings: &Map<String, Value>) -> Result<String, SettingFault> {
            match settings.get("speed").and_then(Value::as_str) {
                Some("3") | None => Ok("a toy".to_owned()),
                Some(other) => Err(SettingFault {
                    name: "speed".to_owned(),
                    what: format!("{other} is too fast"),
                    help: "1 to 3".to_owned(),
                }),
            }
        }
    }

    fn plan(application: &str) -> String {
        format!(
            "name = \"p\"\ntarget = [{{ name = \"t\", path = \"t\", kind = \"directory\" }}]\n[[job]]\nname = \"j\"\n\
             application = {application}\nservice_level = [\"p95<20ms\", \"beep mean<1ms\"]\nruntime = \"1m\"\n"
        )
    }

    #[test]
    fn settings_are_texts_and_are_written_back() {
        let text = plan("{ kind = \"toy\", speed = 3, loud = true }");
        let (workload, said) = parse_with("p", &text, &[&Toy]);
        assert!(said.is_empty(), "{said:?}");
        let workload = workload.expect("a plan");
        let job = &workload.phases[0].jobs[0];
        let application = job.application.as_ref().expect("an application");
        assert_eq!(application.words, "a toy");
        assert_eq!(application.settings["speed"], "3");
        assert_eq!(application.settings["loud"], "yes");
        let levels: Vec<String> = job.service_levels.iter().map(ToString::to_string).collect();
        assert_eq!(levels, ["p95<20 ms", "beep mean<1 ms"]);
        let again = parse_with("p", &write(&workload), &[&Toy]);
        assert!(again.1.is_empty(), "{:?}", again.1);
        assert_eq!(again.0.expect("a plan").phases, workload.phases);
        assert!(parse("p", &text).0.is_some(), "without kinds it is taken as it is");
    }

    #[test]
    fn what_is_wrong_is_said_at_its_place() {
        for (application, line, word, expected) in [
            ("{ kind = \"toys\" }", 5, "\"toys\"", "there is no application 'toys'"),
            ("{ speed = 3 }", 5, "{ speed = 3 }", "does not say its kind"),
            ("{ kind = \"toy\", sped = 3 }", 5, "sped", "'sped' is not a setting of toy"),
            ("{ kind = \"toy\", speed = 9 }", 5, "9", "'speed': 9 is too fast"),
        ] {
            let (workload, said) = parse_with("p", &plan(application), &[&Toy]);
            assert!(workload.is_none());
            let place = said[0].position.as_ref().expect("a place");
            assert_eq!((place.line, said[0].word.as_str()), (line, word), "{said:?}");
            assert!(said[0].message.contains(expected), "{said:?}");
        }
    }
}
