//! `status-writer/delegated`, `status-writer/builtin`

use std::borrow::Cow;

use crate::description::{Rule, RuleCategory};
use crate::finding::FieldError;
use crate::kind::{FieldLocation, StatusRules};
use crate::object::Object;
use crate::request::{Change, UserInfo};
use crate::rule::{Check, CheckFn, Context, Findings, owner, with_article};
use crate::settings::SettingsErrors;
use crate::upstream::go;

/// Maximum number of writers in a message.
const MAX_LISTED: usize = 4;

pub(crate) static DELEGATED: Check = Check::new(
    Rule::policy("status-writer/delegated", include_str!("delegated.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .for_kinds(|kind| !matches!(kind.status, StatusRules::Unchecked))
        .with_cel(&["delegatedWriter"]),
    CheckFn::Configured(check_delegated),
);

pub(crate) static BUILTIN: Check = Check::new(
    Rule::policy("status-writer/builtin", include_str!("builtin.md"))
        .with_category(RuleCategory::ClusterSpecific)
        .for_kinds(|kind| !matches!(kind.status, StatusRules::Unchecked))
        .with_cel(&["builtInWriter"]),
    CheckFn::Configured(check_builtin),
);

fn check_delegated<'a>(
    context: &Context<'a>,
    findings: &mut Findings<'a>,
) -> Result<(), SettingsErrors> {
    let Some(name) =
        stored_workload(context).and_then(|stored| context.reconciler(stored).controller())
    else {
        return Ok(());
    };
    let controller = context.settings.controller(name)?;
    if let Some(writers) = controller.as_ref().and_then(|c| c.status_writers()) {
        let target = format!("workloads delegated to {}", go::quote(name));
        if !may_write(context, writers) {
            deny(context, writers, &target, None, findings);
        }
    }
    Ok(())
}

fn check_builtin<'a>(
    context: &Context<'a>,
    findings: &mut Findings<'a>,
) -> Result<(), SettingsErrors> {
    let stored =
        stored_workload(context).filter(|stored| !context.reconciler(stored).is_delegated());
    let Some(stored) = stored else {
        return Ok(());
    };
    let kind = context.kind.name;
    if let Some(writers) = context.settings.builtin_writers(kind)? {
        let target = format!("{kind}s that are not delegated");
        if !may_write(context, &writers) {
            let parent = owner::workload(context, stored)?.map(|owner| owner.kind);
            deny(context, &writers, &target, parent.as_deref(), findings);
        }
    }
    Ok(())
}

/// Returns the stored object in a status update of a workload. Its spec selects the writers, because kube-apiserver keeps it.
fn stored_workload<'a>(context: &Context<'a>) -> Option<&'a Object<'a>> {
    match context.change {
        Change::UpdateStatus { old, .. } if context.kind.location == FieldLocation::Workload => {
            Some(old)
        }
        _ => None,
    }
}

/// Returns true if the user is listed, or the update changes nothing.
fn may_write(context: &Context<'_>, writers: &[Cow<'_, str>]) -> bool {
    is_listed(&context.request.user, writers) || context.request.source.is_noop()
}

/// Adds a denial for a user who is not listed. A controller also writes the status of its children, so if a known `parent` controls
/// the object, the message suggests listing the parent's controller.
fn deny<'a>(
    context: &Context<'a>,
    writers: &[Cow<'_, str>],
    target: &str,
    parent: Option<&str>,
    findings: &mut Findings<'a>,
) {
    let shown: Vec<&str> = writers.iter().take(MAX_LISTED).map(|w| &**w).collect();
    let more = writers.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let mut detail = format!(
        "only {}{more} may write the status of {target}",
        shown.join(", ")
    );
    if let Some(parent) = parent {
        let kind = context.kind.name;
        let hint = format!(
            "; {} controls it, so {parent}'s controller may need to be listed in builtin_status_writers.{kind}",
            with_article(parent)
        );
        detail.push_str(&hint);
    }
    let user = go::quote(&context.request.user.username);
    let brief = format!("{user} may not write the status of {target}");
    findings.push(FieldError::user_forbidden("status", detail).with_short_detail(brief));
}

/// Returns true if a user or one of the user's groups is listed.
pub(crate) fn is_listed(user: &UserInfo<'_>, writers: &[Cow<'_, str>]) -> bool {
    let is_one = |writer: &Cow<'_, str>| *writer == user.username || user.groups.contains(writer);
    writers.iter().any(is_one)
}
