//! Messages on standard error.

use std::fmt;
use std::io::Write as _;

/// Writes to standard error like `eprint!`, but does not panic if it can't be written, for example because the disk is full. The exit
/// status does not depend on messages.
#[macro_export]
macro_rules! stderr {
    ($($arg:tt)*) => { $crate::stderr::write(format_args!($($arg)*)) };
}

pub fn write(text: fmt::Arguments<'_>) {
    let _ = anstream::stderr().write_fmt(text);
}
