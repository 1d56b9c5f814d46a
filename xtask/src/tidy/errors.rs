//! Rule over the errors of a library that programs call: a variant that is nothing but a sentence cannot be told from another one,
//! so each carries what it is about, and its words are made where it is shown.

use super::{Finding, SourceFile};

/// The files whose error types are read by programs.
const FILES: &[&str] = &["crates/runner/src/error.rs"];

/// `error-words`.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| FILES.contains(&file.path.as_str())) {
        // What does not parse is reported by the other rules.
        let Ok(parsed) = syn::parse_file(file.text.as_deref().unwrap_or_default()) else { continue };
        for item in parsed.items {
            let syn::Item::Enum(item) = item else { continue };
            for variant in item.variants.iter().filter(|variant| is_a_sentence(&variant.fields)) {
                let line = variant.ident.span().start().line;
                let message =
                    format!("{}::{} holds text alone; name what it is about", item.ident, variant.ident);
                findings.push(Finding::new(&file.path, line, "error-words", message));
            }
        }
    }
    findings
}

/// Whether there are fields, and all of them are text.
fn is_a_sentence(fields: &syn::Fields) -> bool {
    let is_text = |field: &syn::Field| match &field.ty {
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "String"),
        _ => false,
    };
    !fields.is_empty() && fields.iter().all(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_of_text_alone_is_found() {
        let text = "pub enum RunError {\n    Said(String),\n    Two { what: std::string::String, why: String },\n\
            \x20   Fine { why: String, phase: usize },\n    Unit,\n}\n";
        let file = |path: &str| SourceFile { path: path.to_owned(), bytes: 0, text: Some(text.to_owned()) };
        let found: Vec<String> =
            check(&[file(FILES[0]), file("crates/x/src/error.rs")]).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/runner/src/error.rs:2: error-words: RunError::Said holds text alone; name what it is about",
                "crates/runner/src/error.rs:3: error-words: RunError::Two holds text alone; name what it is about",
            ]
        );
    }
}
