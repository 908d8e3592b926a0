//! Prints diagnostics.

use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};

use crate::diagnostic::{self, Diagnostic, SourceLine};
use crate::escape::{escape_control, replace_control};
use crate::stderr;

pub fn level(level: diagnostic::Level) -> Level<'static> {
    match level {
        diagnostic::Level::Error => Level::ERROR,
        diagnostic::Level::Warning => Level::WARNING,
        diagnostic::Level::Note => Level::NOTE,
    }
}

pub fn snippet<'s>(
    file: &'s str,
    line: usize,
    source: &'s SourceLine,
) -> Snippet<'s, Annotation<'s>> {
    Snippet::source(replace_control(&source.text))
        .line_start(line)
        .path(escape_control(file))
        .annotation(AnnotationKind::Primary.span(source.span.clone()))
}

/// Formats a diagnostic, with the line of the file if it is known.
pub fn render_diagnostic(diagnostic: &Diagnostic) -> String {
    let text = escape_control(&diagnostic.message);
    let Some(source) = &diagnostic.source else {
        let (level, position) = (diagnostic.level(), diagnostic.position());
        return format!("{level}: {}: {text}\n", escape_control(&position));
    };
    let snippet = snippet(&diagnostic.file, diagnostic.line, source);
    let group = level(diagnostic.level())
        .primary_title(text)
        .element(snippet);
    format!("{}\n\n", Renderer::styled().render(&[group]))
}

pub fn print_diagnostics<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
    for diagnostic in diagnostics {
        stderr!("{}", render_diagnostic(diagnostic));
    }
}

/// Returns the severity of a run without evaluations.
pub fn nothing_evaluated_level(allow_empty: bool) -> diagnostic::Level {
    if allow_empty {
        diagnostic::Level::Note
    } else {
        diagnostic::Level::Error
    }
}
