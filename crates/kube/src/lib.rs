#![doc = include_str!("../README.md")]

mod checker;
mod layer;
mod write;

pub use layer::{WriteCheckLayer, WriteCheckService};
