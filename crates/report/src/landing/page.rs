//! The page: complete in itself, every text escaped.

use maud::{Markup, html};

use assay_results::run::{Finding, FindingSeverity};

use super::bars::HOT;
use super::{Facts, Landing, Part, bars};
use crate::html::{document, figure, finding_cards, heat_figure};
use crate::svg::COLOURS;
use crate::text::sentence;

/// What heat maps and bars need beside the style sheet of all pages.
const STYLE: &str = ".facts-table { margin: .6rem 0 1rem; } .change { margin: .2rem 0; } \
     figure.wide { grid-column: 1 / -1; }";

/// The page.
pub fn page(landing: &Landing) -> String {
    let body = html! {
        header {
            p .kind { (landing.kind) }
            h1 { (landing.title) }
            (verdict(landing))
            p .place { @for fact in &landing.facts { span { (fact) } } }
        }
        main {
            @if !landing.findings.is_empty() { (finding_cards(&landing.findings)) }
            @if !landing.changes.is_empty() {
                section {
                    h2 { "The repair" }
                    ul { @for change in &landing.changes { li .change { (change) } } }
                }
            }
            @for (index, part) in landing.parts.iter().enumerate() { (section(part, index)) }
        }
    };
    document(&landing.title, &format!("Assay {}", landing.version), STYLE, &body)
}

/// The answer in a box: what is wrong, the gravest first; and whether a repair is at hand.
fn verdict(landing: &Landing) -> Markup {
    let grave = |finding: &&Finding| finding.severity >= FindingSeverity::Warning;
    let worst = landing.findings.iter().filter(grave).max_by_key(|finding| finding.severity);
    let count = landing.findings.iter().filter(grave).count();
    let (class, word, words) = match worst {
        Some(one) if one.severity == FindingSeverity::Invalid => ("invalid", "problem", one.message.as_str()),
        Some(one) => ("suspect", "warning", one.message.as_str()),
        None => ("valid", "no problem found", ""),
    };
    html! {
        p .verdict .(class) role="status" {
            strong { (word) }
            span {
                @if !words.is_empty() { (sentence(words)) " " }
                @match count { 0 | 1 => {}, 2 => { "Another finding is below. " }, _ => { (count - 1) " more findings are below. " } }
                @if !landing.changes.is_empty() { "A repair is shown below." }
            }
        }
    }
}

fn section(part: &Part, index: usize) -> Markup {
    html! {
        section {
            h2 { (part.title) }
            @for words in &part.words { p .words { (words) } }
            @for facts in &part.facts { (table(facts)) }
            div .figures {
                @for (place, one) in part.bars.iter().enumerate() {
                    // What follows comes in pairs, before and after, which then stand side by side.
                    figure .wide[!one.repaired.is_empty()] {
                        p .figure-title { (one.title) }
                        (bars::bars(one, &format!("bars-{index}-{place}")))
                        figcaption {
                            @if !one.repaired.is_empty() {
                                ul .legend {
                                    li { span .swatch .s0 {} "before" }
                                    li { span class={ "swatch s" (3 % COLOURS) } {} "after the repair" }
                                }
                            }
                            @if let Some(even) = one.even {
                                @if one.values.iter().any(|value| *value > HOT * even) {
                                    ul .legend { li { span .swatch .hot {} "more than " (HOT) " times an even share" } }
                                }
                                p { "dashed line: an even share" }
                            }
                        }
                    }
                }
                @for map in &part.heat { (heat_figure(map)) }
                @for chart in &part.charts { (figure(chart)) }
            }
        }
    }
}

fn table(facts: &Facts) -> Markup {
    html! {
        div .scroll .facts-table tabindex="0" {
            table .rows {
                thead { tr { @for head in &facts.heads { th scope="col" .n[head.number] { (head.name) } } } }
                tbody {
                    @for row in &facts.rows {
                        tr {
                            @for (head, text) in facts.heads.iter().zip(row) {
                                td .n[head.number] data-h=(head.name) { (text) }
                            }
                        }
                    }
                }
            }
        }
        @if !facts.note.is_empty() { p .dim { (facts.note) } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CoreBars, Head, HeatMap};
    use super::*;

    #[test]
    fn a_page_is_complete_in_itself_and_escapes_names() {
        let landing = Landing {
            title: "<script>alert(1)</script>".to_owned(),
            changes: vec!["hitarea=8m & more".to_owned()],
            parts: vec![Part {
                title: "rd1".to_owned(),
                facts: vec![Facts {
                    heads: vec![Head::number("share", 0)],
                    rows: vec![vec!["78.1 %".to_owned()]],
                    note: String::new(),
                }],
                bars: vec![CoreBars {
                    values: vec![0.5, 0.5],
                    repaired: vec![0.1, 0.2],
                    ..CoreBars::default()
                }],
                heat: vec![HeatMap { rows: vec![vec![1.0, 0.5]], ..HeatMap::default() }],
                ..Part::default()
            }],
            ..Landing::default()
        };
        let text = page(&landing);
        assert!(!text.contains("<script>alert") && text.contains("hitarea=8m &amp; more"));
        assert!(
            text.contains("78.1 %") && text.contains("class=\"heat\"") && text.contains("after the repair")
        );
        assert!(text.contains("<figure class=\"wide\">"), "before and after would not stand side by side");
        assert!(!text.contains("http:") && !text.contains("https:") && !text.contains("src="));
    }
}
