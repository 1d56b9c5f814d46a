//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.

use crate::error::Asked;

const PORT: u16 = 5432;

/// Where a database is, and who asks for it.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub(crate) user: String,
    password: Option<String>,
    /// A directory of sockets where it begins with a slash.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
}

impl std::fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Whether a word is meant as the URL of a server.
pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("postgres://") || word.starts_with("postgresql://")
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = behind;
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).ok()
}

fn encoded(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let one = |c: char| {
        if plain(c) {
            return c.to_string();
        }
        c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
    };
    text.chars().map(one).collect()
}

/// A URL without what may be its password: that stands before the last `@`, or in a parameter.
fn without_password(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("postgres", text));
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let user = |who: &str| who.split([':', '/']).next().unwrap_or_default().to_owned();
    if parameters.contains('@') {
        return format!("{scheme}://{}@...", user(place));
    }
    let shown = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name != "sslmode" => format!("{name}=..."),
        _ => parameter.to_owned(),
    };
    let parameters: Vec<String> = parameters.split('&').filter(|text| !text.is_empty()).map(shown).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!("?{}", parameters.join("&")) };
    match place.rsplit_once('@') {
        Some((who, place)) => format!("{scheme}://{}@{place}{parameters}", user(who)),
        None => format!("{scheme}://{place}{parameters}"),
    }
}

impl ServerUrl {
    /// Reads one.
    ///
    /// # Errors
    /// [`Asked::Url`]
    pub fn parse(text: &str) -> Result<Self, Asked> {
        let refused = |why: &str| Asked::Url { url: without_password(text), why: why.to_owned() };
        let rest =
            text.split_once("://").filter(|_| is_url(text)).ok_or_else(|| refused("no postgres://"))?.1;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        // A password may be cut at any of these: nothing of the parts is said.
        let behind = rest.split_once('/').map_or("", |(_, behind)| behind);
        if behind.contains('@') || parameters.contains('@') {
            return Err(refused("an '@' stands behind a '/' or '?'; in a user or password these are written %2F, %3F and %40"));
        }
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "disable" | "allow" | "prefer")) | Some(("application_name", _)) => {}
                Some(("sslmode", mode)) => {
                    return Err(refused(&format!(
                        "sslmode={mode}: Assay connects without TLS only; use a tunnel (ssh -L), or sslmode=prefer"
                    )));
                }
                // Its value may be a password.
                _ => {
                    let name = parameter.split('=').next().unwrap_or_default();
                    return Err(refused(&format!(
                        "parameter '{name}' is not supported; possible: sslmode, application_name (password: PGPASSWORD)"
                    )));
                }
            }
        }
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = place.rsplit_once('@').unwrap_or(("", place));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (who, None),
        };
        let split = if let Some(inner) = place.strip_prefix('[') {
            // An IPv6 address.
            inner.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))
        } else {
            Some(place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))))
        };
        let (host, port) = split.ok_or_else(|| refused("a bracket is not closed"))?;
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) => {
                port.parse().map_err(|_| refused(&format!("port '{port}' is no number of 1 to 65535")))?
            }
            None => PORT,
        };
        let text = |part: &str| {
            decoded(part).ok_or_else(|| refused("a % is not followed by two hexadecimal digits"))
        };
        let user = if user.is_empty() { "postgres".to_owned() } else { text(user)? };
        let host = if host.is_empty() { "localhost".to_owned() } else { text(host)? };
        let database = if database.is_empty() { user.clone() } else { text(database)? };
        if [&user, &host, &database].iter().any(|part| part.contains('\0')) {
            return Err(refused("it holds a zero byte"));
        }
        let password = password.map(text).transpose()?;
        Ok(ServerUrl { user, password, host, port, database })
    }

    /// Of a URL that holds a password: the URL without it, and the password.
    pub fn split_password(text: &str) -> Option<(String, String)> {
        let url = is_url(text).then(|| ServerUrl::parse(text).ok()).flatten()?;
        let shown = url.shown();
        url.password.map(|password| (shown, password))
    }

    /// With a password where it has none.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Self {
        self.password = self.password.or(password);
        self
    }

    /// Its password.
    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Without the password: for plans, results and messages.
    pub fn shown(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => encoded(&self.host),
        };
        format!("postgres://{}@{host}:{}/{}", encoded(&self.user), self.port, encoded(&self.database))
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        if self.host.starts_with('/') {
            return format!("{}/.s.PGSQL.{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_without_passwords() {
        let url = ServerUrl::parse("postgres://me:p%40ss:word@db.example:5433/tests?sslmode=prefer").unwrap();
        assert_eq!((url.user.as_str(), url.host.as_str(), url.port), ("me", "db.example", 5433));
        assert_eq!((url.password(), url.database.as_str()), (Some("p@ss:word"), "tests"));
        assert_eq!(url.shown(), "postgres://me@db.example:5433/tests");
        assert_eq!(format!("{url:?}"), url.shown());
        let socket = ServerUrl::parse("postgresql://u@%2Frun%2Fpg/d").unwrap();
        assert_eq!((socket.host.as_str(), socket.address().as_str()), ("/run/pg", "/run/pg/.s.PGSQL.5432"));
        assert_eq!(ServerUrl::parse(&socket.shown()).unwrap(), socket);
        let least = ServerUrl::parse("postgres://").unwrap();
        assert_eq!(least.shown(), "postgres://postgres@localhost:5432/postgres");
        assert_eq!(ServerUrl::parse("postgres://u@[::1]:7/d").unwrap().shown(), "postgres://u@[::1]:7/d");
    }

    #[test]
    fn a_password_can_be_taken_out() {
        let split = ServerUrl::split_password("postgres://me:p%40ss@h:5433/d?sslmode=prefer");
        assert_eq!(split, Some(("postgres://me@h:5433/d".to_owned(), "p@ss".to_owned())));
        for none in ["postgres://me@h/d", "mysql://u:p@h/d", "some:where@else", "postgres://u:p@h:x/d"] {
            assert_eq!(ServerUrl::split_password(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, why) in [
            ("mysql://u@h/d", "no postgres://"),
            ("postgres://u:secret@h:99999/d", "port '99999'"),
            ("postgres://u:secret@h/d?sslmode=require", "without TLS only"),
            (
                "postgres://u:secret@h/d?target_session_attrs=any",
                "'target_session_attrs' is not supported",
            ),
            ("postgres://u@h/d?password=secret", "'password' is not supported"),
            ("postgres://u@h/d?password=secret@x", "%2F, %3F and %40"),
            ("postgres://u:se/secret@h/d", "%2F, %3F and %40"),
            ("postgres://u:/secret@h/d", "%2F, %3F and %40"),
            ("postgres://u:se?secret@h/d", "%2F, %3F and %40"),
            ("postgres://u:se?x=secret@h/d", "%2F, %3F and %40"),
            ("postgres://u:secret%4@h/d", "hexadecimal"),
        ] {
            let error = ServerUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("secret"), "{error}");
        }
    }
}
