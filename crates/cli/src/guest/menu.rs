//! What a person at the console can do.

use super::offer::Until;
use super::settings::{Mode, Out};
use super::{Guest, disks, handed_out, system};

const TEXT: &str = "
  1  run the suite: four fio profiles, mail, OLTP (hours)
  2  run it with short steps (minutes): shows that everything works
  3  show the disks
  4  list the results
  5  show a result
  6  copy the results out: serial line, virtio-serial port, FAT partition
  7  copy the results over the network: DHCP, and HTTP with a token, until Enter is pressed
  8  turn the machine off
  9  start the machine again
";

/// Talks with the user at the console, until the machine is turned off.
pub(super) fn talk(guest: &Guest) -> ! {
    loop {
        guest.console.say(TEXT);
        match guest.console.ask("what? ").as_str() {
            "1" => run(guest, Mode::Suite),
            "2" => run(guest, Mode::Short),
            "3" => show_disks(guest),
            "4" => command(guest, &["runs"]),
            "5" => {
                let id = guest.console.ask("the start of its id: ");
                command(guest, &["runs", "show", &id]);
            }
            "6" => copy_out(guest),
            "7" => over_network(guest),
            "8" => system::turn_off(),
            "9" => system::start_again(),
            "" => {}
            other => guest.console.say(&format!("'{other}': a number from 1 to 9")),
        }
    }
}

/// Asks for a disk by name where none is empty.
fn run(guest: &Guest, mode: Mode) {
    show_disks(guest);
    let answer = guest.console.ask("format a disk that is not empty? its name, or nothing: ");
    let destroy = if answer.is_empty() { Vec::new() } else { vec![answer] };
    let settings = super::Settings { destroy, out: Vec::new(), ..guest.settings.clone() };
    guest.measure(mode, &settings);
}

fn show_disks(guest: &Guest) {
    for disk in disks::all(&guest.image.disk) {
        let own = if disk.is_own { ", the machine's own" } else { "" };
        guest.console.say(&format!("  {}  {}{own}", disk.name, assay_workload::units::Bytes(disk.bytes)));
    }
}

fn command(guest: &Guest, words: &[&str]) {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("assay").args(words).env("ASSAY_RUNS", super::RUNS).env("HOME", "/home");
    match command.stdin(std::process::Stdio::null()).output() {
        Ok(output) => {
            guest.console.say(&String::from_utf8_lossy(&output.stdout));
            guest.console.say(&String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => guest.console.say(&error.to_string()),
    }
}

fn copy_out(guest: &Guest) {
    let ways = [("s", Out::Serial), ("v", Out::Virtio), ("f", Out::Disk)];
    let answer =
        guest.console.ask("s: serial line, v: virtio-serial port, f: FAT partition of the system disk: ");
    let Some((_, way)) = ways.into_iter().find(|(letter, _)| *letter == answer) else {
        return guest.console.say("s, v or f");
    };
    let all = disks::all(&guest.image.disk);
    let files = handed_out::files("", &guest.console);
    handed_out::hand_out(&files, &[way], (&all, &guest.console));
}

fn over_network(guest: &Guest) {
    let files = handed_out::files("", &guest.console);
    handed_out::over_network(&files, Until::Enter, &guest.console);
}
