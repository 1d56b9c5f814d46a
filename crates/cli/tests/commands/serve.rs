//! `assay serve`: who is answered, and what of. Requests are written byte by byte, as those who mean harm would.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::bounded::{Bounded as _, Started};
use crate::browser::Browser;
use crate::world::{Said, TEST, World, path_text, signal, wait_for};

/// A server over the runs of a world; it goes with the value.
struct Server {
    address: SocketAddr,
    child: Started,
    /// The token that it printed, which requests have then.
    token: Option<String>,
    /// What it says more goes nowhere, and is no error.
    _said: Option<BufReader<ChildStderr>>,
}

const TOKEN: &str = "0123456789abcdef-of-tests";

impl Server {
    fn start(world: &World, words: &[&str]) -> Server {
        let words = [&["serve", "--listen", "127.0.0.1:0", "--window", "4s"], words].concat();
        let mut command = world.command(&words);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its stdout");
        BufReader::new(out).read_line(&mut line).expect("an address");
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().unwrap_or_else(|_| panic!("{line}"));
        let prints = !words.iter().any(|word| ["--token-file", "--read-only"].contains(word));
        let mut said = child.stderr.take().map(BufReader::new).filter(|_| prints);
        let token = said.as_mut().map(|said| {
            let mut line = String::new();
            while !line.contains("?token=") {
                line.clear();
                assert!(said.read_line(&mut line).expect("its stderr") > 0, "a link with the token");
            }
            line.trim().rsplit('=').next().unwrap_or_default().to_owned()
        });
        Server { address, child, token, _said: said }
    }

    /// The link that it printed for who may change something.
    fn link(&self) -> String {
        format!("{}?token={}", self.url(), self.token.as_deref().unwrap_or_default())
    }

    /// The same server for somebody who has not seen the token.
    fn stranger(mut self) -> Server {
        self.token = None;
        self
    }

    fn bearer(&self) -> String {
        self.token.as_ref().map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"))
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Sends `request` and reads until the server closes, or has said nothing for a while.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        // A server that has refused may have closed before all of it was sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get_with(&self, path: &str, headers: &str) -> String {
        let host = self.address;
        let own = self.bearer();
        self.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{own}{headers}\r\n")
                .as_bytes(),
        )
    }

    fn get(&self, path: &str) -> String {
        self.get_with(path, "")
    }

    /// A form, as our own page sends it.
    fn post(&self, path: &str, form: &str) -> String {
        let origin = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", self.address);
        self.post_with(path, &origin, form)
    }

    fn post_with(&self, path: &str, headers: &str, form: &str) -> String {
        self.post_as(path, &format!("{}{headers}", self.bearer()), form)
    }

    /// A form without the token, unless it is in `headers`.
    fn post_as(&self, path: &str, headers: &str, form: &str) -> String {
        let (host, length) = (self.address, form.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}"
        );
        self.raw(head.as_bytes())
    }

    /// The cookie that the token in the address leaves.
    fn cookie(&self) -> String {
        let path = format!("/?token={}", self.token.as_deref().unwrap_or_default());
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        let first = self.raw(head.as_bytes());
        let cookie = first.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        cookie.split(';').next().unwrap_or_default().to_owned()
    }

    /// The secret of its forms.
    fn secret(&self) -> String {
        hidden(&self.get("/start"), "form")
    }
}

/// The hidden field of a form.
#[track_caller]
fn hidden(page: &str, name: &str) -> String {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1).expect("a field");
    field.split('"').next().unwrap_or_default().to_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[track_caller]
fn is(answer: &str, expected: u16) {
    assert_eq!(status(answer), expected, "{}", answer.chars().take(2000).collect::<String>());
}

/// A world with five runs, for servers that only look at them.
static HISTORY: LazyLock<World> = LazyLock::new(|| {
    let world = World::new();
    for _ in 0..5 {
        world.quick(&["--seed", "7"]).ended(0);
    }
    world
});

fn ids(world: &World) -> Vec<String> {
    let name = |path: &PathBuf| path_text(path).rsplit('-').next().unwrap_or_default().to_owned();
    world.run_directories().iter().map(name).collect()
}

fn token_file(world: &World) -> PathBuf {
    let path = world.path().join("token");
    fs::write(&path, format!("{TOKEN}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    path
}

#[test]
fn pages_show_runs_and_have_their_headers() {
    let server = Server::start(&HISTORY, &[]);
    let page = server.get("/");
    is(&page, 200);
    let all = ids(&HISTORY);
    assert!(all.iter().all(|id| page.contains(id)), "{page}");
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "frame-ancestors 'none'",
    ] {
        assert!(page.contains(header), "{header} in {page}");
    }
    for path in ["/trend", "/baselines", "/live", "/start", "/metrics", "/assets/serve.js"] {
        is(&server.get(path), 200);
    }
    let run = server.get(&format!("/runs/{}", all[0]));
    is(&run, 200);
    assert!(run.contains(TEST));
    is(&server.get(&format!("/compare?run={}&run={}", all[0], all[1])), 200);
    is(&server.get(&format!("/compare?run={}", all[0])), 400);
    let metrics = server.get("/metrics");
    assert!(metrics.contains("assay_live 0") && metrics.ends_with("# EOF\n"), "{metrics}");
    assert_eq!(metrics.matches("# TYPE assay_iops ").count(), 1, "each family is told once");
}

#[test]
fn a_bundle_of_the_page_can_be_imported() {
    let server = Server::start(&HISTORY, &[]);
    let id = &ids(&HISTORY)[0];
    let mut stream = TcpStream::connect(server.address).expect("a connection");
    let host = server.address;
    write!(stream, "GET /runs/{id}/bundle HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let body = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    let other = World::new();
    let file = other.path().join("run.tar");
    fs::write(&file, &answer[body..]).expect("a file");
    other.assay(&["import", path_text(&file)]).ended(0);
}

#[test]
fn no_path_leads_out_of_the_runs() {
    let server = Server::start(&HISTORY, &[]);
    fs::write(HISTORY.path().join("secret.txt"), "out of reach").expect("a file");
    let outside = [
        "/runs/../../secret.txt",
        "/runs/..%2f..%2fsecret.txt",
        "/runs/%2e%2e/%2e%2e/secret.txt",
        "/runs/..",
        "/runs/.%00",
        "/runs/%2fetc%2fpasswd",
        "/runs/..%2f..%2fsecret.txt/bundle",
        "/runs/baselines/run.json",
        "/assets/../secret.txt",
        "/assets/..%2fsecret.txt",
        "/compare?run=../../secret.txt&run=%2fetc%2fpasswd",
        "/start?run=..%2f..%2fsecret.txt",
        "/tags?run=..%2f",
        "//etc/passwd",
    ];
    for path in outside {
        let answer = server.get(path);
        assert!(matches!(status(&answer), 400 | 404), "{path}: {answer}");
        assert!(!answer.contains("out of reach") && !answer.contains("root:"), "{path}: {answer}");
    }
    let form = format!("form={}&run=..%2f..%2fsecret.txt&tag=a&do=add", server.secret());
    is(&server.post("/tags", &form), 404);
}

#[test]
fn a_huge_body_is_refused() {
    let server = Server::start(&HISTORY, &[]);
    is(&server.post("/start", &"a".repeat(200_000)), 413);
    // One that does not say how large it is.
    let (host, own) = (server.address, server.bearer());
    let mut request = format!(
        "POST /start HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n{own}\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    for _ in 0..100 {
        request.push_str(&format!("1000\r\n{}\r\n", "a".repeat(0x1000)));
    }
    is(&server.raw(request.as_bytes()), 413);
    // And a head that does not end.
    let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "a".repeat(100_000));
    assert!(matches!(status(&server.raw(head.as_bytes())), 400 | 431 | 0));
    let many: String = (0..200).map(|n| format!("X-{n}: a\r\n")).collect();
    assert!(matches!(status(&server.get_with("/", &many)), 400 | 431 | 0));
    is(&server.get("/"), 200);
}

#[test]
fn a_slow_client_is_let_go() {
    let server = Server::start(&HISTORY, &[]);
    let (host, own) = (server.address, server.bearer());
    let begun = Instant::now();
    let slow = [
        // A body that does not come.
        format!(
            "POST /start HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n{own}Content-Length: 1000\r\n\r\na"
        ),
        // A head that does not end.
        format!("GET / HTTP/1.1\r\nHost: {host}\r\n"),
    ];
    let answers: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = slow.iter().map(|request| scope.spawn(|| server.raw(request.as_bytes()))).collect();
        all.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    is(&answers[0], 408);
    assert!(matches!(status(&answers[1]), 0 | 408), "{}", answers[1]);
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    is(&server.get("/"), 200);
}

#[test]
fn other_names_are_not_answered() {
    let server = Server::start(&HISTORY, &[]);
    let with =
        |host: &str| server.raw(format!("GET / HTTP/1.1\r\nConnection: close\r\n{host}\r\n").as_bytes());
    for host in [
        "Host: evil.example\r\n",
        "Host: 10.1.2.3\r\n",
        "Host: localhost.evil.example:80\r\n",
        "",
        "Host: localhost\r\nHost: evil.example\r\n",
    ] {
        let answer = with(host);
        assert!(matches!(status(&answer), 400 | 421), "{host}: {answer}");
        assert!(!answer.contains(&ids(&HISTORY)[0]), "{answer}");
    }
    is(&with("Host: localhost:1234\r\n"), 200);
    let named = Server::start(&HISTORY, &["--host-name", "bench.example.org"]);
    is(&named.raw(b"GET / HTTP/1.1\r\nConnection: close\r\nHost: bench.example.org\r\n\r\n"), 200);
}

#[test]
fn other_sites_start_nothing() {
    let server = Server::start(&HISTORY, &[]);
    let place = HISTORY.path().join("elsewhere");
    fs::create_dir_all(&place).expect("a directory");
    let form = format!("form={}&directory={}&series=assay-1&test=", server.secret(), path_text(&place));
    let host = server.address;
    let foreign = [
        "Origin: http://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        format!("Origin: http://{host}\r\nSec-Fetch-Site: cross-site\r\n"),
        "Sec-Fetch-Site: same-site\r\n".to_owned(),
        // A browser's cookie alone is none of a program's token.
        String::new(),
    ];
    let cookie = format!("Cookie: {}\r\n", server.cookie());
    for path in ["/start", "/start/review", "/live/stop", "/tags", "/baselines"] {
        for headers in &foreign {
            is(&server.post_as(path, &format!("{cookie}{headers}"), &form), 403);
            if !headers.is_empty() {
                is(&server.post_with(path, headers, &form), 403);
            }
        }
        // Ours by its headers, without the secret of our pages.
        is(&server.post(path, "directory=/tmp&series=assay-1"), 403);
        is(&server.post(path, &form.replace("form=", "form=0")), 403);
    }
    // And other methods are none of ours.
    let delete = format!("DELETE / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    is(&server.raw(delete.as_bytes()), 405);
    assert_eq!(fs::read_dir(&place).expect("the directory").count(), 0);
    assert!(server.get("/live").contains("No run is going"));
}

/// The body of a form with a file, as browsers send it.
fn form_with_file(secret: &str, content: &[u8]) -> Vec<u8> {
    let part = |name: &str, more: &str| {
        format!("--bound\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n")
    };
    let file = part("file", "; filename=\"../../etc/x.tar\"\r\nContent-Type: application/x-tar");
    let front = format!("{}{secret}\r\n{file}", part("form", ""));
    [front.as_bytes(), content, b"\r\n--bound--\r\n"].concat()
}

impl Server {
    fn upload(&self, headers: &str, body: &[u8]) -> String {
        let head = format!(
            "POST /import HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}{headers}\
             Content-Type: multipart/form-data; boundary=bound\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.bearer(),
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }
}

#[test]
fn a_run_is_imported_from_our_own_page_only() {
    let world = World::new();
    let file = world.path().join("given.tar");
    HISTORY.assay(&["runs", "export", "last", path_text(&file)]).ended(0);
    let bundle = fs::read(&file).expect("a bundle");
    let server = Server::start(&world, &[]);
    let own = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", server.address);
    let good = form_with_file(&server.secret(), &bundle);
    is(&server.upload("Origin: http://evil.example\r\n", &good), 403);
    is(&server.upload(&own, &form_with_file("wrong", &bundle)), 403);
    is(&server.upload(&own, b"--bound--\r\n"), 400);
    is(&server.upload(&own, &good[..good.len() / 2]), 400);
    let text = server.upload(&own, &form_with_file(&server.secret(), b"just text"));
    is(&text, 400);
    assert!(text.contains("role=\"alert\""), "{text}");
    let mut damaged = bundle.clone();
    damaged[bundle.len() / 3] ^= 1;
    is(&server.upload(&own, &form_with_file(&server.secret(), &damaged)), 400);
    assert!(world.run_directories().is_empty(), "nothing was stored");
    for known in [false, true] {
        let answer = server.upload(&own, &good);
        is(&answer, 303);
        assert!(answer.contains("location: /runs/"), "{known}: {answer}");
    }
    assert_eq!(world.run_directories().len(), 1);
    assert!(server.get("/").contains(&ids(&world)[0]));
    let too_large = vec![b'a'; (64 << 20) + (128 << 10)];
    is(&server.upload(&own, &form_with_file(&server.secret(), &too_large)), 413);
    let shown = Server::start(&HISTORY, &["--read-only"]);
    let own = format!("Origin: http://{}\r\n", shown.address);
    is(&shown.upload(&own, &good), 403);
    is(&shown.get("/import"), 403);
}

#[test]
fn a_program_imports_a_run_with_the_token_alone() {
    let world = World::new();
    let file = world.path().join("given.tar");
    HISTORY.assay(&["runs", "export", "last", path_text(&file)]).ended(0);
    let form = form_with_file("", &fs::read(&file).expect("a bundle"));
    let start = form.windows(10).position(|bytes| bytes == b"\r\n--bound\r").expect("the second field");
    // As curl -F file=@run.tar sends it: the file only.
    let form = &form[start + 2..];
    let server = Server::start(&world, &[]);
    is(&server.upload("Origin: http://evil.example\r\n", form), 403);
    is(&server.upload("Sec-Fetch-Site: cross-site\r\n", form), 403);
    let answer = server.upload("", form);
    is(&answer, 303);
    assert!(answer.contains("location: /runs/"), "{answer}");
    // What it starts, it starts as a page showed it.
    is(&server.post_with("/start", "", "directory=/tmp&series=assay-1&test="), 409);
    let server = server.stranger();
    is(&server.upload("", form), 403);
    is(&server.upload("Authorization: Bearer wrong\r\n", form), 401);
}

#[test]
fn a_token_is_needed_where_there_is_one() {
    let file = token_file(&HISTORY);
    let server = Server::start(&HISTORY, &["--token-file", path_text(&file)]);
    let id = &ids(&HISTORY)[0];
    for headers in ["", "Authorization: Bearer wrong\r\n", "Cookie: assay=1\r\n", "Accept: text/html\r\n"] {
        for path in ["/", "/metrics", "/live/events", &format!("/runs/{id}/run.json"), "/?token=wrong"] {
            let answer = server.get_with(path, headers);
            assert!(matches!(status(&answer), 401 | 303), "{headers}{path}: {answer}");
            assert!(!answer.contains(id.as_str()) || status(&answer) == 303, "{answer}");
        }
    }
    is(&server.get_with("/metrics", &format!("Authorization: Bearer {TOKEN}\r\n")), 200);
    // The first use leaves a cookie, and takes the token out of the address.
    let first = server.get(&format!("/?token={TOKEN}"));
    is(&first, 303);
    let cookie = first.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let cookie = cookie.split(';').next().unwrap_or_default();
    is(&server.get_with("/", &format!("Cookie: {cookie}\r\n")), 200);
    // A cookie of another start is none.
    let other = Server::start(&HISTORY, &["--token-file", path_text(&file)]);
    let name = cookie.split('=').next().unwrap_or_default();
    let value = cookie.split('=').nth(1).unwrap_or_default();
    let port = format!("assay-{}", other.address.port());
    assert_ne!(name, port);
    is(&other.get_with("/metrics", &format!("Cookie: {port}={value}\r\n")), 401);
    // No form is taken without it, wherever it comes from.
    let origin = format!("Origin: http://{}\r\n", server.address);
    is(&server.post_with("/start", &origin, "form=x"), 401);
}

#[test]
fn tokens_are_not_weak_and_not_for_all_to_read() {
    let world = World::new();
    let file = token_file(&world);
    let serve =
        |file: &Path| world.assay(&["serve", "--listen", "127.0.0.1:0", "--token-file", path_text(file)]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    let said = serve(&file).ended(2);
    assert!(said.err.contains("chmod 600"), "{}", said.err);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::write(&file, "short").expect("a file");
    assert!(serve(&file).ended(2).err.contains("16"));
    assert!(serve(Path::new("nosuch")).ended(2).err.contains("nosuch"));
    // What others reach has a token in any case, and says that it is not encrypted.
    let mut command = world.command(&["serve", "--listen", "0.0.0.0:0"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("the program starts");
    let mut out = BufReader::new(child.stdout.take().expect("its stdout"));
    out.read_line(&mut String::new()).expect("an address");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, rustix::process::Signal::INT);
    let said = Said::of(child.wait_with_output().expect("ended")).ended(0);
    assert!(said.err.contains("/?token=") && said.err.contains("not encrypted"), "{}", said.err);
}

/// Another user of the machine reaches 127.0.0.1, too, and reads the secret of the forms there.
#[test]
fn who_has_not_the_token_looks_and_changes_nothing() {
    let world = World::new();
    let file = world.path().join("given.tar");
    HISTORY.assay(&["runs", "export", "last", path_text(&file)]).ended(0);
    let bundle = fs::read(&file).expect("a bundle");
    world.assay(&["import", path_text(&file)]).ended(0);
    let server = Server::start(&world, &[]).stranger();
    let id = &ids(&world)[0];
    for path in ["/", "/live", "/metrics", &format!("/runs/{id}"), "/trend", "/baselines"] {
        is(&server.get(path), 200);
    }
    let secret = hidden(&server.get(&format!("/runs/{id}")), "form");
    let form = format!("form={secret}&run={id}&tag=x&do=add&name=x&directory={}", path_text(&world.data()));
    for path in ["/start", "/start/review", "/live/stop", "/tags", "/baselines"] {
        is(&server.post(path, &form), 401);
    }
    let own = format!("Origin: http://{}\r\n", server.address);
    is(&server.upload(&own, &form_with_file(&secret, &bundle)), 401);
    // What leads there looks at targets, and asks who it is first.
    for path in ["/start", &format!("/start?run={id}"), "/import"] {
        is(&server.get(path), 401);
        let asked = server.get_with(path, "Accept: text/html\r\n");
        assert!(status(&asked) == 303 && asked.contains("location: /login"), "{asked}");
    }
    is(&server.get("/?token=0123456789abcdef"), 401);
    assert!(!server.get("/").contains(">x<"), "no tag was given");
}

#[test]
fn read_only_refuses_every_form() {
    let server = Server::start(&HISTORY, &["--read-only"]);
    for path in ["/start", "/start/review", "/live/stop", "/tags", "/baselines", "/"] {
        is(&server.post(path, "a=b"), 403);
    }
    is(&server.get("/start"), 403);
    assert!(!server.get("/").contains("Start a run"));
}

#[test]
fn connections_have_a_limit() {
    let server = Server::start(&HISTORY, &[]);
    let open: Vec<TcpStream> = (0..60).filter_map(|_| TcpStream::connect(server.address).ok()).collect();
    std::thread::sleep(Duration::from_millis(500));
    let closed = open
        .iter()
        .filter(|stream| {
            stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
            let mut stream: &TcpStream = stream;
            matches!(stream.read(&mut [0]), Ok(0)) || matches!(stream.read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset)
        })
        .count();
    assert!(closed >= 20, "{closed} of {} were closed", open.len());
    drop(open);
    wait_for("a page again", || status(&server.get("/")) == 200);
}

#[test]
fn words_of_strangers_are_shown_and_not_obeyed() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let file = world.run_directories()[0].join("run.json");
    let mut run: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("a run")).expect("JSON");
    let evil = "</title><script>alert(1)</script><img src=x onerror=alert(1)>";
    run["name"] = evil.into();
    run["plan"]["name"] = evil.into();
    run["environment"]["machine"]["hostname"] = evil.into();
    fs::write(&file, run.to_string()).expect("written");
    let server = Server::start(&world, &[]);
    let id = &ids(&world)[0];
    for path in [
        "/",
        "/trend",
        &format!("/runs/{id}"),
        &format!("/tags?run={id}"),
        &format!("/start?run={id}"),
        "/metrics",
    ] {
        let page = server.get(path);
        assert!(path == "/metrics" || !page.contains("<script>alert"), "{path}: {page}");
        assert!(path == "/metrics" || !page.contains("<img src=x"), "{path}: {page}");
    }
    let search = server.get("/?q=%3Cscript%3Ealert(2)%3C/script%3E&tag=%22%3E%3Cscript%3Ealert(3)");
    assert!(!search.contains("<script>alert"), "{search}");
}

#[test]
fn what_would_be_overwritten_has_to_be_named() {
    let world = World::new();
    let target = world.data().join("file");
    let fio = world.path().join("job.fio");
    fs::write(
        &fio,
        format!("[w]\nfilename={}\nrw=write\nbs=64k\nsize=1m\nioengine=psync\n", path_text(&target)),
    )
    .expect("a job");
    world.assay(&["run", path_text(&fio)]).ended(0);
    // Since then somebody keeps something else there.
    let precious = vec![7_u8; 1 << 20];
    let _ = fs::remove_file(&target);
    fs::write(&target, &precious).expect("a file");
    let server = Server::start(&world, &[]);
    let id = &ids(&world)[0];
    let review = server.get(&format!("/start?run={id}"));
    is(&review, 200);
    assert!(review.contains("Data will be destroyed"), "{review}");
    let secret = server.secret();
    let mut base = format!("form={secret}&review={}", hidden(&review, "review"));
    for typed in ["", "&overwrite=", "&overwrite=yes", "&overwrite=%2Fdev%2Fsda"] {
        let answer = server.post("/start", &format!("{base}{typed}"));
        is(&answer, 400);
        base = format!("form={secret}&review={}", hidden(&answer, "review"));
    }
    assert_eq!(fs::read(&target).expect("the file"), precious, "nothing was written");
    let named = format!("{base}&overwrite={}", path_text(&target).replace('/', "%2F"));
    is(&server.post("/start", &named), 303);
    wait_for("the end of the run", || server.get("/live").contains("id=\"result\""));
    assert_ne!(fs::read(&target).expect("the file"), precious);
    assert_eq!(world.run_directories().len(), 2);
}

#[test]
fn one_run_at_a_time_is_watched_and_stopped() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let data = path_text(&world.data()).replace('/', "%2F");
    let test = TEST.replace(' ', "+").replace(',', "%2C");
    let form = format!("form={}&directory={data}&series=assay-1&test={test}", server.secret());
    let review = server.post("/start/review", &form);
    is(&review, 200);
    assert!(world.run_directories().is_empty(), "nothing is made before it was confirmed");
    is(&server.post("/start/review", &form.replace(&data, "nosuch")), 400);
    // What was not shown is not started, whatever a form says beside.
    is(&server.post("/start", &form), 409);
    assert!(world.run_directories().is_empty());
    let confirmed = format!("{}&review={}", form.replace(&data, "%2Fetc"), hidden(&review, "review"));
    let other = hidden(&server.post("/start/review", &form), "review");
    is(&server.post("/start", &confirmed), 303);
    is(&server.post("/start", &confirmed), 409);
    is(&server.post("/start", &format!("{form}&review={other}")), 409);
    wait_for("figures", || server.get("/live").contains("p99 completion"));
    let metrics = server.get("/metrics");
    assert!(metrics.contains("assay_live 1\n") && metrics.contains("assay_live_iops "), "{metrics}");
    is(&server.post("/live/stop", &form), 303);
    let events = server.get("/live/events");
    assert!(events.contains("event: end"), "{events}");
    wait_for("the end", || server.get("/live").contains("id=\"result\""));
    assert_eq!(world.only_run()["verdict"], "incomplete");
    // What has the address ends with a signal, and leaves nothing behind that goes on.
    let mut child = server.child;
    signal(&child, rustix::process::Signal::TERM);
    assert!(child.wait().expect("ended").success());
}

#[test]
fn the_index_follows_the_runs() {
    let world = World::new();
    world.quick(&[]).ended(0);
    let server = Server::start(&world, &[]);
    let id = ids(&world)[0].clone();
    assert!(server.get("/").contains(&id));
    let form = format!("form={}&run={id}&tag=kept&do=add", server.secret());
    is(&server.post("/tags", &form), 303);
    assert!(server.get("/?tag=kept").contains(&id));
    assert!(!server.get("/?tag=other").contains(&format!("/runs/{id}")));
    // A broken index is made again; tags are in the runs.
    drop(server);
    let cache = world.home().join(".cache/assay");
    let index = fs::read_dir(&cache).expect("the cache").flatten().map(|entry| entry.path());
    index.for_each(|file| fs::write(file, "not SQLite").expect("written"));
    let server = Server::start(&world, &[]);
    assert!(server.get("/?tag=kept").contains(&id));
    assert!(server.get("/?q=KEPT").contains(&id), "the search goes over tags");
    world.assay(&["runs", "rm", &id]).ended(0);
    wait_for("the run to go", || !server.get("/").contains(&format!("/runs/{id}")));
}

#[test]
fn the_pages_in_a_browser() {
    let Some(browser) = Browser::find() else { return };
    let world = World::new();
    for _ in 0..5 {
        world.quick(&["--seed", "7"]).ended(0);
    }
    // One with drawings over time, and one that comes as a file.
    let plan = crate::pages::plan(&world);
    world.assay(&["run", &plan, "--engine", "sim", "--seed", "7", "--runtime", "8s"]).ended(0);
    let other = World::new();
    other.quick(&["--seed", "8"]).ended(0);
    let bundle = world.path().join("given.tar");
    other.assay(&["runs", "export", "last", path_text(&bundle)]).ended(0);
    let file = token_file(&world);
    let plain = Server::start(&world, &[]);
    let read_only = Server::start(&world, &["--read-only"]);
    let guarded = Server::start(&world, &["--token-file", path_text(&file)]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/serve.cjs");
    let data = world.data();
    browser.run(
        &script,
        &[&plain.link(), &read_only.url(), &guarded.url(), TOKEN, path_text(&data), path_text(&bundle)],
    );
}
