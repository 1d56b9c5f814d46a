//! A container image of the running program, made without a daemon: a docker-archive that `ctr -n k8s.io images import`, `docker load`, `podman load`
//! and `skopeo copy docker-archive:` take. It holds the program alone, and what it is linked with.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::program::{OWN, Program, interpreter};

/// Where the program is in it.
pub const PROGRAM_PATH: &str = "assay/bin/assay";
/// What the guard asks what a device carries. Without them it refuses block devices.
const TOOLS: [&str; 2] = ["wipefs", "blkid"];
/// Where they are.
const TOOL_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// A file of the image.
struct Content {
    path: String,
    bytes: Vec<u8>,
}

/// The running program as an image.
pub struct Image {
    name: String,
    files: Vec<Content>,
    /// Names of the libraries that it is linked with; none: it is static.
    pub libraries: Vec<String>,
    /// The tools beside it, of this machine.
    pub tools: Vec<String>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Image { name, libraries, tools, .. } = self;
        f.debug_struct("Image")
            .field("name", name)
            .field("libraries", libraries)
            .field("tools", tools)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// The running program, as an image of this name (`localhost/assay:1`), with the tools that tell what a block device carries, where this
    /// machine has them. What is linked dynamically takes the libraries along that its own linker lists for it.
    ///
    /// # Errors
    /// That the program or a library cannot be read, or that a linker does not say what is needed.
    pub fn own(name: &str) -> io::Result<Self> {
        let program = Program::own()?;
        let mut image =
            Image { name: name.to_owned(), files: Vec::new(), libraries: Vec::new(), tools: Vec::new() };
        image.libraries = image.add(PROGRAM_PATH, &std::fs::read_link(OWN)?, program.content().to_vec())?;
        for tool in TOOLS {
            let found = TOOL_DIRECTORIES
                .iter()
                .map(|directory| Path::new(directory).join(tool))
                .find(|path| path.is_file());
            if let Some(path) = found {
                image.add(&format!("usr/sbin/{tool}"), &path, std::fs::read(&path)?)?;
                image.tools.push(tool.to_owned());
            }
        }
        Ok(image)
    }

    /// Adds a program with what it is linked with: the names of these libraries.
    fn add(&mut self, to: &str, path: &Path, bytes: Vec<u8>) -> io::Result<Vec<String>> {
        let linker = interpreter(&bytes);
        self.put(to, bytes);
        let Some(linker) = linker else { return Ok(Vec::new()) };
        let libraries = linked_with(&linker, path)?;
        for at in libraries.iter().map(|(_, at)| at).chain([&linker]) {
            let bytes =
                std::fs::read(at).map_err(|error| io::Error::other(format!("cannot read {at}: {error}")))?;
            self.put(at.trim_start_matches('/'), bytes);
        }
        Ok(libraries.into_iter().map(|(name, _)| name).collect())
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>) {
        if !self.files.iter().any(|file| file.path == path) {
            self.files.push(Content { path: path.to_owned(), bytes });
        }
    }

    /// Writes the archive.
    ///
    /// # Errors
    /// What writing says.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut layer = Vec::new();
        let mut made: Vec<String> = Vec::new();
        for file in &self.files {
            let parts: Vec<&str> = file.path.split('/').collect();
            for depth in 1..parts.len() {
                let directory = format!("{}/", parts[..depth].join("/"));
                if !made.contains(&directory) {
                    entry(&mut layer, &directory, 0o755, &[])?;
                    made.push(directory);
                }
            }
            entry(&mut layer, &file.path, 0o755, &file.bytes)?;
        }
        layer.write_all(&[0; 1024])?;
        let layer_sum = hexadecimal(&layer);
        // Without a time, the same program is the same image.
        let config = json!({
            "architecture": match std::env::consts::ARCH { "x86_64" => "amd64", "aarch64" => "arm64", other => other },
            "os": "linux",
            "config": { "Entrypoint": [format!("/{PROGRAM_PATH}")], "WorkingDir": "/" },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer_sum}")] },
            "history": [{ "created_by": "assay kube image" }],
        })
        .to_string();
        let config_name = format!("{}.json", hexadecimal(config.as_bytes()));
        let layer_name = format!("{layer_sum}/layer.tar");
        let manifest =
            json!([{ "Config": config_name, "RepoTags": [self.name], "Layers": [layer_name] }]).to_string();
        entry(to, &config_name, 0o644, config.as_bytes())?;
        entry(to, &layer_name, 0o644, &layer)?;
        entry(to, "manifest.json", 0o644, manifest.as_bytes())?;
        to.write_all(&[0; 1024])
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The libraries that the dynamic linker loads for a program: their names, and where they are. They stay where they are: that is where the same
/// linker looks for them.
fn linked_with(linker: &str, program: &Path) -> io::Result<Vec<(String, String)>> {
    let output = Command::new(linker).arg("--list").arg(program).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!(
            "{} is linked dynamically, and {linker} does not say with what ({said}); build a static one with 'make release'",
            program.display()
        )));
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f..)`.
fn listed(text: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = rest.split(" (").next()?.trim();
        path.starts_with('/').then(|| (name.to_owned(), path.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// One entry of a tar archive (POSIX.1-1988, ustar), with its padding.
fn entry(to: &mut dyn Write, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut header = [0_u8; 512];
    let (prefix, name) = if path.len() <= 100 {
        ("", path)
    } else {
        let at =
            path.match_indices('/').map(|(at, _)| at).find(|at| path.len() - at - 1 <= 100 && *at <= 155);
        at.map(|at| (&path[..at], &path[at + 1..]))
            .ok_or_else(|| io::Error::other(format!("{path}: too long for an archive")))?
    };
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{:011o}\0", bytes.len()).as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, if path.ends_with('/') { b"5" } else { b"0" });
    put(257, b"ustar\x0000");
    put(345, prefix.as_bytes());
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    to.write_all(&header)?;
    to.write_all(bytes)?;
    let over = bytes.len() % 512;
    if over > 0 { to.write_all(&[0; 512][over..]) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_read_by_tar() {
        let image = Image {
            name: "localhost/assay:t".to_owned(),
            files: vec![
                Content { path: PROGRAM_PATH.to_owned(), bytes: vec![7; 1000] },
                Content { path: "lib/libc.so.6".to_owned(), bytes: vec![8; 512] },
            ],
            libraries: vec!["libc.so.6".to_owned()],
            tools: Vec::new(),
        };
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("image.tar");
        image.write(&mut std::fs::File::create(&path).expect("a file")).expect("written");
        let tar = |args: &[&str]| {
            let output = Command::new("tar").args(args).arg("-f").arg(&path).output().expect("tar");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        let manifest: serde_json::Value =
            serde_json::from_slice(&tar(&["-xO", "manifest.json"])).expect("JSON");
        assert_eq!(manifest[0]["RepoTags"][0], "localhost/assay:t");
        let layer = manifest[0]["Layers"][0].as_str().expect("a layer");
        let inner = tar(&["-xO", layer]);
        assert_eq!(layer, format!("{}/layer.tar", hexadecimal(&inner)));
        std::fs::write(&path, inner).expect("written");
        let names = String::from_utf8(tar(&["-t"])).expect("text");
        assert_eq!(names, "assay/\nassay/bin/\nassay/bin/assay\nlib/\nlib/libc.so.6\n");
    }

    #[test]
    fn what_the_linker_lists_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        assert_eq!(listed(text), [("libc.so.6".to_owned(), "/lib/x86_64-linux-gnu/libc.so.6".to_owned())]);
    }
}
