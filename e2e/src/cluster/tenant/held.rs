//! What a hostile tenant tried in vain from the start, and must not reach later either.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    Check, How, JOBSETS, RAY, Stage, WRAPPERS, answered, brief, delegated, refused, workload,
};
use crate::cluster::api_server::{CRON_JOBS, JOBSET, KUEUE};
use crate::cluster::hook::job;
use crate::cluster::people::{MULTIKUEUE, TEAM};
use crate::http::Answer;
use crate::kube::{done, jobs, path};

pub(super) const CHECKS: [Check; 22] = [
    (
        "values: look-alike letters, blanks, NUL, other cases and an empty text in managedBy are refused, in every kind",
        values,
    ),
    (
        "values: 1.8 MB in managedBy are refused, and not all of it is repeated, in every kind",
        long_values,
    ),
    (
        "patches: JSON patches do not change the field, in any kind",
        json_patches,
    ),
    ("patches: merge patches do not", merge_patches),
    (
        "patches: strategic merge patches do not, with $patch and $retainKeys",
        strategic_patches,
    ),
    ("patches: whole objects without the field do not", replaced),
    (
        "patches: server-side apply does not, by the field's own manager and with force",
        applied,
    ),
    ("dry run: judged as without", dry_run),
    (
        "generateName: judged, though there is no name yet",
        generated,
    ),
    (
        "CronJob to Job: what the controller makes of a template is judged itself",
        cron_job,
    ),
    ("null for absent: a null is no delegation", null),
    (
        "status through the main resource: nothing changes",
        status_through_main,
    ),
    (
        "spec through the status: nothing changes",
        spec_through_status,
    ),
    (
        "status: the tenant writes none of what is delegated",
        status,
    ),
    ("namespace: the tenant cannot label it", labels),
    (
        "impersonation: of users that the settings list: refused",
        listed,
    ),
    ("impersonation: of groups that are exempt: refused", groups),
    (
        "impersonation: of own service accounts: judged as the tenant",
        own_account,
    ),
    ("impersonation: with an extra or a UID: refused", extra),
    (
        "control characters in a value: quoted in the answer and in the audit log",
        control_value,
    ),
    (
        "control characters in keys and kinds: quoted in the answer and in the audit log",
        control_key,
    ),
    (
        "an evil child of a JobSet's template: judged when JobSet makes it",
        evil_child,
    ),
];

/// How long the policy's text may be: each finding repeats at most 64 KiB of a value.
const TEXT: usize = 200_000;

/// The kinds, each with the place of its objects and an object with a value in the field.
fn kinds(name: &str, value: &Value) -> [(String, Value); 4] {
    let ray = json!({"managedBy": value, "rayVersion": "2.9"});
    let set = json!({"managedBy": value, "replicatedJobs": []});
    let wrapper = json!({"managedBy": value, "components": []});
    [
        (
            jobs(TEAM),
            job(TEAM, name, &json!({"managedBy": value, "suspend": true})),
        ),
        (
            path(JOBSETS, TEAM, "jobsets"),
            workload(JOBSETS, "JobSet", name, &set),
        ),
        (
            path(WRAPPERS, TEAM, "appwrappers"),
            workload(WRAPPERS, "AppWrapper", name, &wrapper),
        ),
        (
            path(RAY, TEAM, "rayclusters"),
            workload(RAY, "RayCluster", name, &ray),
        ),
    ]
}

/// Nothing of that name is created in any kind.
fn never(stage: &Stage, name: &str, value: &Value) -> Result<()> {
    for (place, object) in kinds(name, value) {
        let answer = stage.tries(How::Create, &place, &object)?;
        refused(&answer, &[]).with_context(|| place.clone())?;
        // A Job is judged by the API server first, which repeats all of it.
        if object["kind"] != "Job" {
            refused(&answer, &["denied the request", "[managed-by/"])?;
            let length = answer.message().len();
            ensure!(length < TEXT, "{length} bytes of text");
        }
        stage.absent(&format!("{place}/{name}"))?;
    }
    Ok(())
}

fn values(stage: &Stage) -> Result<()> {
    for value in [
        // The last letter is a Cyrillic one.
        "kueue.x-k8s.io/multikueu\u{435}",
        "kueue.x-k8s.io/multikueue\u{200b}",
        " kueue.x-k8s.io/multikueue",
        "kueue.x-k8s.io/multikueue ",
        "kueue.x-k8s.io/multikueue\n",
        "kueue.x-k8s.io/multikueue\0",
        "kueue.x-k8s.io\0/multikueue",
        "Kueue.x-k8s.io/multikueue",
        "kueue.x-k8s.io//multikueue",
        "",
    ] {
        never(stage, "value", &json!(value))?;
    }
    Ok(())
}

fn long_values(stage: &Stage) -> Result<()> {
    never(stage, "long-value", &json!("a".repeat(1_800_000)))?;
    never(
        stage,
        "long-path",
        &json!(format!("{MULTIKUEUE}/{}", "a".repeat(1_800_000))),
    )
}

/// Delegated objects of every kind: where they are, and as they are stored.
fn given(stage: &Stage, name: &str) -> Result<Vec<(String, Value)>> {
    let create = |(place, object): (String, Value)| {
        let stored = done(stage.tenant.post(&place, &object)?)?;
        Ok((format!("{place}/{name}"), stored))
    };
    kinds(name, &json!(MULTIKUEUE))
        .into_iter()
        .map(create)
        .collect()
}

/// A change is refused, and the field is as it was.
fn unchanged(stage: &Stage, how: How, path: &str, change: &Value) -> Result<()> {
    let answer = stage.tries(how, path, change)?;
    let context = || format!("{path}: {}", brief(&change.to_string()));
    let kept = stage.stored(path)?["spec"]["managedBy"].take();
    ensure!(kept == MULTIKUEUE, "{}: managedBy is {kept}", context());
    refused(&answer, &["managedBy"]).with_context(context)
}

fn json_patches(stage: &Stage) -> Result<()> {
    for (path, mut stored) in given(stage, "json-patched")? {
        let mut spec = stored["spec"].take();
        spec.as_object_mut().context("a spec")?.remove("managedBy");
        for change in [
            json!([{"op": "remove", "path": "/spec/managedBy"}]),
            json!([{"op": "replace", "path": "/spec/managedBy", "value": "acme.io/x"}]),
            json!([{"op": "replace", "path": "/spec/managedBy", "value": null}]),
            json!([{"op": "add", "path": "/spec/managedBy", "value": ""}]),
            json!([{"op": "move", "from": "/spec/managedBy", "path": "/spec/other"}]),
            json!([{"op": "replace", "path": "/spec", "value": spec}]),
            json!([{"op": "test", "path": "/spec/managedBy", "value": MULTIKUEUE}, {"op": "remove", "path": "/spec/managedBy"}]),
        ] {
            unchanged(stage, How::JsonPatch, &path, &change)?;
        }
    }
    Ok(())
}

fn merge_patches(stage: &Stage) -> Result<()> {
    for (path, _) in given(stage, "merge-patched")? {
        for change in [
            json!({"spec": {"managedBy": null}}),
            json!({"spec": {"managedBy": ""}}),
            json!({"spec": {"managedBy": "acme.io/x"}}),
        ] {
            unchanged(stage, How::MergePatch, &path, &change)?;
        }
        // What else the object then lacks is said first for some kinds.
        let answer = stage.tries(How::MergePatch, &path, &json!({"spec": null}))?;
        refused(&answer, &[])?;
        ensure!(stage.stored(&path)?["spec"]["managedBy"] == MULTIKUEUE);
    }
    Ok(())
}

/// Only built-in kinds take them.
fn strategic_patches(stage: &Stage) -> Result<()> {
    let mut kinds = given(stage, "strategic")?.into_iter();
    let (path, mut stored) = kinds.next().context("a Job")?;
    let mut spec = stored["spec"].take();
    let members = spec.as_object_mut().context("a spec")?;
    members.remove("managedBy");
    let retained: Vec<_> = members.keys().cloned().collect();
    let mut replaced = spec.clone();
    replaced["$patch"] = "replace".into();
    for change in [
        json!({"spec": {"managedBy": null}}),
        json!({"spec": {"managedBy": "acme.io/x"}}),
        json!({"spec": replaced}),
        json!({"spec": {"$retainKeys": retained, "suspend": true}}),
    ] {
        unchanged(stage, How::StrategicPatch, &path, &change)?;
    }
    // Without a spec the API server says what else is missing.
    let answer = stage.tries(
        How::StrategicPatch,
        &path,
        &json!({"spec": {"$patch": "delete"}}),
    )?;
    refused(&answer, &[])?;
    ensure!(stage.stored(&path)?["spec"]["managedBy"] == MULTIKUEUE);
    for (path, _) in kinds {
        let change = json!({"spec": {"$patch": "delete"}});
        let answer = stage.tries(How::StrategicPatch, &path, &change)?;
        ensure!(answer.code == 415, "{path}: {}", answer.code);
    }
    Ok(())
}

fn replaced(stage: &Stage) -> Result<()> {
    for (path, stored) in given(stage, "replaced")? {
        let mut without = stored.clone();
        without["spec"]
            .as_object_mut()
            .context("a spec")?
            .remove("managedBy");
        let mut null = stored;
        null["spec"]["managedBy"] = Value::Null;
        for change in [without, null] {
            unchanged(stage, How::Replace, &path, &change)?;
        }
    }
    Ok(())
}

fn applied(stage: &Stage) -> Result<()> {
    for (place, mut object) in kinds("applied", &json!(MULTIKUEUE)) {
        let path = format!("{place}/applied");
        answered(&stage.tries(How::Apply, &path, &object)?, 201)?;
        object["spec"]["managedBy"] = "acme.io/x".into();
        unchanged(stage, How::Apply, &path, &object)?;
        // Nobody else owns the field: leaving it out takes it away.
        object["spec"]
            .as_object_mut()
            .context("a spec")?
            .remove("managedBy");
        unchanged(stage, How::Apply, &path, &object)?;
    }
    Ok(())
}

fn plain(name: &str) -> Value {
    job(TEAM, name, &json!({"suspend": true}))
}

/// Denied for want of a controller.
fn undelegated(answer: &Answer) -> Result<()> {
    ensure!(answer.code == 403, "{}", answer.code);
    refused(answer, &["denied the request", "[managed-by/delegation]"])
}

fn dry_run(stage: &Stage) -> Result<()> {
    let path = format!("{}?dryRun=All", jobs(TEAM));
    undelegated(&stage.tries(How::Create, &path, &plain("dry"))?)?;
    for (path, _) in given(stage, "dry")? {
        let change = json!({"spec": {"managedBy": null}});
        let answer = stage.tries(How::MergePatch, &format!("{path}?dryRun=All"), &change)?;
        refused(&answer, &["managedBy"])?;
    }
    Ok(())
}

fn generated(stage: &Stage) -> Result<()> {
    for (spec, word) in [
        (json!({"suspend": true}), "[managed-by/delegation]"),
        (
            json!({"suspend": true, "managedBy": "acme.io/x"}),
            "[managed-by/allowed]",
        ),
    ] {
        let mut job = job(TEAM, "", &spec);
        job["metadata"] = json!({"generateName": "generated-"});
        let answer = stage.tries(How::Create, &jobs(TEAM), &job)?;
        refused(&answer, &["denied the request", word])?;
    }
    Ok(())
}

fn cron_job(stage: &Stage) -> Result<()> {
    let spec = plain("x")["spec"].take();
    let cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}},
    });
    let stored = stage.given(&path("batch/v1", TEAM, "cronjobs"), &cron)?;
    let mut child = plain("cron-1");
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "CronJob", "name": "cron",
        "uid": stored["metadata"]["uid"], "controller": true,
    }]);
    let controller = stage.cluster.client(CRON_JOBS);
    let answer = stage.ask(&controller, How::Create, &jobs(TEAM), &child)?;
    undelegated(&answer)?;
    stage.absent(&format!("{}/cron-1", jobs(TEAM)))
}

fn null(stage: &Stage) -> Result<()> {
    for (place, object) in kinds("null", &Value::Null) {
        let answer = stage.tries(How::Create, &place, &object)?;
        undelegated(&answer).with_context(|| place.clone())?;
    }
    Ok(())
}

fn status_through_main(stage: &Stage) -> Result<()> {
    for (path, stored) in given(stage, "main")? {
        let before = stored["status"].clone();
        let status = json!({"phase": "Succeeded", "state": "ready", "active": 3, "succeeded": 1});
        let change = json!({"status": status});
        answered(&stage.tries(How::MergePatch, &path, &change)?, 200)?;
        let mut whole = stage.stored(&path)?;
        whole["status"] = status;
        answered(&stage.tries(How::Replace, &path, &whole)?, 200)?;
        let after = stage.stored(&path)?["status"].take();
        ensure!(after == before, "{path}: {before} became {after}");
    }
    Ok(())
}

fn spec_through_status(stage: &Stage) -> Result<()> {
    let change = json!({"spec": {"managedBy": "acme.io/x"}});
    let kueue = stage.cluster.client(KUEUE);
    for (path, _) in given(stage, "through")? {
        let status = format!("{path}/status");
        let answer = stage.ask(&kueue, How::MergePatch, &status, &change)?;
        answered(&answer, 200)?;
        // ClusterRole `edit` grants no status of Jobs.
        let answer = stage.tries(How::MergePatch, &status, &change)?;
        let code = if path.contains("/batch/") { 403 } else { 200 };
        answered(&answer, code)?;
        let kept = stage.stored(&path)?["spec"]["managedBy"].take();
        ensure!(kept == MULTIKUEUE, "{path}: managedBy is {kept}");
    }
    Ok(())
}

fn status(stage: &Stage) -> Result<()> {
    for (path, _) in given(stage, "status")? {
        let change = json!({"status": {"phase": "Succeeded", "state": "ready", "succeeded": 1}});
        let answer = stage.tries(How::MergePatch, &format!("{path}/status"), &change)?;
        let word = if path.contains("/batch/") {
            "cannot patch resource \"jobs/status\""
        } else {
            "[status-writer/delegated]"
        };
        refused(&answer, &["is forbidden", word])?;
    }
    Ok(())
}

/// Authorization refuses it, before any admission.
fn forbidden(answer: &Answer) -> Result<()> {
    ensure!(answer.code == 403, "{}", answer.code);
    refused(answer, &["is forbidden: User \"tenant\" cannot"])
}

fn labels(stage: &Stage) -> Result<()> {
    let namespace = format!("/api/v1/namespaces/{TEAM}");
    let change = json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "kube-system"}}});
    forbidden(&stage.tries(How::MergePatch, &namespace, &change)?)
}

/// The tenant creates a Job that is not delegated, with headers of impersonation.
fn as_another(stage: &Stage, headers: &[(&'static str, &str)]) -> Result<Answer> {
    let another = stage.tenant.impersonating(headers);
    stage.ask(&another, How::Create, &jobs(TEAM), &plain("another"))
}

fn listed(stage: &Stage) -> Result<()> {
    for name in [JOBSET, KUEUE, "system:admin"] {
        forbidden(&as_another(stage, &[("impersonate-user", name)])?)?;
    }
    Ok(())
}

fn groups(stage: &Stage) -> Result<()> {
    for group in ["system:masters", "kubeadm:cluster-admins"] {
        for user in ["tenant", &own_name()] {
            let headers = [("impersonate-user", user), ("impersonate-group", group)];
            forbidden(&as_another(stage, &headers)?)?;
        }
    }
    Ok(())
}

fn own_name() -> String {
    format!("system:serviceaccount:{TEAM}:jobset-controller-manager")
}

fn own_account(stage: &Stage) -> Result<()> {
    undelegated(&as_another(stage, &[("impersonate-user", &own_name())])?)
}

fn extra(stage: &Stage) -> Result<()> {
    let name = own_name();
    for more in [
        ("impersonate-extra-scopes", "system:masters"),
        ("impersonate-uid", "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c"),
    ] {
        forbidden(&as_another(stage, &[("impersonate-user", &name), more])?)?;
    }
    Ok(())
}

/// Neither the answer nor the audit log has them as they are.
fn quoted(stage: &Stage, name: &str, answer: &Answer) -> Result<()> {
    let audit = stage.cluster.audit()?;
    let event = audit.last(name).context("not in the audit log")?;
    let annotations = event["annotations"].as_object().context("no annotations")?;
    let annotations = annotations
        .iter()
        .flat_map(|(key, value)| [key.as_str(), value.as_str().unwrap_or_default()]);
    let texts = [answer.message()].into_iter().chain(annotations);
    let texts = texts.chain(answer.warnings.iter().map(String::as_str));
    for text in texts {
        ensure!(!text.chars().any(char::is_control), "{text:?}");
    }
    Ok(())
}

fn control_value(stage: &Stage) -> Result<()> {
    let value = "kueue.x-k8s.io/\u{7}\u{1b}[31m\n\r\0\u{85}\u{9b}x";
    for (index, (place, mut object)) in kinds("control", &json!(value)).into_iter().enumerate() {
        let name = format!("control-{index}");
        object["metadata"]["name"] = name.as_str().into();
        let answer = stage.tries(How::Create, &place, &object)?;
        refused(&answer, &[])?;
        quoted(stage, &name, &answer)?;
    }
    Ok(())
}

fn control_key(stage: &Stage) -> Result<()> {
    let wrappers = path(WRAPPERS, TEAM, "appwrappers");
    for (name, spec) in [
        (
            "key-field",
            json!({"managed\u{1b}[31mBy": MULTIKUEUE, "managedBy\n": MULTIKUEUE}),
        ),
        ("key-type", json!({"managedBy": {"a\u{1b}[31m\n": 1}})),
        (
            "key-kind",
            json!({"components": [{"template": {
                "apiVersion": "batch/v1\u{1b}[31m", "kind": "Job\n\u{7}",
                "spec": {"managedBy": "acme.io/x\u{1b}", "a\u{1b}\n": 1},
            }}]}),
        ),
        (
            "key-child",
            json!({"components": [{"template": {
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": "a\u{1b}[31m\n"}, "spec": {"managedBy": "acme.io/x\u{1b}\n"},
            }}]}),
        ),
    ] {
        let wrapper = workload(WRAPPERS, "AppWrapper", name, &spec);
        let answer = stage.tries(How::Create, &wrappers, &wrapper)?;
        refused(&answer, &[]).context(name)?;
        quoted(stage, name, &answer).context(name)?;
    }
    Ok(())
}

fn evil_child(stage: &Stage) -> Result<()> {
    let evil = json!({"managedBy": "acme.io/x", "suspend": true});
    let template = json!({"spec": job(TEAM, "x", &evil)["spec"].take()});
    let spec =
        json!({"managedBy": MULTIKUEUE, "replicatedJobs": [{"name": "a", "template": template}]});
    let set = workload(JOBSETS, "JobSet", "evil", &spec);
    let stored = stage.given(&path(JOBSETS, TEAM, "jobsets"), &set)?;
    let mut child = job(TEAM, "evil-a-0", &evil);
    child["metadata"]["ownerReferences"] = json!([{
        "apiVersion": JOBSETS, "kind": "JobSet", "name": "evil",
        "uid": stored["metadata"]["uid"], "controller": true,
    }]);
    let jobset = stage.cluster.client(JOBSET);
    let answer = stage.ask(&jobset, How::Create, &jobs(TEAM), &child)?;
    refused(&answer, &["denied the request", "[managed-by/allowed]"])?;
    // So that this is about the template: a good child is accepted.
    child["spec"]["managedBy"] = delegated()["managedBy"].clone();
    let answer = stage.ask(&jobset, How::Create, &jobs(TEAM), &child)?;
    answered(&answer, 201)
}
