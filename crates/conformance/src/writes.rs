//! The denied and rejected writes to an object.

use managed_by::Finding;
use serde_json::Value;

use super::report::{Denial, DeniedWrites, FieldChange, RecordedWrite, Rejection};

/// Maximum number of listed writes of an object.
const MAX_WRITES: usize = 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WriteLocation {
    /// File name and line number, such as `watch.ndjson:17`.
    pub(crate) position: String,
    /// Time of the write, if recorded.
    pub(crate) time: Option<String>,
}

pub(super) struct WriteObjects<'v> {
    /// Stored object; `null` for a create.
    pub(super) old: &'v Value,
    pub(super) new: &'v Value,
    /// True for the subresource `status`.
    pub(super) is_status: bool,
}

impl<'v> WriteObjects<'v> {
    /// Reads the objects of an admission request.
    pub(super) fn from_request(request: &'v Value) -> Self {
        let member = |name: &str| request.get(name).unwrap_or(&Value::Null);
        Self {
            old: member("oldObject"),
            new: member("object"),
            is_status: member("subResource") == "status",
        }
    }
}

impl DeniedWrites {
    /// Adds a denied or rejected write, up to the limit. A write that is rejected like the one before it is only counted.
    pub(super) fn add(&mut self, write: RecordedWrite) {
        if let Some(last) = self.writes.last_mut()
            && write.rejected.is_some()
            && (&last.rejected, last.operation) == (&write.rejected, write.operation)
        {
            last.repeated = last.repeated.saturating_add(1);
        } else if self.writes.len() < MAX_WRITES {
            self.writes.push(write);
        } else {
            self.omitted_writes = self.omitted_writes.saturating_add(1);
        }
    }
}

/// Describes a write for the report, with the changed field.
pub(super) fn recorded_write(
    write: &WriteObjects<'_>,
    location: &WriteLocation,
    denials: &[&Finding],
    rejected: Option<Rejection>,
) -> RecordedWrite {
    let is_in_status = denials
        .iter()
        .any(|finding| finding.path.starts_with("status"));
    let denials: Vec<Denial> = denials
        .iter()
        .map(|finding| Denial {
            rule: finding.rule.id(),
            releases: finding.releases.unwrap_or_default(),
            message: finding.message.clone(),
        })
        .collect();
    let operation = match (write.old.is_null(), write.is_status) {
        (true, _) => "created",
        (false, true) => "status updated",
        (false, false) => "updated",
    };
    let field = if write.is_status || is_in_status {
        "status"
    } else {
        "spec"
    };
    let value = |object: &Value| object.get(field).cloned().unwrap_or_default();
    let change = FieldChange {
        field,
        before: value(write.old),
        after: value(write.new),
    };
    RecordedWrite {
        location: location.position.clone(),
        time: location.time.clone(),
        operation,
        rejected,
        repeated: 0,
        denials,
        change,
    }
}
