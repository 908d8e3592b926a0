//! Checks manifests, changes and recordings without a cluster.
//!
//! A command reads files, evaluates them with `managed-by-offline`, and fills a [`report::Report`]; [`output`] prints it. All verdicts
//! come from the library.

#![expect(clippy::missing_errors_doc, reason = "the error says what failed")]

pub mod args;
pub mod command;
pub mod config;
mod counts;
mod exception;
mod files;
mod fix;
mod git;
mod hint;
mod kustomize;
pub mod output;
mod recording;
pub mod report;
mod result;
mod working_tree;
