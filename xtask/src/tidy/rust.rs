//! Rules over Rust source. They look at tokens, so comments and strings can say what code must not, and the
//! inside of macro calls is seen as well.

use proc_macro2::{Delimiter, Group, LineColumn, Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Finding;

/// The longest body of a function, in lines between its braces.
const FUNCTION_LINES_MAX: usize = 70;

/// A run of tokens that may stand only in certain crates.
struct Ban {
    rule: &'static str,
    tokens: &'static [&'static str],
    allowed_in: &'static [&'static str],
    instead: &'static str,
}

const TERMINAL: &[&str] = &["cli", "xtask"];
const CLOCK: &[&str] = &["engine", "host", "runner", "fleet", "web", "faultfs", "cli", "xtask"];
const RETURN_IT: &str = "only cli prints; return it, or write to a given `io::Write`";
const ASK_CLI: &str = "only cli knows the command line and the terminal; take what it decided as a parameter";
const TAKE_TIME: &str = "take the time (or a Clock) as a parameter";
const TAKE_SEED: &str = "take a seeded generator as a parameter";

const BANS: &[Ban] = &[
    Ban { rule: "terminal", tokens: &["is_terminal"], allowed_in: TERMINAL, instead: ASK_CLI },
    Ban { rule: "terminal", tokens: &["IsTerminal"], allowed_in: TERMINAL, instead: ASK_CLI },
    Ban { rule: "terminal", tokens: &["clap"], allowed_in: TERMINAL, instead: ASK_CLI },
    Ban { rule: "signals", tokens: &["signal_hook"], allowed_in: &["cli"], instead: "take a stop flag" },
    Ban { rule: "output", tokens: &["println", "!"], allowed_in: TERMINAL, instead: RETURN_IT },
    Ban { rule: "output", tokens: &["print", "!"], allowed_in: TERMINAL, instead: RETURN_IT },
    Ban { rule: "output", tokens: &["eprintln", "!"], allowed_in: TERMINAL, instead: RETURN_IT },
    Ban { rule: "output", tokens: &["eprint", "!"], allowed_in: TERMINAL, instead: RETURN_IT },
    Ban { rule: "output", tokens: &["dbg", "!"], allowed_in: TERMINAL, instead: RETURN_IT },
    Ban {
        rule: "exit",
        tokens: &["process", "::", "exit"],
        allowed_in: TERMINAL,
        instead: "only cli exits; return an error",
    },
    Ban {
        rule: "unsafe",
        tokens: &["unsafe"],
        allowed_in: &["engine"],
        instead: "all unsafe code lives in engine",
    },
    Ban { rule: "clock", tokens: &["Instant", "::", "now"], allowed_in: CLOCK, instead: TAKE_TIME },
    Ban { rule: "clock", tokens: &["SystemTime", "::", "now"], allowed_in: CLOCK, instead: TAKE_TIME },
    Ban { rule: "clock", tokens: &["Timestamp", "::", "now"], allowed_in: CLOCK, instead: TAKE_TIME },
    Ban { rule: "clock", tokens: &["Zoned", "::", "now"], allowed_in: CLOCK, instead: TAKE_TIME },
    Ban { rule: "randomness", tokens: &["thread_rng"], allowed_in: CLOCK, instead: TAKE_SEED },
    Ban { rule: "randomness", tokens: &["ThreadRng"], allowed_in: CLOCK, instead: TAKE_SEED },
    Ban { rule: "randomness", tokens: &["OsRng"], allowed_in: CLOCK, instead: TAKE_SEED },
    Ban { rule: "randomness", tokens: &["getrandom"], allowed_in: CLOCK, instead: TAKE_SEED },
    Ban { rule: "randomness", tokens: &["rand", "::", "rng"], allowed_in: CLOCK, instead: TAKE_SEED },
    Ban { rule: "randomness", tokens: &["rand", "::", "random"], allowed_in: CLOCK, instead: TAKE_SEED },
];

/// `parse`, `function-length`, `crate-doc`, `attribute`, and the bans: `terminal`, `signals`, `output`, `exit`, `unsafe`,
/// `clock`, `randomness`.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let parsed = text.parse::<TokenStream>().map_err(syn::Error::from);
    let parsed = parsed.and_then(|tokens| Ok((syn::parse2::<syn::File>(tokens.clone())?, tokens)));
    let (file, tokens) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return vec![Finding::new(path, error.span().start().line, "parse", error.to_string())],
    };
    let mut findings = Vec::new();
    if is_crate_root(path) && !text.starts_with("//!") {
        let message = "begins with no `//!` page: what the crate does, and what it must not know";
        findings.push(Finding::new(path, 1, "crate-doc", message));
    }
    let mut lengths = Lengths { path, findings: Vec::new() };
    lengths.visit_file(&file);
    findings.append(&mut lengths.findings);
    check_tokens(path, crate_of(path), tokens, &mut findings);
    findings
}

/// The short name of the crate that a file belongs to, or "" outside of them.
fn crate_of(path: &str) -> &str {
    let mut parts = path.split('/');
    match parts.next() {
        Some("crates") => parts.next().unwrap_or_default(),
        Some("xtask") => "xtask",
        _ => "",
    }
}

fn is_crate_root(path: &str) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/'));
    inside.is_some_and(|(_, inside)| inside == "src/lib.rs") || path == "crates/cli/src/main.rs"
}

/// A token as the bans see it, with its line: `::` in one piece, a group as its opening bracket.
fn spell(trees: &[TokenTree]) -> Vec<(String, usize)> {
    let mut spelled: Vec<(String, usize)> = Vec::with_capacity(trees.len());
    let mut joint = false;
    for tree in trees {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Punct(punct) => {
                let previous = if joint { spelled.last_mut() } else { None };
                match previous {
                    Some((text, _)) => text.push(punct.as_char()),
                    None => spelled.push((punct.as_char().to_string(), line)),
                }
                joint = punct.spacing() == Spacing::Joint;
                continue;
            }
            TokenTree::Ident(ident) => spelled.push((ident.to_string(), line)),
            TokenTree::Literal(_) => spelled.push(("literal".to_owned(), line)),
            TokenTree::Group(_) => spelled.push(("group".to_owned(), line)),
        }
        joint = false;
    }
    spelled
}

fn check_tokens(path: &str, crate_name: &str, tokens: TokenStream, findings: &mut Vec<Finding>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let spelled = spell(&trees);
    for ban in BANS.iter().filter(|ban| !ban.allowed_in.contains(&crate_name)) {
        for window in spelled.windows(ban.tokens.len()) {
            if window.iter().map(|(text, _)| text).eq(ban.tokens) {
                let message = format!("`{}`: {}", ban.tokens.concat(), ban.instead);
                findings.push(Finding::new(path, window[0].1, ban.rule, message));
            }
        }
    }
    let mut hash = false;
    for tree in &trees {
        match tree {
            TokenTree::Group(group) => {
                if hash && group.delimiter() == Delimiter::Bracket {
                    findings.extend(check_attribute(path, group));
                }
                check_tokens(path, crate_name, group.stream(), findings);
                hash = false;
            }
            // `#` or `#!`.
            TokenTree::Punct(punct) => hash = punct.as_char() == '#' || (hash && punct.as_char() == '!'),
            _ => hash = false,
        }
    }
}

/// An attribute's inside, without its `#[ ]`; a `cfg_attr` can hold others.
fn check_attribute(path: &str, group: &Group) -> Option<Finding> {
    let words = idents(group.stream());
    let first = words.first().map(String::as_str)?;
    let holds = |word: &str| first == word || (first == "cfg_attr" && words.iter().any(|held| held == word));
    let line = group.span().start().line;
    if holds("allow") {
        return Some(Finding::new(path, line, "attribute", "`allow`: fix it, or `expect` it with a reason"));
    }
    let message = "`ignore`: a test that cannot run is a declared skip (docs/capabilities.toml)";
    holds("ignore").then(|| Finding::new(path, line, "attribute", message))
}

fn idents(tokens: TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => words.extend(idents(group.stream())),
            _ => {}
        }
    }
    words
}

/// Measures every function, also within functions, tests and macro calls.
struct Lengths<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Lengths<'_> {
    fn measure(&mut self, name: &str, open: LineColumn, close: LineColumn) {
        let lines = (close.line - open.line).saturating_sub(1);
        if lines > FUNCTION_LINES_MAX {
            let message = format!("{name} has {lines} lines, at most {FUNCTION_LINES_MAX}");
            let mut finding = Finding::new(self.path, open.line, "function-length", message);
            finding.item = Some(name.to_owned());
            self.findings.push(finding);
        }
    }

    fn measure_block(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let braces = block.brace_token.span;
        self.measure(&signature.ident.to_string(), braces.open().start(), braces.close().start());
    }

    /// `fn NAME .. { .. }` among tokens that need not be Rust, as in `proptest!`.
    fn measure_tokens(&mut self, tokens: TokenStream) {
        let mut name: Option<String> = None;
        let mut after_fn = false;
        for tree in tokens {
            match tree {
                TokenTree::Ident(ident) if after_fn => name = Some(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ';' => name = None,
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace
                        && let Some(name) = name.take()
                    {
                        self.measure(&name, group.span_open().start(), group.span_close().start());
                    }
                    self.measure_tokens(group.stream());
                    after_fn = false;
                    continue;
                }
                TokenTree::Ident(ident) if ident == "fn" => {
                    after_fn = true;
                    continue;
                }
                _ => {}
            }
            after_fn = false;
        }
    }
}

impl<'ast> Visit<'ast> for Lengths<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure_block(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure_block(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure_block(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.measure_tokens(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_at(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        check(path, text).into_iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    fn rules(text: &str) -> Vec<(usize, &'static str)> {
        rules_at("crates/results/src/a.rs", text)
    }

    #[test]
    fn printing_and_exiting_are_for_cli() {
        for call in ["println!()", "print!(\"\")", "eprintln![]", "eprint!{}", "dbg!(1)"] {
            assert_eq!(rules(&format!("fn f() {{\n{call} }}")), [(2, "output")], "{call}");
        }
        assert_eq!(rules("use std::process::exit;"), [(1, "exit")]);
        let both = "fn f() { println!(); std::process::exit(1) }";
        for allowed in ["crates/cli/src/a.rs", "crates/cli/tests/a.rs", "xtask/src/a.rs"] {
            assert_eq!(rules_at(allowed, both), [], "{allowed}");
        }
    }

    #[test]
    fn comments_strings_and_lookalikes_are_no_calls() {
        let text = "/// ```\n/// println!()\n/// ```\n// dbg!(x) unsafe\nfn f(print: u8) -> bool { let _ = \"unsafe\"; \
                    print != 3 && unsafe_free(print) }";
        assert_eq!(rules(text), []);
    }

    #[test]
    fn macro_calls_are_looked_into() {
        assert_eq!(rules("fn f() { assert!(vec![{ println!(); 1 }].len() == 1) }"), [(1, "output")]);
        assert_eq!(rules("proptest! { fn f(a in 0..9) {\n let t = Instant::now(); } }"), [(2, "clock")]);
    }

    #[test]
    fn unsafe_code_is_for_the_engine() {
        assert_eq!(rules("fn f() {\n unsafe { g() } }"), [(2, "unsafe")]);
        assert_eq!(rules("unsafe impl Send for A {}"), [(1, "unsafe")]);
        assert_eq!(rules("#[unsafe(no_mangle)] fn f() {}"), [(1, "unsafe")]);
        assert_eq!(rules("#![forbid(unsafe_code)]"), []);
        assert_eq!(rules_at("crates/engine/src/a.rs", "fn f() { unsafe { g() } }"), []);
    }

    #[test]
    fn time_and_randomness_are_parameters() {
        let clock =
            ["Instant::now()", "std::time::SystemTime::now", "jiff::Timestamp::now()", "Zoned::now()"];
        for call in clock {
            let text = format!("fn f() {{ {call}; }}");
            assert_eq!(rules(&text), [(1, "clock")], "{call}");
            for allowed in CLOCK {
                assert_eq!(rules_at(&format!("crates/{allowed}/src/a.rs"), &text), []);
            }
        }
        for call in
            ["rand::thread_rng()", "rand::rng()", "rand::random::<u8>()", "OsRng.next()", "getrandom(&mut b)"]
        {
            assert_eq!(rules(&format!("fn f() {{ {call}; }}")), [(1, "randomness")], "{call}");
        }
    }

    #[test]
    fn tests_are_not_ignored_and_lints_not_allowed() {
        for attribute in ["ignore", "ignore = \"slow\"", "allow(dead_code)", "cfg_attr(a, allow(b))"] {
            assert_eq!(rules(&format!("\n#[{attribute}] fn f() {{}}")), [(2, "attribute")], "{attribute}");
            assert_eq!(rules(&format!("#![{attribute}]")), [(1, "attribute")], "{attribute}");
            assert_eq!(
                rules(&format!("fn f() {{ g(1,#[{attribute}] 2) }}")),
                [(1, "attribute")],
                "{attribute}"
            );
        }
        assert_eq!(rules("#[expect(dead_code, reason = \"..\")] #[arg(ignore_case)] fn f() {}"), []);
    }

    #[test]
    fn a_function_has_seventy_lines_at_most() {
        let body = |lines| format!("{{{} }}", "\n    g();".repeat(lines) + "\n");
        let forms = [
            "fn f() BODY",
            "impl A { fn f(&self) BODY }",
            "trait A { fn f() BODY }",
            "fn a() { fn f() BODY }",
        ];
        let macros = ["mod tests { #[test] fn f() BODY }", "proptest! { #[test] fn f(a in 0..9u8) BODY }"];
        for form in forms.into_iter().chain(macros) {
            assert_eq!(rules(&form.replace("BODY", &body(70))), [], "{form}");
        }
        for form in forms.into_iter().chain(macros).filter(|form| !form.starts_with("fn a")) {
            let found = check("a.rs", &form.replace("BODY", &body(71)));
            assert_eq!(found.len(), 1, "{form}");
            assert_eq!(found[0].item.as_deref(), Some("f"));
            assert!(found[0].message.contains("71 lines"), "{found:?}");
        }
        assert_eq!(rules(&forms[3].replace("BODY", &body(71))).len(), 2, "the inner one counts for both");
    }

    #[test]
    fn a_crate_begins_with_its_page() {
        assert_eq!(rules_at("crates/host/src/lib.rs", "mod a;"), [(1, "crate-doc")]);
        assert_eq!(rules_at("crates/cli/src/main.rs", "fn main() {}"), [(1, "crate-doc")]);
        assert_eq!(rules_at("crates/host/src/lib.rs", "//! Host.\nmod a;"), []);
        assert_eq!(rules_at("crates/host/src/a.rs", "mod a;"), []);
    }

    #[test]
    fn what_does_not_parse_is_said() {
        assert_eq!(rules("fn f( {}")[0].1, "parse");
        assert_eq!(rules("\nlet x = 1;"), [(2, "parse")]);
    }
}
