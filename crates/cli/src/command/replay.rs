//! `managed-by replay`: evaluates recorded history.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use managed_by_offline::replay::{ObjectName, Said, Seen, Step};
use managed_by_offline::{MalformedText, Replay, Unjudged, Why};

use super::settings::Chosen;
use crate::args::{self, Output};
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::Input;
use crate::output;
use crate::report::Outcome;
use crate::stop;
use crate::stream::each_batch;
use crate::summary::Summary;
use crate::words::{count_of, number};

/// Maximum number of skipped records that are reported individually, per reason and file.
const TOLD: u64 = 3;

/// The consumer of documents.
struct Sink<'r> {
    replay: Replay<'r>,
    summary: Summary,
    /// Number of requests with findings to print in full. If unset, requests from a pipe are printed as they arrive.
    show: Option<usize>,
    /// Number of requests printed.
    shown: usize,
    format: Output,
    told: Told,
}

/// Evaluates the history in files.
pub(super) fn run(asked: &args::Replay, quiet: bool) -> Result<Exit, CliError> {
    let (judging, format) = (&asked.judging, asked.printing.output);
    let chosen = Chosen::new(judging)?;
    let inputs: Vec<Input> = asked.files.iter().map(|file| Input::new(file)).collect();
    let mut sink = Sink {
        replay: Replay::new(chosen.judge()?),
        summary: Summary {
            release: chosen.release(),
            files: inputs.iter().map(|input| Arc::clone(&input.name)).collect(),
            ..Summary::default()
        },
        show: asked.show,
        shown: 0,
        format,
        told: Told::default(),
    };
    stop::on_signals();
    let bar = bar(&inputs, quiet);
    bar.set_message(so_far(0, 0));
    each_batch(&inputs, &bar, |batch| {
        let batch = match batch {
            Ok(batch) => batch,
            Err(empty) if empty.kind == Kind::Empty && judging.allow_empty => return Ok(Vec::new()),
            Err(malformed) => {
                sink.summary.unreadable.push(malformed.clone());
                sink.told.add(malformed, format);
                return Ok(Vec::new());
            }
        };
        let mut steps = Vec::new();
        let waiting = sink
            .replay
            .parts(&batch.parts(), batch.held, |step| steps.push(step));
        for step in steps {
            let is_piped = inputs.get(step.seen.source).is_some_and(Input::is_stdin);
            bar.suspend(|| sink.step(step, is_piped))?;
        }
        let denied = sink.replay.tally().denied;
        bar.set_message(so_far(sink.replay.live(), denied));
        Ok(waiting)
    })?;
    bar.finish_and_clear();
    sink.told.tell_the_rest(&sink.summary.files, format);
    let mut summary = sink.summary;
    summary.tally = sink.replay.tally().clone();
    summary.unjudged = sink.told.all;
    output::print_replay(&summary, format, quiet, judging.allow_empty)?;
    Ok(summary.exit(judging))
}

/// Returns the progress bar of a run, on standard error if that is a terminal.
pub(super) fn bar(inputs: &[Input], quiet: bool) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    progress(inputs, target)
}

/// Returns a progress bar by bytes read, or a spinner if a file's size is unknown.
fn progress(inputs: &[Input], target: ProgressDrawTarget) -> ProgressBar {
    let sizes = inputs
        .iter()
        .map(|input| input.open().ok().and_then(|(_, size)| size));
    let size: Option<u64> = sizes.sum();
    let bar = ProgressBar::with_draw_target(size, target);
    let template = match size {
        Some(_) => "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {msg}, {eta} left",
        None => "{spinner} {bytes} {bytes_per_sec}, {msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Formats the message next to the progress bar.
fn so_far(objects: usize, denials: u64) -> String {
    let (objects, denials) = (count_of(objects, "object"), count_of(denials, "denial"));
    format!("{objects}, {denials}")
}

impl Sink<'_> {
    fn step(&mut self, step: Step, is_piped: bool) -> io::Result<()> {
        let file = self.summary.files.get(step.seen.source).cloned();
        let file = file.unwrap_or_else(|| Arc::from(""));
        let line = usize::try_from(step.seen.line).unwrap_or(usize::MAX);
        match step.said {
            Said::Unjudged(unjudged) => {
                self.told
                    .tell(&file, &step.seen, &step.object, &unjudged, self.format);
                Ok(())
            }
            Said::Found(request) => {
                // Results from a pipe are printed as they arrive, because the pipe may stay open.
                let is_live = is_piped && self.format == Output::Text;
                let most = self.show.unwrap_or(if is_live { usize::MAX } else { 0 });
                if self.format != Output::Ndjson && self.shown >= most {
                    return Ok(());
                }
                self.shown = self.shown.saturating_add(1);
                let mut outcome =
                    Outcome::new(&file, step.object, request.asks, request.judgement, |_| {
                        None
                    });
                outcome.user = request.user;
                outcome.time = step.seen.time;
                outcome.place = Some(Span::line(line));
                if self.format == Output::Ndjson {
                    return output::json::line(&mut io::stdout().lock(), &outcome);
                }
                if is_live {
                    let mut out = anstream::AutoStream::auto(io::stdout()).lock();
                    output::text::outcome(&mut out, &outcome)?;
                    return out.flush();
                }
                self.summary.shown.push(outcome);
                Ok(())
            }
        }
    }
}

/// Reported problems, limited in number.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Number of occurrences per file and reason.
    counts: BTreeMap<(usize, Why), u64>,
    /// Number of unreadable files.
    files: u64,
    /// Problems that were reported.
    all: Vec<Diagnostic>,
}

impl Told {
    /// Reports a record that could not be evaluated, up to the limit for its file and reason.
    pub(super) fn tell(
        &mut self,
        file: &Arc<str>,
        seen: &Seen,
        object: &ObjectName,
        unjudged: &Unjudged,
        format: Output,
    ) {
        let count = self.counts.entry((seen.source, unjudged.why)).or_default();
        *count = count.saturating_add(1);
        if *count <= TOLD {
            let line = usize::try_from(seen.line).unwrap_or(usize::MAX);
            let text = match &*object.kind {
                "" => unjudged.text.clone(),
                _ => format!("{object}: {}", unjudged.text),
            };
            let malformed = MalformedText::at(line, 0, text);
            self.push(Diagnostic::new(file, malformed), format);
        }
    }

    /// Returns the number of problems.
    pub(super) fn count(&self) -> u64 {
        let counts = self.counts.values().copied();
        counts.fold(self.files, u64::saturating_add)
    }

    /// Reports an unreadable file.
    pub(super) fn add(&mut self, unreadable: Diagnostic, format: Output) {
        self.files = self.files.saturating_add(1);
        self.push(unreadable, format);
    }

    fn push(&mut self, unjudged: Diagnostic, format: Output) {
        output::tell_unjudged(&unjudged, format);
        self.all.push(unjudged);
    }

    /// Reports the numbers of problems that were not reported individually.
    pub(super) fn tell_the_rest(&mut self, files: &[Arc<str>], format: Output) {
        for ((source, why), count) in std::mem::take(&mut self.counts) {
            let more = count.saturating_sub(TOLD);
            let file = files.get(source);
            if let Some(file) = file.filter(|_| more > 0) {
                let text = format!("{} more: {}", number(more), why.as_text());
                self.push(Diagnostic::new(file, MalformedText::whole(text)), format);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use indicatif::{InMemoryTerm, ProgressDrawTarget, TermLike};

    use super::{Input, progress, so_far};

    #[test]
    fn the_bar_shows_bytes_objects_denials_and_the_time_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.ndjson");
        fs::write(&file, vec![b' '; 4096]).unwrap();
        let terminal = InMemoryTerm::new(4, 100);
        let shown_of = |inputs: &[Input]| {
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let bar = progress(inputs, target);
            bar.set_message(so_far(2, 1));
            bar.set_position(1024);
            bar.force_draw();
            let shown = terminal.contents();
            bar.finish_and_clear();
            assert_eq!(terminal.contents(), "", "{} columns", terminal.width());
            shown
        };
        let shown = shown_of(&[Input::new(&file)]);
        let bar = format!("{}{} 1.00 KiB/4.00 KiB ", "█".repeat(7), "░".repeat(23));
        assert!(shown.starts_with(&bar), "{shown}");
        assert!(shown.contains(", 2 objects, 1 denial, "), "{shown}");
        assert!(shown.ends_with(" left"), "{shown}");
        let shown = shown_of(&[Input::new("-".as_ref())]);
        assert!(
            shown.contains(" 1.00 KiB ") && !shown.contains("left"),
            "{shown}"
        );
    }
}
