//! Assay as the first process of a virtual machine that `assay vm build` made: it finds disks, runs the suite, hands results out, and
//! turns the machine off. Other commands are started as processes of their own, of the same program.

use std::path::Path;

use assay_vm::suite::Image;

mod console;
mod disks;
mod handed_out;
mod menu;
mod network;
mod offer;
mod ports;
pub(crate) mod settings;
mod sheet;
pub(crate) mod suite;
mod system;

use console::Console;
use settings::{Mode, Settings};

/// What an image says of itself.
pub(crate) const IMAGE: &str = "/assay/image.json";
/// Where runs are kept until the machine is turned off.
const RUNS: &str = "/runs";
/// Where the data disk's file system is.
const DATA: &str = "/data";

/// Whether this process is the first one of such a machine.
pub(crate) fn is_first_process() -> bool {
    std::process::id() == 1 && Path::new(IMAGE).exists()
}

/// The machine's life. What goes wrong is said on the console: there is nobody else.
pub(crate) fn first_process() -> ! {
    let image = system::image();
    let notes = system::begin(image.as_ref());
    let console = Console::open();
    let suite = image.as_ref().map_or("?", |image| &image.suite);
    console.say(&format!("\nAssay VM, suite {suite}, up after {}", system::uptime()));
    notes.iter().for_each(|note| console.say(note));
    match image {
        Ok(image) => Guest::new(image, console).live(),
        Err(why) => {
            console.say(&why);
            system::turn_off()
        }
    }
}

/// The machine.
struct Guest {
    image: Image,
    console: Console,
    settings: Settings,
}

impl Guest {
    fn new(image: Image, console: Console) -> Self {
        let disks = disks::all(&image.disk);
        let (settings, said) = settings::found(&disks);
        said.iter().for_each(|line| console.say(line));
        Guest { image, console, settings }
    }

    fn live(&self) -> ! {
        match self.settings.run {
            None if ports::find(ports::WORKER).is_some() => ports::serve(&self.console),
            None => menu::talk(self),
            Some(mode) => {
                self.console.say(&format!("settings: {}", self.settings));
                self.measure(mode, &self.settings);
                if self.settings.power_off {
                    system::turn_off();
                }
                menu::talk(self)
            }
        }
    }

    /// Runs the suite on the data disk, shows the sheet and hands everything out as the settings say.
    fn measure(&self, mode: Mode, settings: &Settings) {
        let disks = disks::all(&self.image.disk);
        let mounted = disks::prepare(&disks, &settings.destroy, DATA);
        let disk = match mounted {
            Ok(disk) => disk,
            Err(why) => return self.console.say(&format!("the suite cannot run: {why}")),
        };
        self.console.say(&format!("testing {disk}, with an ext4 file system on it"));
        let done = suite::run(mode, &self.console);
        let sheet = sheet::text(&done, mode, &self.image);
        self.console.say(&sheet);
        let files = handed_out::files(&sheet, &self.console);
        handed_out::hand_out(&files, &settings.out, (&disks, &self.console));
        disks::release(DATA);
        self.console.say("the suite has ended");
    }
}
