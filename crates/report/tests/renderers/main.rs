//! Snapshots of every renderer on runs made by hand, and runs that no machine would make.

mod compare;
mod files;
mod grid;
mod hosts;
mod html;
mod numbers;
mod odd;
mod support;
mod terminal;
