#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod checker;
mod layer;
mod write;

pub use layer::{WriteCheckLayer, WriteCheckService};
