//! `managed-by/object-too-large`

use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::FieldError;
use crate::kind::FieldLocation;
use crate::object::Object;
use crate::request::Change;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::settings::SettingsErrors;

/// Maximum request size of PolicyServer: the default limit of its HTTP library, which is not configurable.
const LARGEST_REQUEST: usize = 2 << 20;

/// Space to reserve in an update for what a new object does not contain: the other request fields, and the status of both objects.
const OVERHEAD: usize = 128 << 10;

/// Maximum object size: an update contains the old and the new object.
const LARGEST_OBJECT: usize = (LARGEST_REQUEST - OVERHEAD) / 2;

pub(crate) static RULE: Check = Check::new(
    Rule::policy(
        "managed-by/object-too-large",
        include_str!("object-too-large.md"),
    )
    .with_default(Enforcement::Warn)
    .with_category(RuleCategory::PolicyBypass),
    CheckFn::Configured(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), SettingsErrors> {
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
        "{size} bytes, must have at most {LARGEST_OBJECT}: an update contains the object twice, and PolicyServer accepts at most 2 MiB"
    );
    let error = FieldError::too_long("spec", detail);
    if requires_status_review(context, object)? {
        findings.push(error);
    } else {
        findings.warn(error);
    }
    Ok(())
}

/// Returns true if the policy must review every status update of the object: it is delegated, or its kind has listed writers. Other
/// workloads keep working if their updates are too large for the policy.
fn requires_status_review(
    context: &Context<'_>,
    object: &Object<'_>,
) -> Result<bool, SettingsErrors> {
    if context.kind.location != FieldLocation::Workload {
        return Ok(false);
    }
    Ok(context.reconciler(object).is_delegated()
        || context
            .settings
            .builtin_writers(context.kind.name)?
            .is_some())
}
