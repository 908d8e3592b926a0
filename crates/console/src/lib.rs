//! Shared parts of the commands: input, settings, diagnostics, and text that is safe to print.

#![expect(clippy::missing_errors_doc, reason = "the error says what failed")]

pub mod diagnostic;
pub mod escape;
pub mod exit;
pub mod format;
pub mod input;
pub mod interrupt;
pub mod print;
pub mod recording;
pub mod settings;
pub mod stderr;
pub mod stream;
pub mod table;
pub mod value;

/// Used by [`stderr!`].
#[doc(hidden)]
pub use stderr::write;
