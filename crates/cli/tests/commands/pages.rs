//! Pages as a browser shows them.

use crate::browser::Browser;
use crate::stored::measured;
use crate::world::path_text;

#[test]
fn the_page_of_a_run_is_accessible_and_needs_nothing_from_elsewhere() {
    let Some(browser) = Browser::find() else { return };
    let page = measured().run_directories()[0].join("report.html");
    browser.check_page(path_text(&page), "quick");
}
