//! `managed-by/reserved-domain`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::kind::{EXTERNAL, Kind, RESERVED};
use crate::near::nearest;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::Problems;

/// Domains of the Kubernetes project; their subdomains are its own too.
const PROJECT: [&str; 3] = ["kubernetes.io", "k8s.io", "x-k8s.io"];

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/reserved-domain",
    docs: Docs::new(Documentation {
    title: "`managedBy` under a built-in controller's domain names a known controller",
    text: "\
Checks values under the domains of the Kubernetes project (`kubernetes.io`, `k8s.io`, `x-k8s.io` and their subdomains) and
under the domain of each built-in controller (`ray.io`, `kubeflow.org`, ...). Such a value must be a reserved value, a known
external controller such as `kueue.x-k8s.io/multikueue`, or a controller that the setting `controllers` lists. Any other
value there is almost certainly a typo, such as `kubernetes.io/job-controler`. The API server accepts it, and the workload
is orphaned.

Runs on create, and on updates that change the value.",
        fix: "Correct the name. If it is a controller of your own, use a domain that you own.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
    },
    rejected: Example {
        settings: r#"{"rules":{"managed-by/reserved-domain":"deny"}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kubernetes.io/job-controler"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "KEP-4368, Debuggability: a typo in the value is a risk that nothing reports",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Configured(check),
};

/// The names that are known, with the reserved value of a kind that the settings declare.
fn known<'k>(kind: &Kind<'k>) -> impl Iterator<Item = &'k str> {
    let reserved = RESERVED.iter().map(|&(name, _)| name);
    let declared = kind.reserved.filter(|_| kind.is_declared);
    reserved.chain(EXTERNAL.iter().copied()).chain(declared)
}

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let Some(value) = context.incoming() else {
        return Ok(());
    };
    let Some((domain, _)) = value.split_once('/') else {
        return Ok(());
    };
    let kind = context.kind;
    if !is_reserved(domain, kind) || known(kind).any(|name| name == value) {
        return Ok(());
    }
    // A controller that the admin lists is known, whatever its domain.
    if context.settings.controller(value)?.is_some() {
        return Ok(());
    }
    let mut detail = "no known controller has this name".to_owned();
    if let Some(name) = nearest(value, known(kind)) {
        detail.push_str(", did you mean \"");
        detail.push_str(name);
        detail.push_str("\"?");
    }
    findings.push(context.invalid(value, detail));
    Ok(())
}

fn is_reserved(domain: &str, kind: &Kind<'_>) -> bool {
    let of_project = |project: &str| {
        let rest = domain.strip_suffix(project);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_of = |name: &str| name.split_once('/').is_some_and(|(d, _)| d == domain);
    PROJECT.into_iter().any(of_project)
        || RESERVED.iter().any(|(name, _)| is_of(name))
        || kind.reserved.is_some_and(is_of)
}

#[cfg(test)]
mod tests {
    use super::is_reserved;
    use crate::kind::Kind;

    #[test]
    fn domains() {
        for reserved in [
            "kubernetes.io",
            "batch.kubernetes.io",
            "k8s.io",
            "jobset.sigs.k8s.io",
            "x-k8s.io",
            "kueue.x-k8s.io",
            "ray.io",
            "kubeflow.org",
            "trainer.kubeflow.org",
            "tekton.dev",
        ] {
            assert!(is_reserved(reserved, &Kind::EMPTY), "{reserved}");
        }
        for free in [
            "acme.io",
            "mykubernetes.io",
            "notx-k8s.io",
            "k8s.io.acme.io",
            "my.ray.io",
            "",
        ] {
            assert!(!is_reserved(free, &Kind::EMPTY), "{free}");
        }
    }
}
