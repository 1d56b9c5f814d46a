//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, and the parameters of libpq that say the same.

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
        // Without @, what is behind the colon is a port, or a password whose @ was forgotten.
        None => match place.split_once(':').filter(|_| !place.starts_with('[')) {
            Some((host, port)) if !port.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{scheme}://{host}:...{parameters}")
            }
            _ => format!("{scheme}://{place}{parameters}"),
        },
    }
}

/// Values of a URL's parameters that say what its other parts may say as well.
#[derive(Default)]
struct Parameters<'u> {
    host: Option<&'u str>,
    port: Option<&'u str>,
    user: Option<&'u str>,
    password: Option<&'u str>,
    database: Option<&'u str>,
}

impl<'u> Parameters<'u> {
    /// Reads them; `Err`: why one cannot be.
    fn read(text: &'u str) -> Result<Self, String> {
        let mut all = Parameters::default();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let part = match name {
                "host" => &mut all.host,
                "port" => &mut all.port,
                "user" => &mut all.user,
                "password" => &mut all.password,
                "dbname" => &mut all.database,
                "application_name" => continue,
                "sslmode" if ["disable", "allow", "prefer"].contains(&value) => continue,
                "sslmode" => {
                    return Err(format!(
                        "sslmode={value}: Assay connects without TLS only; use a tunnel (ssh -L), or sslmode=prefer"
                    ));
                }
                // Its value may be a secret.
                _ => {
                    return Err(format!(
                        "parameter '{name}' is not supported; possible: host, port, user, password, dbname, sslmode, application_name"
                    ));
                }
            };
            *part = Some(value);
        }
        Ok(all)
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
            return Err(refused(
                "an '@' stands behind a '/' or '?'; in a user or password these are written %2F, %3F and %40",
            ));
        }
        let parameters = Parameters::read(parameters).map_err(|why| refused(&why))?;
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
        let (user, host) = (parameters.user.unwrap_or(user), parameters.host.unwrap_or(host));
        let (password, database) =
            (parameters.password.or(password), parameters.database.unwrap_or(database));
        let port = match parameters.port.or(port).filter(|port| !port.is_empty()) {
            Some(port) => match port.parse::<u16>() {
                Ok(port) if port > 0 => port,
                // Where an @ was forgotten it is a password.
                _ if !port.bytes().all(|byte| byte.is_ascii_digit()) => {
                    return Err(refused("the port is no number of 1 to 65535"));
                }
                _ => return Err(refused(&format!("port '{port}' is no number of 1 to 65535"))),
            },
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
        let by_parameters =
            ServerUrl::parse("postgres:///d?host=%2Frun%2Fpg&port=7&user=me&password=p%26q").unwrap();
        assert_eq!(by_parameters.shown(), "postgres://me@%2Frun%2Fpg:7/d");
        assert_eq!(by_parameters.password(), Some("p&q"));
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
            ("postgres://u:secret@h/d?target_session_attrs=any", "'target_session_attrs' is not supported"),
            ("postgres://u@h/d?passfile=secret", "'passfile' is not supported"),
            ("postgres://u:secret/d", "the port is no number"),
            ("postgres://u@h:0/d", "port '0'"),
            ("postgres://u@h/d?password=secret&sslmode=verify-full", "without TLS only"),
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
