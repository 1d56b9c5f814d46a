//! `assay explain`: the words of vdbench, fio and SNIA beside Assay's own, and what each means.

use assay_formats::near;
use assay_formats::terms::{self, Found, Term};
use assay_report::terminal::{self, Words};
use assay_results::{checks, keys};
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

/// The explanations of the checks; the page is the only place where they are written.
const CHECKS: &str = include_str!("../../../docs/methodology/checks.md");
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # the whole table
  assay explain
  # a word of vdbench, fio or SNIA, or one of Assay's own
  assay explain xfersize
  assay explain \"queue depth\"
  # what a check means, how it knows, and what it does not catch
  assay explain not-steady")]
pub(crate) struct ExplainArgs {
    /// A word, an option, or the id of a check; without one, the table of all
    #[arg(value_name = "TERM")]
    pub(crate) term: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn explain(args: &ExplainArgs, context: &Context) -> Result<Outcome, Failure> {
    let word = args.term.join(" ");
    let text = if word.trim().is_empty() {
        if args.json { json(&terms::all().collect::<Vec<_>>()) } else { table(context) }
    } else {
        look_up(&word, args.json, context)?
    };
    context.out(&text);
    Ok(Outcome::Done)
}

fn look_up(word: &str, as_json: bool, context: &Context) -> Result<String, Failure> {
    if let Some(check) = checks::ALL.iter().find(|check| check.id == word) {
        let text = section(check.id).unwrap_or(check.catches);
        return Ok(if as_json {
            format!("{:#}", serde_json::json!({ "check": check.id, "catches": check.catches, "text": text }))
        } else {
            terminal::check_page(check.id, check.catches, text, &context.style)
        });
    }
    match terms::find(word) {
        Found::Terms(found) if as_json => Ok(json(&found)),
        Found::Terms(found) => {
            let pages: Vec<String> = found.iter().map(|term| page(term, context)).collect();
            Ok(pages.join("\n"))
        }
        Found::Word(shown) if as_json => {
            Ok(format!("{:#}", serde_json::json!([{ "term": shown.names[0], "meaning": shown.meaning }])))
        }
        Found::Word(shown) => {
            Ok(terminal::word_page(&shown.names[0], std::slice::from_ref(&shown.meaning), &context.style))
        }
        Found::Nearest(mut near) => {
            let found = keys::meanings(word);
            if !found.is_empty() {
                return Ok(if as_json {
                    let entries =
                        found.iter().map(|text| serde_json::json!({ "key": word, "meaning": text }));
                    format!("{:#}", serde_json::Value::Array(entries.collect()))
                } else {
                    terminal::word_page(word, &found, &context.style)
                });
            }
            near.extend(near::nearest(word, checks::ALL.iter().map(|check| check.id)));
            let hint = match near.as_slice() {
                [] => "'assay explain' lists all".to_owned(),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            Err(Failure::usage(format!("'{word}' is not a word known here; {hint}")))
        }
    }
}

fn table(context: &Context) -> String {
    // As many words as leave the columns beside each other.
    let shown = match context.style.width {
        ..130 => 1,
        130..180 => 2,
        _ => 3,
    };
    let list = |words: &[String]| words[..words.len().min(shown)].join(", ");
    let row = |term: &Term| {
        let name = term.name.clone();
        vec![name, list(&term.vdbench), list(&term.fio), list(&term.snia), list(&term.assay)]
    };
    let rows: Vec<Vec<String>> = terms::all().map(row).collect();
    let style = &context.style;
    let mut text = terminal::words_table(&["term", "vdbench", "fio", "SNIA", "Assay"], &rows, style);
    let rows: Vec<Vec<String>> =
        checks::ALL.iter().map(|check| vec![check.id.to_owned(), check.catches.to_owned()]).collect();
    text.push('\n');
    text.push_str(&terminal::words_table(&["check", "what it catches"], &rows, style));
    text.push_str("\n'assay explain TERM' says more about each.\n");
    text
}

fn json(terms: &[&Term]) -> String {
    let term = |term: &&Term| {
        serde_json::json!({
            "term": term.name, "title": term.title, "vdbench": term.vdbench, "fio": term.fio, "snia": term.snia,
            "assay": term.assay, "meaning": term.meaning, "traps": term.traps,
            "example": {
                "vdbench": term.example.vdbench, "fio": term.example.fio, "toml": term.example.plan,
            },
        })
    };
    format!("{:#}", serde_json::Value::Array(terms.iter().map(term).collect()))
}

fn page(term: &Term, context: &Context) -> String {
    let mut parts = vec![Words::Title(term.title.clone())];
    for (tool, words) in
        [("vdbench", &term.vdbench), ("fio", &term.fio), ("SNIA", &term.snia), ("Assay", &term.assay)]
    {
        let words = if words.is_empty() { "no word for it".to_owned() } else { words.join(", ") };
        parts.push(Words::Fact(tool.to_owned(), words));
    }
    parts.extend([Words::Gap, Words::Text(term.meaning.clone()), Words::Gap]);
    parts.extend(term.traps.iter().map(|trap| Words::Item('!', trap.clone())));
    for (tool, example) in
        [("vdbench", &term.example.vdbench), ("fio", &term.example.fio), ("Assay", &term.example.plan)]
    {
        if !example.is_empty() {
            parts.extend([Words::Gap, Words::Text(format!("  in {tool}:"))]);
            parts.push(Words::Verbatim(example.clone()));
        }
    }
    terminal::page(&parts, &context.style)
}

/// What docs/methodology/checks.md says of a check.
fn section(id: &str) -> Option<&'static str> {
    let at = CHECKS.find(&format!("\n## {id}\n"))? + id.len() + 5;
    let rest = &CHECKS[at..];
    Some(rest[..rest.find("\n## ").unwrap_or(rest.len())].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_explained() {
        for check in &checks::ALL {
            let text = section(check.id).unwrap_or_else(|| panic!("{} has no section", check.id));
            assert!(text.contains("*Known by*"), "{}: {text}", check.id);
            let plain: String = text.split('`').step_by(2).collect();
            assert_eq!(plain.matches('*').count() % 2, 0, "{}: {text}", check.id);
        }
    }
}
