//! The program `managed-by`.

use std::process::ExitCode;

fn main() -> ExitCode {
    managed_by_cli::main()
}
