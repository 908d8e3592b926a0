//! `status-writer/delegated`, `status-writer/standard`

use std::borrow::Cow;

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::FieldError;
use crate::kind::Holder;
use crate::object::Object;
use crate::request::{Change, UserInfo};
use crate::rule::{Check, Context, Findings, Run, owner};
use crate::settings::Problems;
use crate::upstream::go;

/// A denial names no more writers than that.
const MAX_LISTED: usize = 4;

pub(crate) static DELEGATED: Check = Check {
    rule: Rule {
    id: "status-writer/delegated",
    docs: Docs::new(Documentation {
    title: "With `status_writers`, only the listed users write the status of a delegated workload",
    text: "\
With the setting `status_writers` of a controller, checks who updates the status of a workload that is delegated to this
controller. The user must be in the list, or be a member of a listed group. Without this rule, everybody whose role allows
updates of `jobs/status` can mark the workload as complete. So it is for a workload that is delegated to a controller without
such a list.

Runs on status updates that change something. Does not run on objects that are being deleted. MultiKueue writes as
`system:serviceaccount:kueue-system:kueue-controller-manager` in a default installation of Kueue. If tekton-kueue holds back
your PipelineRuns, list its service account too.

Some built-in controllers do not step back. The Training Operator runs every JAXJob, and Trainer 2.0 to 2.2 runs every
TrainJob, whatever the field says. Then two controllers run the workload, and this rule denies the status updates of the
built-in one.",
        fix: "Let the external controller write the status. If it runs as another user, add this user to its `status_writers`.",
    accepted: Example {
        settings: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"status_writers":["system:serviceaccount:kueue-system:kueue-controller-manager"]}}}"#,
        request: r#"{"operation":"UPDATE","subResource":"status","kind":{"group":"batch","version":"v1","kind":"Job"},
            "resource":{"group":"batch","version":"v1","resource":"jobs"},"namespace":"team-a",
            "userInfo":{"username":"system:serviceaccount:kueue-system:kueue-controller-manager"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"},"status":{}},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"},"status":{"active":1}}}"#,
    },
    rejected: Example {
        settings: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"status_writers":["system:serviceaccount:kueue-system:kueue-controller-manager"]}}}"#,
        request: r#"{"operation":"UPDATE","subResource":"status","kind":{"group":"batch","version":"v1","kind":"Job"},
            "resource":{"group":"batch","version":"v1","resource":"jobs"},"namespace":"team-a",
            "userInfo":{"username":"ana"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"},"status":{}},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"},"status":{"active":1}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "Kueue, config/components/rbac: the service account that holds the permission on jobs/status",
    }),
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Configured(check_delegated),
};

pub(crate) static STANDARD: Check = Check {
    rule: Rule {
    id: "status-writer/standard",
    docs: Docs::new(Documentation {
    title: "With `standard_status_writers`, only the listed users write the status of a workload that is not delegated",
    text: "\
With an entry for the kind in the setting `standard_status_writers`, checks who updates the status of a workload that is not
delegated. The user must be in the list, or be a member of a listed group.

Runs on status updates that change something. Does not run on objects that are being deleted.

List every controller that writes the status, not only the built-in one. A controller of parents writes the status of their
children: JobSet's controller removes the start time of its Jobs when it resumes them, and if it may not, they never run again.
Kueue removes the start time of a Job that it stops. [Status writers](../../status-writers.md) lists them all, and
`managed-by settings writers` finds yours in an audit log. If a workload of a known kind controls the object, the denial names
that kind, because its controller may be missing in the list.

The Job controller is `system:serviceaccount:kube-system:job-controller`. If kube-controller-manager runs without
`--use-service-account-credentials`, it is `system:kube-controller-manager`.",
        fix: "Let the built-in controller write the status. If another controller must write it, add its service account to `standard_status_writers`.",
    accepted: Example {
        settings: r#"{"standard_status_writers":{"Job":["system:serviceaccount:kube-system:job-controller","system:serviceaccount:kueue-system:kueue-controller-manager","system:serviceaccount:jobset-system:jobset-controller-manager"]}}"#,
        request: r#"{"operation":"UPDATE","subResource":"status","kind":{"group":"batch","version":"v1","kind":"Job"},
            "resource":{"group":"batch","version":"v1","resource":"jobs"},"namespace":"team-a",
            "userInfo":{"username":"system:serviceaccount:kueue-system:kueue-controller-manager"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{"suspend":true},"status":{"startTime":"2026-11-20T09:00:00Z"}},
            "object":{"metadata":{"name":"pi"},"spec":{"suspend":true},"status":{}}}"#,
    },
    rejected: Example {
        settings: r#"{"standard_status_writers":{"Job":["system:serviceaccount:kube-system:job-controller","system:serviceaccount:kueue-system:kueue-controller-manager","system:serviceaccount:jobset-system:jobset-controller-manager"]}}"#,
        request: r#"{"operation":"UPDATE","subResource":"status","kind":{"group":"batch","version":"v1","kind":"Job"},
            "resource":{"group":"batch","version":"v1","resource":"jobs"},"namespace":"team-a",
            "userInfo":{"username":"ana"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{},"status":{}},
            "object":{"metadata":{"name":"pi"},"spec":{},"status":{"active":1}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "Kueue, job_controller.go (Stop): Kueue takes startTime away from a Job that it stops, delegated or not",
    }),
    default: Enforcement::Deny,
    scope: Scope::Site,
    },
    run: Run::Configured(check_standard),
};

fn check_delegated<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let Some(name) = stored(context).and_then(|stored| context.mode(stored).controller()) else {
        return Ok(());
    };
    let controller = context.settings.controller(name)?;
    if let Some(writers) = controller.as_ref().and_then(|c| c.status_writers()) {
        let of = format!("what is delegated to {}", go::quote(name));
        if !may_write(context, writers) {
            deny(context, writers, &of, None, findings);
        }
    }
    Ok(())
}

fn check_standard<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let standard = stored(context).filter(|stored| !context.mode(stored).is_delegated());
    let Some(stored) = standard else {
        return Ok(());
    };
    let kind = context.kind.name;
    if let Some(writers) = context.settings.standard_writers(kind)? {
        let of = format!("a {kind} that is not delegated");
        if !may_write(context, &writers) {
            let parent = owner::workload(context, stored)?.map(|owner| owner.kind);
            deny(context, &writers, &of, parent.as_deref(), findings);
        }
    }
    Ok(())
}

/// The object as stored, on a status update of a workload. Its spec counts: kube-apiserver keeps it.
fn stored<'a>(context: &Context<'a>) -> Option<&'a Object<'a>> {
    match context.change {
        Change::UpdateStatus { old, .. } if context.kind.holder == Holder::Workload => Some(old),
        _ => None,
    }
}

/// Whether who asks is listed, or changes nothing.
fn may_write(context: &Context<'_>, writers: &[Cow<'_, str>]) -> bool {
    is_listed(&context.request.user, writers) || context.request.is_noop()
}

/// Denies who is not listed. Controllers write the status of children too: of what a known `parent` controls, the denial says
/// whose name may be missing.
fn deny<'a>(
    context: &Context<'a>,
    writers: &[Cow<'_, str>],
    of: &str,
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
        "only {}{more} may write the status of {of}",
        shown.join(", ")
    );
    if let Some(parent) = parent {
        let kind = context.kind.name;
        let hint = format!(
            "; a {parent} controls it, so {parent}'s controller may need to be listed in standard_status_writers.{kind}"
        );
        detail.push_str(&hint);
    }
    let user = go::quote(&context.request.user.username);
    let brief = format!("{user} is no status writer of {of}");
    findings.push(FieldError::unauthorized("status", detail).briefly(brief));
}

/// Whether a user, or a group of theirs, is listed.
pub(crate) fn is_listed(user: &UserInfo<'_>, writers: &[Cow<'_, str>]) -> bool {
    let is_one = |writer: &Cow<'_, str>| *writer == user.username || user.groups.contains(writer);
    writers.iter().any(is_one)
}
