//! This program, measuring on another machine.

use crate::context::{Context, SERVED_VARIABLE};
use crate::failure::Failure;
use crate::series::QuickArgs;
use assay_runner::Finished;

use super::arrived;
use assay_fleet::login::{self, Connection, relay};
use assay_fleet::program::{CACHE, Program};
use assay_fleet::shell::quoted;

/// Runs the series in `directory`, a word of the shell there, and brings the run back.
pub(super) fn run(
    args: &QuickArgs,
    directory: &str,
    binary: &Program,
    connection: &Connection,
    context: &Context,
) -> Result<Finished, Failure> {
    let host = connection.host();
    let token = format!("{:016x}", assay_runner::random_u64()?);
    let place = format!(
        "{CACHE}out=\"$cache/runs/{token}\"
(umask 077 && mkdir -p \"$cache/runs\" && mkdir \"$out\") || exit 1
echo $$ >\"$out/pid\"
"
    );
    let attended = connection.attended(&place, &command(args, directory, binary, context), |stderr| {
        relay(stderr, std::io::stderr())
    })?;
    let code = attended.status.code().unwrap_or(-1);
    if attended.is_lost() {
        let failure = format!(
            "the connection to {host} is lost; Assay there was told to stop, and what it recorded is in \
             ~/.cache/assay/runs/{token} there"
        );
        return Err(Failure::failed(failure));
    }
    let fetched = login::fetch(connection, &token)?;
    let Some(fetched) = fetched else {
        return Err(nothing_measured(host, code, &attended.stderr));
    };
    let finished = arrived::keep(&fetched, host, context)?;
    login::forget(connection, &token);
    let said = attended.stderr;
    match (code, said.is_empty()) {
        (0 | 3 | 5, _) => Ok(finished),
        // The run itself says that it failed, and why.
        _ if finished.error.is_some() => Ok(finished),
        (_, false) => Err(Failure::failed(format!("{host}: {said}"))),
        (_, true) => Err(Failure::failed(format!("{host}: Assay ended with status {code}"))),
    }
}

fn nothing_measured(host: &str, code: i32, said: &str) -> Failure {
    match code {
        5 => Failure::Interrupted,
        2 if !said.is_empty() => Failure::usage(format!("{host}: {said}")),
        _ if !said.is_empty() => Failure::failed(format!("{host}: {said}")),
        _ => Failure::failed(format!("{host}: Assay ended with status {code} and left no run")),
    }
}

/// The command there, as text for its shell. `$cache` and `$out` are set.
fn command(args: &QuickArgs, directory: &str, binary: &Program, context: &Context) -> String {
    let served = if context.live { "live" } else { "plain" };
    let mut words =
        vec![format!("{SERVED_VARIABLE}={served}"), format!("COLUMNS={}", context.error_style.width)];
    if !context.error_style.unicode {
        words.push("LC_ALL=C".to_owned());
    }
    words.push(format!("\"$cache/bin/\"{} quick --out \"$out\"", quoted(&binary.name())));
    words.push(format!("--series {} --repeat {}", quoted(&args.series), args.repeat));
    words.push(format!("--color {}", if context.error_style.colour { "always" } else { "never" }));
    words.extend(args.test.as_ref().map(|test| format!("--test={}", quoted(test))));
    words.extend(args.seed.map(|seed| format!("--seed {seed}")));
    words.extend(args.window.as_ref().map(|window| format!("--window={}", quoted(&window.to_string()))));
    words.extend(args.thorough.then(|| "--thorough".to_owned()));
    words.extend(context.quiet.then(|| "--quiet".to_owned()));
    words.push(format!("--json -- {directory} >/dev/null"));
    words.join(" ")
}
