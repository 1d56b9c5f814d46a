//! `--live`: a whole screen, as a terminal of tmux shows it.

use std::process::Command;

use crate::bounded::Bounded as _;
use crate::skip;
use crate::world::{TEST, World, path_text, wait_for};

/// A terminal with the program in it; it goes with the value.
struct Pane {
    socket: String,
}

impl Pane {
    /// Runs `words` in a shell of a terminal of that size; `None` where there is no tmux, which is declared as a skip.
    fn start(world: &World, (columns, rows): (u16, u16), words: &str) -> Option<Pane> {
        let version = Command::new("tmux").arg("-V").output_in_time();
        if !version.is_ok_and(|version| version.status.success()) {
            skip::declare("tmux", "no tmux");
            return None;
        }
        let pane = Pane { socket: path_text(&world.path().join("tmux")).to_owned() };
        let (x, y) = (columns.to_string(), rows.to_string());
        // The shell stays behind the program: what it left on the terminal is seen.
        let shell = format!("{words}; echo ended with $?; exec sleep 100");
        pane.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &x, "-y", &y, "sh", "-c", &shell]);
        Some(pane)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(words);
        let said = command.env("LC_ALL", "C.UTF-8").output_in_time().expect("tmux starts");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    #[track_caller]
    fn shows(&self, words: &str) -> String {
        wait_for(words, || self.shown().contains(words));
        self.shown()
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// A quick series with a whole screen, as a line for a shell.
fn line(world: &World, variables: &str, window: &str) -> String {
    let (home, runs, data) = (world.home(), world.runs(), world.data());
    format!(
        "env {variables} HOME={} ASSAY_RUNS={} {} quick {} --live --test '{TEST}' --window {window} --seed 1",
        path_text(&home),
        path_text(&runs),
        env!("CARGO_BIN_EXE_assay"),
        path_text(&data)
    )
}

#[test]
fn the_screen_fits_its_terminal_and_leaves_it_as_it_was() {
    for (columns, rows) in [(80, 24), (100, 30), (160, 45)] {
        let world = World::new();
        let Some(pane) = Pane::start(&world, (columns, rows), &line(&world, "LC_ALL=C.UTF-8", "3s")) else {
            return;
        };
        let screen = pane.shows("Ctrl-C stops the run");
        let screen = if screen.contains("p99, up to") { screen } else { pane.shows("p99, up to") };
        for words in ["IOPS", "p99.9", "bandwidth", "phase 1 of 1", " left"] {
            assert!(screen.contains(words), "{columns} columns: {words} in\n{screen}");
        }
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
        let end = pane.shows("ended with 0");
        assert!(!end.contains("Ctrl-C stops"), "the screen is gone:\n{end}");
        assert!(end.contains("Verdict:"), "the result stands where the command was given:\n{end}");
    }
}

#[test]
fn a_window_that_changes_is_followed() {
    let world = World::new();
    let Some(pane) = Pane::start(&world, (100, 30), &line(&world, "LC_ALL=C.UTF-8", "6s")) else { return };
    pane.shows("p99, up to");
    pane.tmux(&["resize-window", "-x", "60", "-y", "20"]);
    wait_for("a smaller screen", || {
        let shown = pane.shown();
        shown.lines().count() <= 20 && shown.contains("Ctrl-C stops") && shown.contains("p99, up to")
    });
    // Hardly any room: where it stands, and how fast.
    pane.tmux(&["resize-window", "-x", "30", "-y", "6"]);
    wait_for("a few lines", || {
        let shown = pane.shown();
        shown.contains("1/1") && shown.contains("IOPS") && !shown.contains("Ctrl-C stops")
    });
}

#[test]
fn signals_give_the_terminal_back() {
    let world = World::new();
    let Some(pane) = Pane::start(&world, (80, 24), &line(&world, "NO_COLOR=1 LC_ALL=C", "30s")) else {
        return;
    };
    let screen = pane.shows("p99, up to");
    assert!(screen.is_ascii(), "a terminal without Unicode gets none:\n{screen}");
    let coloured = pane.tmux(&["capture-pane", "-p", "-e"]);
    for colour in ["\u{1b}[31m", "\u{1b}[33m", "\u{1b}[35m", "\u{1b}[36m"] {
        assert!(!coloured.contains(colour), "NO_COLOR: {coloured:?}");
    }
    pane.tmux(&["send-keys", "C-c"]);
    let end = pane.shows("ended with 5");
    assert!(!end.contains("Ctrl-C stops") && end.contains("incomplete"), "{end}");
    assert_eq!(pane.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim(), "0 1");
}

#[test]
fn a_second_signal_gives_it_back_too() {
    let world = World::new();
    let Some(pane) = Pane::start(&world, (80, 24), &line(&world, "LC_ALL=C.UTF-8", "30s")) else { return };
    pane.shows("p99, up to");
    pane.tmux(&["send-keys", "C-c", "C-c", "C-c"]);
    pane.shows("ended with");
    wait_for("the terminal", || {
        pane.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]).trim() == "0 1"
    });
}

#[test]
fn where_there_is_no_terminal_a_line_has_to_do() {
    let world = World::new();
    let said = world.quick(&["--live"]).ended(0);
    assert!(!said.err.contains('\u{1b}') && said.out.contains("Verdict:"), "{}", said.err);
}
