//! Judges the requests of a folder with a built policy and shows the answers: `demo annotated-policy.wasm examples`

use std::error::Error;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::{env, fs};

use managed_by_engine::examples::{self, Example};
use managed_by_engine::{Policy, Verdict};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        return Err("usage: demo MODULE FOLDER".into());
    };
    let policy = Policy::load(&fs::read(module)?)?;
    let mut out = io::stdout().lock();
    let paint = Paint {
        colour: out.is_terminal() && env::var_os("NO_COLOR").is_none(),
    };
    let (mut allowed, mut denied) = (0_usize, 0_usize);
    let mut topic = String::new();
    for example in examples::read(Path::new(folder))? {
        if topic != example.topic() {
            example.topic().clone_into(&mut topic);
            writeln!(out, "{}\n", paint.paint("1;4", &topic))?;
        }
        let verdict = policy.validate(&example.request, &example.settings)?;
        let count = if verdict.accepted {
            &mut allowed
        } else {
            &mut denied
        };
        *count = count.saturating_add(1);
        show(&mut out, &paint, &example, &verdict)?;
    }
    writeln!(out, "{allowed} allowed, {denied} denied")?;
    Ok(())
}

/// Colour, where somebody looks.
struct Paint {
    colour: bool,
}

impl Paint {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

fn show(
    out: &mut impl Write,
    paint: &Paint,
    example: &Example,
    verdict: &Verdict,
) -> io::Result<()> {
    let (code, word) = if verdict.accepted {
        ("32", "allowed")
    } else {
        ("31", "denied ")
    };
    let title = example.title();
    writeln!(
        out,
        "{}  {}",
        paint.paint(code, word),
        paint.paint("1", &title)
    )?;
    writeln!(out, "         {}", what(&example.request))?;
    if let Some(name) = &example.settings_name {
        writeln!(out, "         with the settings {name}")?;
    } else if example.settings.as_object().is_some_and(|s| !s.is_empty()) {
        writeln!(out, "         with settings {}", example.settings)?;
    }
    if let Some(message) = &verdict.message {
        writeln!(out, "         {message}")?;
    }
    for warning in verdict.warnings.iter().flatten() {
        writeln!(out, "         {} {warning}", paint.paint("33", "Warning:"))?;
    }
    writeln!(out)
}

/// `UPDATE of Job default/pi (status) by ana`
fn what(request: &Value) -> String {
    let text = |pointer: &str| {
        request
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let status = match text("/subResource") {
        "" => String::new(),
        sub_resource => format!(" ({sub_resource})"),
    };
    format!(
        "{} of {} {}/{}{status} by {}",
        text("/operation"),
        text("/kind/kind"),
        text("/namespace"),
        text("/name"),
        text("/userInfo/username"),
    )
}
