//! `managed-by/updates-too-large`

use crate::description::{Enforcement, Rule, Scope};
use crate::finding::FieldError;
use crate::kind::Holder;
use crate::object::Object;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::Problems;

/// What PolicyServer takes in one request: the default limit of its HTTP library, which no setting changes.
const LARGEST_REQUEST: usize = 2 << 20;

/// What an update needs beside the object that is created: the rest of the request, and the status, twice.
const ROOM: usize = 128 << 10;

/// An update carries the object twice, as it is stored and as it is to be.
const LARGEST_OBJECT: usize = (LARGEST_REQUEST - ROOM) / 2;

pub(crate) static RULE: Check = Check::new(
    Rule::ours(
        "managed-by/updates-too-large",
        include_str!("updates-too-large.md"),
    )
    .by_default(Enforcement::Warn)
    .in_scope(Scope::Guard),
    Run::Configured(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let object = match context.change {
        Change::Create { object } | Change::Stored { object } | Change::Update { object, .. } => {
            object
        }
        Change::UpdateStatus { .. } => return Ok(()),
    };
    let [size, stored] = context.request.source.object_sizes(LARGEST_OBJECT);
    if size <= LARGEST_OBJECT || stored > LARGEST_OBJECT {
        return Ok(());
    }
    let detail = format!(
        "the object has {size} bytes and may have at most {LARGEST_OBJECT}, because an update carries it twice and PolicyServer takes at most 2 MiB"
    );
    let error = FieldError::too_long("spec", detail);
    if is_status_judged(context, object)? {
        findings.push(error);
    } else {
        findings.warn(error);
    }
    Ok(())
}

/// Whether somebody waits for the verdict on each status update: of a delegated workload, and of a kind with listed writers. The
/// others can live on without a policy that takes their updates.
fn is_status_judged(context: &Context<'_>, object: &Object<'_>) -> Result<bool, Problems> {
    if context.kind.holder != Holder::Workload {
        return Ok(false);
    }
    Ok(context.mode(object).is_delegated()
        || context
            .settings
            .standard_writers(context.kind.name)?
            .is_some())
}
