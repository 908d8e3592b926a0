//! `job-spec/...`: what kube-apiserver checks of a Job's spec because of the status that its controller wrote.

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::object::Object;
use crate::object::job::{ConditionTypes, Job};
use crate::object::template::{same_directives, same_for_good};
use crate::release::Release;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};

/// Settings of the examples: the rule is off by default.
const ON: &str =
    r#"{"kubernetes_version":"1.37","rules":{"job-spec/scheduling-directives":"deny"}}"#;

/// An update of the template of a Job whose status is given.
macro_rules! template_update {
    ($status:literal) => {
        Example {
            settings: ON,
            request: concat!(
                r#"{"operation":"UPDATE","kind":{"group":"batch","version":"v1","kind":"Job"},"#,
                r#""oldObject":{"metadata":{"name":"pi"},"spec":{"suspend":true,"template":{"spec":{}}},"status":"#,
                $status,
                r#"},"object":{"metadata":{"name":"pi"},"spec":{"suspend":false,"template":{"spec":{"nodeSelector":{"pool":"b"}}}},"status":"#,
                $status,
                "}}"
            ),
        }
    };
}

pub(crate) static SCHEDULING_DIRECTIVES: Check = Check {
    rule: Rule {
    id: "job-spec/scheduling-directives",
    docs: Docs::new(Documentation {
    title: "The scheduling directives of a suspended Job can change only in certain states",
    text: "\
A queue such as Kueue decides where a Job runs just before it resumes the Job. It changes `nodeSelector`, `tolerations`,
`affinity.nodeAffinity`, `schedulingGates` and the labels and annotations of the template. kube-apiserver accepts this change
only if the status of the Job allows it. An external controller that writes a wrong status can block a Job forever.

| release | the directives of a suspended Job may change |
| --- | --- |
| 1.30 to 1.35 | while `status.startTime` is not set |
| 1.36, 1.37 | while `status.active` is 0, and either `status.startTime` is not set or the condition `Suspended` is `True` |

`podAffinity` and `podAntiAffinity` can never change. In 1.36.0 and 1.36.1 a Job that has not started needs the condition
`Suspended` too ([kubernetes#139281](https://github.com/kubernetes/kubernetes/issues/139281), which stopped MultiKueue). With
`kubernetes_version: \"1.36\"` the rule warns about that.

Runs on updates of the main resource of a Job that is suspended before the update. It reads nothing else of the template.
kube-apiserver itself refuses other changes of the template. The rule is off by default, because kube-apiserver checks every
request before this policy does. The command line and the packages switch it on.",
        fix: "Before the queue resumes the Job, write a status with the condition `Suspended` set to `True` and no `active` pods. For releases before 1.36, also leave `startTime` out.",
    accepted: template_update!(r#"{"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended","status":"True"}]}"#),
    rejected: template_update!(r#"{"startTime":"2026-01-01T00:00:00Z"}"#),
    }),
    // In 1.36.
    anchor: Anchored::changing(Anchor::Upstream {
        function: "validatePodTemplateUpdate (pkg/apis/batch/validation)",
        option: Some("AllowMutableSchedulingDirectives"),
        since: Release::V1_30,
        until: None,
        deviation: Some("The template, which upstream prints whole, is left out of the message"),
    }),
    default: Enforcement::Off,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

/// An update of the main resource of a Job that is suspended as stored.
pub(crate) struct Suspended<'a> {
    new: &'a Job<'a>,
    old: &'a Job<'a>,
}

impl<'a> Suspended<'a> {
    /// That update, if the change is one.
    pub(crate) fn of(change: &'a Change<Object<'a>>) -> Option<Self> {
        let Change::Update { object, old } = change else {
            return None;
        };
        let (new, old) = (object.job.as_ref()?, old.job.as_ref()?);
        old.spec.suspend.then_some(Self { new, old })
    }

    /// Whether the status lets the scheduling directives change (`validationOptionsForJob`).
    fn may_change(&self, release: Release) -> bool {
        let status = &self.old.status;
        let is_not_started = status.start_time.is_none();
        if release < Release::V1_36 {
            return is_not_started;
        }
        status.active == 0 && (is_not_started || self.has_condition())
    }

    /// Whether the controller has said that it has suspended the Job.
    fn has_condition(&self) -> bool {
        let conditions = self.old.status.conditions;
        conditions.is_true(ConditionTypes::SUSPENDED)
    }
}

const TEMPLATE: &str = "spec.template";
const POD_SPEC: &str = "spec.template.spec";

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Some(job) = Suspended::of(context.change) else {
        return;
    };
    if job.new.template == job.old.template {
        return;
    }
    let release = context.release;
    let (new, old) = (job.new.template, job.old.template);
    let immutable = |path: &'static str, detail: &'static str| {
        FieldError::invalid(path, BadValue::Omitted, detail)
    };
    if !job.may_change(release) {
        if !same_directives(new, old, release) {
            findings.push(immutable(TEMPLATE, "field is immutable"));
        }
        return;
    }
    if !same_for_good(new, old, release) {
        // Of a template that may change otherwise, 1.36 compares what is left of the pods' spec.
        let path = if release < Release::V1_36 {
            TEMPLATE
        } else {
            POD_SPEC
        };
        findings.push(immutable(path, "field is immutable"));
    } else if release == Release::V1_36
        && !job.has_condition()
        && !same_directives(new, old, release)
    {
        findings.warn(immutable(
            TEMPLATE,
            "kube-apiserver 1.36.0 and 1.36.1 take it only with the condition Suspended=True",
        ));
    }
}
