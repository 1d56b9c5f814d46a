//! Where fio comes from: what to type, and, when asked to, doing it.

use std::process::Command;

use assay_engine::fio_bridge::Fio;

use crate::context::Context;
use crate::failure::Failure;

/// Programs that install packages, with their words before the package.
const INSTALLERS: [(&str, &[&str]); 7] = [
    ("apt-get", &["install", "-y"]),
    ("dnf", &["install", "-y"]),
    ("yum", &["install", "-y"]),
    ("zypper", &["--non-interactive", "install"]),
    ("pacman", &["-S", "--noconfirm"]),
    ("apk", &["add"]),
    ("pkg", &["install", "-y"]),
];

/// The fio of this machine; where there is none, the one command that installs it, which `install` runs.
///
/// # Errors
/// [`Failure::Failed`] with that command.
pub(crate) fn find(install: bool, context: &Context) -> Result<Fio, Failure> {
    let search = std::env::var_os("PATH");
    let find = || Fio::find(search.as_deref()).map_err(Failure::failed);
    if let Some(fio) = find()? {
        return Ok(fio);
    }
    let exists = |program: &str| {
        let directories = search.iter().flat_map(std::env::split_paths);
        directories.into_iter().any(|directory| directory.join(program).exists())
    };
    let Some(words) = command(exists) else {
        return Err(Failure::failed(
            "fio is not installed, and no package manager is; see github.com/axboe/fio",
        ));
    };
    let root = rustix::process::geteuid().is_root();
    let typed = if root { words.join(" ") } else { format!("sudo {}", words.join(" ")) };
    if !install || !root {
        let hint = if install { " (--install-missing needs root)" } else { "" };
        return Err(Failure::failed(format!("fio is not installed: {typed}{hint}")));
    }
    context.say(&format!("installing fio: {typed}"));
    let status = Command::new(&words[0]).args(&words[1..]).stdout(std::io::stderr()).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(Failure::failed(format!("'{typed}' ended with {status}"))),
        Err(error) => return Err(Failure::failed(format!("cannot run '{typed}': {error}"))),
    }
    find()?.ok_or_else(|| Failure::failed(format!("'{typed}' has installed no fio that is found in PATH")))
}

/// The command that installs fio with the first package manager there is.
fn command(exists: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let (program, words) = INSTALLERS.iter().find(|(program, _)| exists(program))?;
    let words = words.iter().map(|word| (*word).to_owned());
    Some(std::iter::once((*program).to_owned()).chain(words).chain(["fio".to_owned()]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_command() {
        let typed = |program: &str| command(|name| name == program).map(|words| words.join(" "));
        assert_eq!(typed("apt-get").as_deref(), Some("apt-get install -y fio"));
        assert_eq!(typed("dnf").as_deref(), Some("dnf install -y fio"));
        assert_eq!(typed("pkg").as_deref(), Some("pkg install -y fio"));
        assert_eq!(typed("emerge"), None);
    }
}
