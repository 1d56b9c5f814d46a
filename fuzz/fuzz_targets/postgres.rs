//! What a PostgreSQL server says, or something that has its port: while one connects, checks a database, builds one, does transactions.
//!
//! The first byte says what is done. Behind it stand messages, each as its kind, the number of its bytes and these; lengths are made right, so
//! that what reads the bodies is reached. A kind with its highest bit set has the length that the next four bytes say.

#![no_main]

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use assay_fuzz::share;
use assay_oltp::{Given, Here, ServerUrl, Watcher, fuzzing};
use libfuzzer_sys::fuzz_target;

/// Answers each connection with these bytes.
struct Server {
    answer: Arc<Mutex<Vec<u8>>>,
    directory: PathBuf,
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let directory = PathBuf::from(format!("/dev/shm/assay-fuzz-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let socket = directory.join(".s.PGSQL.5432");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(socket).expect("a socket");
        let answer = Arc::<Mutex<Vec<u8>>>::default();
        let said = Arc::clone(&answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let answer = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                std::thread::spawn(move || serve(stream, &answer));
            }
        });
        Server { answer, directory }
    })
}

/// Says `answer`, and reads what the other side says until it hangs up.
fn serve(mut stream: UnixStream, answer: &[u8]) {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
    let _ = stream.write_all(answer);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut sink = [0; 4096];
    while stream.read(&mut sink).is_ok_and(|read| read > 0) {}
}

/// Messages as a server sends them.
fn messages(mut data: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    while let [kind, length, rest @ ..] = data {
        let (body, behind) = rest.split_at(usize::from(*length).min(rest.len()));
        stream.push(kind & 0x7f);
        if kind & 0x80 == 0 {
            stream.extend((body.len() as u32 + 4).to_be_bytes());
        }
        stream.extend(body);
        data = behind;
    }
    stream
}

fuzz_target!(|data: &[u8]| {
    let Some((what, rest)) = data.split_first() else { return };
    let server = server();
    *server.answer.lock().unwrap_or_else(PoisonError::into_inner) = messages(rest);
    let place = format!("postgres://u:p@{}/d", server.directory.display().to_string().replace('/', "%2F"));
    let url = ServerUrl::parse(&place).expect("a URL");
    let here = Here {
        now_us: 1_700_000_000_000_000,
        random: 7,
        cpus: 1,
        password: None,
        data: Some(server.directory.clone()),
        force: false,
    };
    let mut given = vec![("where", place)];
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| false };
    let done = match what % 4 {
        0 => assay_oltp::check(&Given::from_iter(given), &here, &mut |_| {}, &|| false).is_ok(),
        1 => {
            given.push(("warehouses", "1".to_owned()));
            assay_oltp::build(&Given::from_iter(given), &here, &mut watcher).is_ok()
        }
        2 => assay_oltp::prepare_run(&Given::from_iter(given), &here, &mut watcher).is_ok(),
        _ => fuzzing::transactions(&url, u64::from(*what), what & 4 != 0) > 0,
    };
    share::count(done);
});
