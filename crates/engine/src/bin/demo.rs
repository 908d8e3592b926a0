//! Judges the requests of a folder with a built policy and shows the answers: `demo annotated-policy.wasm examples`

use std::error::Error;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::{env, fs};

use managed_by_engine::Policy;
use managed_by_engine::demo::{self, Paint};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        return Err("usage: demo MODULE FOLDER".into());
    };
    let policy = Policy::load(&fs::read(module)?)?;
    let mut out = io::stdout().lock();
    let is_looked_at = out.is_terminal() && env::var_os("NO_COLOR").is_none();
    let paint = if is_looked_at {
        Paint::Coloured
    } else {
        Paint::Plain
    };
    demo::run(&mut out, paint, &policy, Path::new(folder))
}
