//! `managed-by lint`: manifests, judged as if they were created, or as they are stored.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use managed_by::UserInfo;
use managed_by_requests::manifest::{self, Object};
use managed_by_requests::replay::ObjectName;
use managed_by_requests::{Document, Judge, Request, Trouble, decode};
use rayon::prelude::*;

use super::settings::Chosen;
use crate::Stop;
use crate::args::{Judging, Who};
use crate::input::{Input, files};
use crate::report::{Outcome, Report, Unjudged, place};

/// Judges the manifests of paths.
pub(super) fn run(paths: &[PathBuf], who: &Who, judging: &Judging) -> Result<Report, Stop> {
    let chosen = Chosen::new(judging)?;
    let judge = chosen.judge()?;
    let user = user(who);
    // The order of the files is kept.
    let reports: Vec<Report> = files(paths)
        .par_iter()
        .map(|file| match file {
            Ok(input) => lint(input, &judge, &who.namespace, &user),
            Err(unjudged) => Report {
                unjudged: vec![unjudged.clone()],
                ..Report::default()
            },
        })
        .collect();
    let mut all = Report::default();
    for report in reports {
        all.append(report);
    }
    Ok(all)
}

/// The user of the arguments.
pub(super) fn user(who: &Who) -> UserInfo<'_> {
    let groups = who.groups.iter();
    UserInfo {
        username: Cow::Borrowed(&who.user),
        groups: groups.map(|group| Cow::Borrowed(&**group)).collect(),
    }
}

fn lint(input: &Input, judge: &Judge<'_>, namespace: &str, user: &UserInfo<'_>) -> Report {
    let mut report = Report::default();
    let bytes = match input.bytes() {
        Ok(bytes) => bytes,
        Err(unjudged) => {
            report.unjudged.push(unjudged);
            return report;
        }
    };
    for_each_document(
        &input.name,
        &bytes,
        &mut report,
        |text, document, report| {
            let objects = match manifest::objects(document) {
                Ok(objects) => objects,
                Err(trouble) => {
                    report.unjudged.push(Unjudged::new(&input.name, trouble));
                    return;
                }
            };
            for object in objects {
                let name = object_name(&object, namespace);
                if !judge.knows(object.group(), object.version(), object.kind()) {
                    report.count_unknown(unknown_name(&name), 1);
                    continue;
                }
                let at = At {
                    file: &input.name,
                    text,
                    document,
                    object: &object,
                };
                at.add(judge, &object.alone(namespace, user), name, report);
            }
        },
    );
    report
}

/// Does something with each document of a file. What cannot be read is noted.
pub(super) fn for_each_document(
    name: &Arc<str>,
    bytes: &[u8],
    report: &mut Report,
    mut each: impl FnMut(&str, &Document<'_>, &mut Report),
) {
    let text = match decode(bytes) {
        Ok(text) if text.trim().is_empty() => {
            let trouble = Trouble::whole("is empty");
            report.unjudged.push(Unjudged::new(name, trouble));
            return;
        }
        Ok(text) => text,
        Err(trouble) => {
            report.unjudged.push(Unjudged::new(name, trouble));
            return;
        }
    };
    Document::each(text, |document| match document {
        Ok(document) => each(text, &document, report),
        Err(trouble) => report.unjudged.push(Unjudged::new(name, trouble)),
    });
}

/// The name of an object, in a namespace unless it names one itself.
pub(super) fn object_name(object: &Object<'_>, namespace: &str) -> ObjectName {
    let own = object.namespace();
    ObjectName {
        group: object.group().to_owned(),
        version: object.version().to_owned(),
        kind: object.kind().to_owned(),
        namespace: if own.is_empty() { namespace } else { own }.to_owned(),
        name: object.name().to_owned(),
    }
}

/// What an object of an unknown kind is counted as.
pub(super) fn unknown_name(object: &ObjectName) -> String {
    if object.kind.is_empty() {
        return String::new();
    }
    object.kind_and_group()
}

/// An object in a document of a file.
pub(super) struct At<'a, 't> {
    pub(super) file: &'a Arc<str>,
    pub(super) text: &'a str,
    pub(super) document: &'a Document<'t>,
    pub(super) object: &'a Object<'a>,
}

impl At<'_, '_> {
    /// Adds what the library says about a request on the object.
    pub(super) fn add(
        &self,
        judge: &Judge<'_>,
        request: &Request<'_>,
        name: ObjectName,
        report: &mut Report,
    ) {
        match request.read(|request| judge.review(request)) {
            Ok(judgement) => {
                let locate = |found: &managed_by_requests::Found| {
                    let path = self.object.path_of(&found.path);
                    Some(place(self.text, self.document, &path))
                };
                let mut outcome = Outcome::new(self.file, name, request.asks, judgement, locate);
                outcome.remark = request.remark;
                let (start, _) = place(self.text, self.document, &self.object.path_of("kind"));
                outcome.place = Some(start);
                report.results.push(outcome);
            }
            Err(malformed) => {
                let text = malformed.to_string();
                // The path is of the request; only what is in the new object stands in this file.
                let path = malformed.path().unwrap_or_default();
                let path = self
                    .object
                    .path_of(path.strip_prefix("object.").unwrap_or_default());
                let text = text.strip_prefix("object.").unwrap_or(&text).to_owned();
                let (place, source) = place(self.text, self.document, &path);
                report.unjudged.push(Unjudged::at(
                    self.file,
                    &place,
                    source,
                    format!("{name}: {text}"),
                ));
            }
        }
    }
}
