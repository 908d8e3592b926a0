//! Reads recordings, with a progress bar and a limited number of reported problems.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use managed_by_offline::replay::ObjectRef;
use managed_by_offline::{MalformedText, RecordPosition, SkipReason, SkippedRecord};

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::format::number;
use crate::input::Input;
use crate::print::print_diagnostics;
use crate::stream::{Batch, each_batch};

/// Maximum number of skipped records that are reported individually, per reason and file.
const MAX_REPORTED: u64 = 3;

pub struct Recording {
    pub inputs: Vec<Input>,
    pub files: Vec<Arc<str>>,
    /// Progress on standard error, if that is a terminal.
    pub bar: ProgressBar,
}

impl Recording {
    pub fn new(paths: &[PathBuf], quiet: bool) -> Self {
        let inputs: Vec<Input> = paths.iter().map(|path| Input::new(path)).collect();
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        Self {
            files: inputs.iter().map(|input| Arc::clone(&input.name)).collect(),
            bar: progress_bar(&inputs, target),
            inputs,
        }
    }

    /// Passes batches of documents to a callback (see [`each_batch`]) and reports errors about files and suppressed errors.
    pub fn read(
        &self,
        errors: &mut Errors,
        allow_empty: bool,
        mut each: impl FnMut(&Batch, &mut Errors) -> io::Result<Vec<usize>>,
    ) -> io::Result<()> {
        let file_errors = each_batch(&self.inputs, &self.bar, |batch| each(batch, errors))?;
        self.bar.finish_and_clear();
        for error in file_errors {
            if !(allow_empty && error.kind == DiagnosticKind::Empty) {
                errors.total = errors.total.saturating_add(1);
                errors.report(error);
            }
        }
        errors.report_suppressed();
        Ok(())
    }
}

/// Returns a progress bar by bytes read, or a spinner if a file's size is unknown.
fn progress_bar(inputs: &[Input], target: ProgressDrawTarget) -> ProgressBar {
    let size_of = |input: &Input| input.open().ok().and_then(|(_, size)| size);
    let size: Option<u64> = inputs.iter().map(size_of).sum();
    let template = match size {
        Some(_) => "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {msg}, {eta} left",
        None => "{spinner} {bytes} {bytes_per_sec}, {msg}",
    };
    let bar = ProgressBar::with_draw_target(size, target);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Errors in a recording. The number of reported errors is limited.
pub struct Errors {
    files: Vec<Arc<str>>,
    /// False if the output contains the errors.
    is_printed: bool,
    /// Number of skipped records per file and reason.
    counts: BTreeMap<(usize, SkipReason), u64>,
    /// Number of errors, including suppressed ones.
    pub total: u64,
    pub reported: Vec<Diagnostic>,
}

impl Errors {
    pub fn new(files: &[Arc<str>], is_printed: bool) -> Self {
        Self {
            files: files.to_owned(),
            is_printed,
            counts: BTreeMap::new(),
            total: 0,
            reported: Vec::new(),
        }
    }

    /// Reports a skipped record, up to the limit for its file and reason.
    pub fn report_skipped(
        &mut self,
        position: &RecordPosition,
        object: &ObjectRef,
        skipped: &SkippedRecord,
    ) {
        let count = self
            .counts
            .entry((position.source, skipped.reason))
            .or_default();
        *count = count.saturating_add(1);
        self.total = self.total.saturating_add(1);
        if *count > MAX_REPORTED {
            return;
        }
        if let Some(file) = self.files.get(position.source) {
            let text = match &*object.kind {
                "" => skipped.text.clone(),
                _ => format!("{object}: {}", skipped.text),
            };
            let line = usize::try_from(position.line).unwrap_or(usize::MAX);
            let error = Diagnostic::new(file, MalformedText::at(line, 0, text));
            self.report(error.with_reason(skipped.reason));
        }
    }

    fn report(&mut self, error: Diagnostic) {
        if self.is_printed {
            print_diagnostics([&error]);
        }
        self.reported.push(error);
    }

    /// Reports the numbers of errors that were not reported individually.
    fn report_suppressed(&mut self) {
        for ((source, reason), count) in std::mem::take(&mut self.counts) {
            let more = count.saturating_sub(MAX_REPORTED);
            if let Some(file) = self.files.get(source).filter(|_| more > 0) {
                let words = reason.to_string().replace('-', " ");
                let text = format!("{} more: {words}", number(more));
                self.report(Diagnostic::of_file(file, text).with_reason(reason));
            }
        }
    }
}
