//! `make demo`: reviews the example requests with the built policy and prints the responses.

use std::io::{self, Write};

use anyhow::Result;
use managed_by_testing::Policy;
use managed_by_testing::examples::{self, ExampleRequest};
use managed_by_testing::library::ValidationResponse;
use serde_json::Value;

/// Writes each example request with the policy's response, and the numbers of allowed and denied requests.
pub(crate) fn run(out: &mut impl Write, policy: &Policy) -> Result<()> {
    let (mut allowed, mut denied) = (0_usize, 0_usize);
    let mut topic = String::new();
    for example in examples::all()? {
        if topic != example.topic() {
            example.topic().clone_into(&mut topic);
            writeln!(out, "{}\n", paint("1;4", &topic))?;
        }
        let response = policy.validate(&example.request, &example.settings)?;
        let count = if response.allowed {
            &mut allowed
        } else {
            &mut denied
        };
        *count = count.saturating_add(1);
        show(out, &example, &response)?;
    }
    writeln!(out, "{allowed} allowed, {denied} denied")?;
    Ok(())
}

/// Adds a color, which `anstream` removes unless the output is a terminal.
fn paint(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

fn show(
    out: &mut impl Write,
    example: &ExampleRequest,
    response: &ValidationResponse,
) -> io::Result<()> {
    let (color, verdict) = if response.allowed {
        ("32", "allowed")
    } else {
        ("31", "denied ")
    };
    let title = example.title();
    writeln!(out, "{}  {}", paint(color, verdict), paint("1", &title))?;
    writeln!(out, "         {}", summary(&example.request))?;
    if let Some(name) = &example.settings_name {
        writeln!(out, "         with the settings {name}")?;
    } else if example.settings.as_object().is_some_and(|s| !s.is_empty()) {
        writeln!(out, "         with settings {}", example.settings)?;
    }
    if let Some(message) = &response.message {
        writeln!(out, "         {message}")?;
    }
    for warning in &response.warnings {
        writeln!(out, "         {} {warning}", paint("33", "Warning:"))?;
    }
    writeln!(out)
}

/// Formats a request: `UPDATE of Job default/pi (status) by ana`.
fn summary(request: &Value) -> String {
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
