//! What building, checking and watching ask of a database, whichever it is.

use std::collections::BTreeMap;

use crate::error::{Error, Unfit};
use crate::scale::Scale;
use crate::schema::FORMAT;

/// The whole numbers of a row; `None`: null.
pub(crate) type Numbers = [Option<i64>];

/// A connection for single statements.
pub(crate) trait Admin {
    /// Where the database is, for messages.
    fn place(&self) -> String;

    /// Does statements that return nothing.
    fn run(&mut self, sql: &str) -> Result<(), Error>;

    /// The rows of a query of whole numbers.
    fn numbers(&mut self, sql: &str, row: &mut dyn FnMut(&Numbers)) -> Result<(), Error>;

    /// The rows of a query of a few texts.
    fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error>;

    /// What the database's own check of its files says; empty: nothing is wrong, or it has none.
    fn damage(&mut self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

/// The one number of a query.
pub(crate) fn number(admin: &mut dyn Admin, sql: &str) -> Result<i64, Error> {
    let mut found = 0;
    admin.numbers(sql, &mut |row| found = row.first().copied().flatten().unwrap_or(0))?;
    Ok(found)
}

/// Whether this is the number of a build.
fn is_build(word: &str) -> bool {
    (1..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What a database says of its build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Its own number, in hexadecimal.
    pub(crate) build: String,
    pub(crate) warehouses: u32,
    pub(crate) scale: Scale,
    pub(crate) load_last: i64,
    /// Whether transactions are there as functions.
    pub(crate) functions: bool,
    /// Runs begun since the load.
    pub(crate) runs: i64,
}

impl Facts {
    /// The words of the table of the build, as inserts.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        vec![
            ("format", FORMAT.to_string()),
            ("made_by", env!("CARGO_PKG_VERSION").to_owned()),
            ("build", self.build.clone()),
            ("warehouses", self.warehouses.to_string()),
            ("items", self.scale.items.to_string()),
            ("customers", self.scale.customers.to_string()),
            ("undelivered", self.scale.undelivered.to_string()),
            ("load_last", self.load_last.to_string()),
            ("functions", i64::from(self.functions).to_string()),
            ("runs", self.runs.to_string()),
        ]
    }

    /// Writes them down; `loaded` is said last, when all rows are there.
    pub(crate) fn write(&self, admin: &mut dyn Admin) -> Result<(), Error> {
        for (name, value) in self.words() {
            admin.run(&format!("INSERT INTO assay_oltp (name, value) VALUES ('{name}', '{value}')"))?;
        }
        Ok(())
    }

    /// Whether these words are of a build, of this version or another one: what [`Facts::write`] writes first.
    pub(crate) fn are_marked(words: &[Vec<String>]) -> bool {
        let word = |name: &str| {
            words
                .iter()
                .find(|row| matches!(row.as_slice(), [n, _] if n == name))
                .and_then(|row| row.get(1))
                .map_or("", String::as_str)
        };
        word("format").parse::<u32>().is_ok() && !word("made_by").is_empty() && is_build(word("build"))
    }

    /// Says that everything is there.
    pub(crate) fn loaded(admin: &mut dyn Admin) -> Result<(), Error> {
        admin.run("INSERT INTO assay_oltp (name, value) VALUES ('state', 'loaded')")
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`Unfit`]: it is of another version, or its load did not end.
    pub(crate) fn read(admin: &mut dyn Admin) -> Result<Facts, Error> {
        let rows = admin.texts("SELECT name, value FROM assay_oltp")?;
        let words: BTreeMap<String, String> = rows
            .into_iter()
            .filter_map(|row| <[String; 2]>::try_from(row).ok())
            .map(|[n, v]| (n, v))
            .collect();
        let place = admin.place();
        let word = |name: &str| words.get(name).cloned().unwrap_or_default();
        let found = word("format");
        if found != FORMAT.to_string() {
            // Nothing was written yet, or another version knows what.
            return Err(match found.is_empty() {
                true => Unfit::HalfBuilt { place },
                false => Unfit::Version { place, found, made_by: word("made_by"), expected: FORMAT },
            }
            .into());
        }
        if word("state") != "loaded" {
            return Err(Unfit::HalfBuilt { place }.into());
        }
        let number = |name: &str| {
            let damaged = || Unfit::Foreign {
                place: place.clone(),
                what: format!("a table assay_oltp without a number '{name}'"),
            };
            word(name).parse::<i64>().map_err(|_| Error::from(damaged()))
        };
        // It becomes the name of a file here.
        let build = word("build");
        if !is_build(&build) {
            let what = "a table assay_oltp whose 'build' is no number".to_owned();
            return Err(Unfit::Foreign { place, what }.into());
        }
        Ok(Facts {
            build,
            warehouses: u32::try_from(number("warehouses")?).unwrap_or(0),
            scale: Scale {
                items: number("items")?,
                customers: number("customers")?,
                undelivered: number("undelivered")?,
            },
            load_last: number("load_last")?,
            functions: number("functions")? != 0,
            runs: number("runs")?,
        })
    }

    /// Counts a run.
    pub(crate) fn begin_run(&self, admin: &mut dyn Admin) -> Result<(), Error> {
        admin.run(&format!(
            "UPDATE assay_oltp SET value = '{}' WHERE name = 'runs'",
            self.runs.saturating_add(1)
        ))
    }
}
