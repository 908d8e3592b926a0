//! What people read about each setting. Tests run the examples; `docs/settings.md` is made of it.

/// One key, where it may stand, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The path: `controllers[NAME].kinds`.
    pub path: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it is if it is left out.
    pub default: &'static str,
    /// What it does, and when to give it.
    pub text: &'static str,
    /// Settings with it, as JSON.
    pub accepted: &'static str,
    /// Settings with a mistake in it.
    pub rejected: &'static str,
}

/// All keys, in the order of the page.
pub static KEYS: &[Key] = &[
    Key {
        path: "kubernetes_version",
        values: "`\"1.30\"` to `\"1.37\"`, in quotes, because YAML reads 1.30 as 1.3",
        default: "unset: safe on all releases",
        text: "The release of your kube-apiserver, without the patch version. If the key is unset, a rule for the status \
               of a Job denies only what all releases deny; where releases disagree, the policy warns and names the ones \
               that deny.",
        accepted: r#"{"kubernetes_version":"1.36"}"#,
        rejected: r#"{"kubernetes_version":1.30}"#,
    },
    Key {
        path: "reserved_value",
        values: "`allow`, `deny`",
        default: "`allow`",
        text: "Whether users may write the reserved value of a kind (`kubernetes.io/job-controller` for a Job), which \
               means the same as no value.",
        accepted: r#"{"reserved_value":"deny"}"#,
        rejected: r#"{"reserved_value":"forbid"}"#,
    },
    Key {
        path: "role",
        values: "`hybrid`, `management`, `worker`",
        default: "`hybrid`",
        text: "The role of the cluster, for `managed-by/delegation`. A management cluster delegates all workloads. A \
               worker delegates none. A hybrid allows both. `namespaces` makes exceptions.",
        accepted: r#"{"role":"management"}"#,
        rejected: r#"{"role":"manager"}"#,
    },
    Key {
        path: "controllers",
        values: "an object: names of controllers, each with its limits, or `{}`",
        default: "any controller",
        text: "An allow-list: if it is set, users may delegate workloads only to these controllers \
               (`managed-by/allowed`), so an empty object allows none. Built-in controllers need no permission. A name is \
               a domain-prefixed path of at most 63 bytes; for kinds whose own API accepts any string, it needs no \
               domain.",
        accepted: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{}}}"#,
        rejected: r#"{"controllers":{"Kueue.x-k8s.io/multikueue":{}}}"#,
    },
    Key {
        path: "controllers[NAME].kinds",
        values: "a list of kinds",
        default: "all kinds",
        text: "The kinds that users may delegate to this controller. A template counts as the kind of its children: a \
               CronJob counts as a Job.",
        accepted: r#"{"controllers":{"acme.io/runner":{"kinds":["Job"]}}}"#,
        rejected: r#"{"controllers":{"acme.io/runner":{"kinds":["Jobs"]}}}"#,
    },
    Key {
        path: "controllers[NAME].namespaces",
        values: "a list of namespaces; `*` stands for any characters",
        default: "all namespaces",
        text: "The namespaces in which users may delegate workloads to this controller. A pattern must match the whole \
               name.",
        accepted: r#"{"controllers":{"acme.io/runner":{"namespaces":["team-*","lab"]}}}"#,
        rejected: r#"{"controllers":{"acme.io/runner":{"namespaces":["team-*","team-a"]}}}"#,
    },
    Key {
        path: "controllers[NAME].status_writers",
        values: "a list of users and groups",
        default: "everybody whom RBAC allows",
        text: "Who may write the status of workloads that are delegated to this controller (`status-writer/delegated`). \
               MultiKueue writes as the service account of Kueue. Each entry must equal the user name or a group, so a \
               group that is named like a listed user counts too.",
        accepted: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"status_writers":["system:serviceaccount:kueue-system:kueue-controller-manager"]}}}"#,
        rejected: r#"{"controllers":{"kueue.x-k8s.io/multikueue":{"status_writers":["system:serviceaccount:kueue-controller-manager"]}}}"#,
    },
    Key {
        path: "namespaces",
        values: "a list of entries, each with `match` and `delegation`; the first matching entry decides",
        default: "`role` applies everywhere",
        text: "Where workloads must, may or must not be delegated, whatever `role` says. An entry that an earlier one \
               hides completely is an error.",
        accepted: r#"{"namespaces":[{"match":["kube-system","backup"],"delegation":"forbidden"},{"match":["team-*"],"delegation":"required"}]}"#,
        rejected: r#"{"namespaces":[{"match":["*"],"delegation":"allowed"},{"match":["team-*"],"delegation":"required"}]}"#,
    },
    Key {
        path: "namespaces[].match",
        values: "a list of namespaces; `*` stands for any characters",
        default: "required, unless `matchLabels` is set: then all namespaces",
        text: "The namespaces of the entry. If users create namespaces in your cluster, name only ones that exist, \
               because whoever creates one that fits gets what the entry allows. All entries together may have 4096 \
               patterns, 512 of them with `*`.",
        accepted: r#"{"namespaces":[{"match":["team-*"],"delegation":"required"}]}"#,
        rejected: r#"{"namespaces":[{"match":"team-*","delegation":"required"}]}"#,
    },
    Key {
        path: "namespaces[].matchLabels",
        values: "an object of labels, each with its value",
        default: "any labels",
        text: "The labels of the entry, all of which an object must have. Use it for Helm hooks, backups and other Jobs \
               that the cluster itself needs. Users set and remove labels, so the entry allows what it allows to \
               everybody who may create workloads in its namespaces.",
        accepted: r#"{"role":"management","namespaces":[{"matchLabels":{"example.com/runs-here":"true"},"delegation":"allowed"}]}"#,
        rejected: r#"{"namespaces":[{"match":["team-*"],"match_labels":{"a":"b"},"delegation":"allowed"}]}"#,
    },
    Key {
        path: "namespaces[].delegation",
        values: "`required`, `forbidden`, `allowed`",
        default: "required",
        text: "Whether workloads there must be delegated, must not be, or may be. A worker cluster cannot require \
               delegation.",
        accepted: r#"{"role":"management","namespaces":[{"match":["backup"],"delegation":"allowed"}]}"#,
        rejected: r#"{"role":"worker","namespaces":[{"match":["backup"],"delegation":"required"}]}"#,
    },
    Key {
        path: "custom_kinds",
        values: "a list of at most 64 entries, each an object that declares a kind",
        default: "the kinds that the policy knows",
        text: "Kinds with `managedBy` that the policy does not know: [kinds of your own](custom-kinds.md). `group`, \
               `kind` and `plural` are required. A kind has one entry, and one that the policy knows cannot be declared.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows"}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"Workflows"}]}"#,
    },
    Key {
        path: "custom_kinds[].versions",
        values: "a list of versions",
        default: "all versions",
        text: "The versions in which the kind is as declared. The policy does not read objects of other versions, and \
               warns.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","versions":["v1alpha1"],"kind":"Workflow","plural":"workflows"}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","versions":["argoproj.io/v1alpha1"],"kind":"Workflow","plural":"workflows"}]}"#,
    },
    Key {
        path: "custom_kinds[].managed_by",
        values: "a path in `spec` of at most 16 names",
        default: "`spec.managedBy`",
        text: "The path of the field. With another path than the default, the API server asks about changes of the field \
               only if the `matchConditions` of your manifest have [two more \
               lines](custom-kinds.md#let-the-api-server-ask).",
        accepted: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","managed_by":"spec.execution.managedBy"}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","managed_by":"managedBy"}]}"#,
    },
    Key {
        path: "custom_kinds[].reserved",
        values: "a value of the field",
        default: "none: only an unset field means the kind's own controller",
        text: "The reserved value: the name of the kind's own controller.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","reserved":"argoproj.io/workflow-controller"}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","reserved":"workflow-controller"}]}"#,
    },
    Key {
        path: "custom_kinds[].form",
        values: "`path`, `any`, or a list of at most 16 values",
        default: "`path`: a domain-prefixed path of at most 63 bytes, as for a Job",
        text: "The values that the kind's own API accepts. The policy warns about another value.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","form":["argoproj.io/workflow-controller","kueue.x-k8s.io/multikueue"]}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","form":"open"}]}"#,
    },
    Key {
        path: "custom_kinds[].holder",
        values: "`workload`, `template`",
        default: "`workload`",
        text: "What the field delegates: the object itself (`workload`), so it never changes, or what is created from the \
               object later (`template`), so it may change.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"CronWorkflow","plural":"cronworkflows","managed_by":"spec.workflowSpec.managedBy","holder":"template"}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"CronWorkflow","plural":"cronworkflows","holder":"cron"}]}"#,
    },
    Key {
        path: "custom_kinds[].status",
        values: "an object with `success`, `failure`, `start`, `end`, `counters` and `totals`, each as you like",
        default: "the status is not judged",
        text: "What the rules need to know about the status. The policy does not judge what you leave out.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"start":"status.startedAt","end":"status.finishedAt"}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"begin":"status.startedAt"}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.success",
        values: "`{condition: TYPE}`, or `{path: PATH, values: [WORD, ...]}`",
        default: "success is not judged",
        text: "What says that the workload has succeeded: a condition in `status.conditions` that is true, or a field \
               with one of the listed values.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"success":{"path":"status.phase","values":["Succeeded"]}}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"success":{"path":"status.phase"}}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.failure",
        values: "as `success`",
        default: "failure is not judged",
        text: "What says that the workload has failed. Leave it out if the kind's controller may try again after a \
               failure.",
        accepted: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","status":{"success":{"condition":"Done"},"failure":{"condition":"Broken"}}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","status":{"success":{"condition":"Done"},"failure":{"condition":""}}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.start",
        values: "a path in `status`",
        default: "none",
        text: "The time when the workload started. `status/end-before-start` compares it with `end`.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"start":"status.startedAt"}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"start":"startedAt"}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.end",
        values: "a path in `status`",
        default: "none",
        text: "The time when the workload ended. It must not change after an outcome.",
        accepted: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"end":"status.finishedAt"}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"argoproj.io","kind":"Workflow","plural":"workflows","status":{"end":"metadata.deletionTimestamp"}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.counters",
        values: "a list of at most 16 paths in `status`; `[]` after a name stands for each element of a list or map",
        default: "none",
        text: "Numbers that must not be negative.",
        accepted: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","status":{"counters":["status.frames.left","status.workers[].failed"]}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"studio.example.com","kind":"Render","plural":"renders","status":{"counters":["status.workers.[].failed"]}}]}"#,
    },
    Key {
        path: "custom_kinds[].status.totals",
        values: "a list of at most 16 paths in `status`",
        default: "none",
        text: "Numbers that must not be negative and, while the object is not delegated, must not decrease.",
        accepted: r#"{"custom_kinds":[{"group":"sparkoperator.k8s.io","kind":"SparkApplication","plural":"sparkapplications","status":{"totals":["status.executionAttempts"]}}]}"#,
        rejected: r#"{"custom_kinds":[{"group":"sparkoperator.k8s.io","kind":"SparkApplication","plural":"sparkapplications","status":{"totals":["status.attempts[]"]}}]}"#,
    },
    Key {
        path: "standard_status_writers",
        values: "an object: kinds, each with a list of users and groups",
        default: "everybody whom RBAC allows",
        text: "Who may write the status of workloads that are not delegated (`status-writer/standard`). List every \
               controller that writes it, also those of parents, and only what is installed: [status \
               writers](status-writers.md) has the names. Where delegation is required, the same list says who creates \
               the children of the kind (`managed-by/delegation`).",
        accepted: r#"{"standard_status_writers":{"Job":["system:serviceaccount:kube-system:job-controller","system:serviceaccount:kueue-system:kueue-controller-manager","system:serviceaccount:jobset-system:jobset-controller-manager"]}}"#,
        rejected: r#"{"standard_status_writers":{"Job":[]}}"#,
    },
    Key {
        path: "exempt.users",
        values: "a list of users",
        default: "nobody",
        text: "Users for whom site-specific rules (`managed-by/allowed`, `managed-by/delegation`, \
               `managed-by/pruned-version`, `managed-by/updates-too-large`, `status-writer/...`, `pods/...`) do not deny, \
               for emergencies. A warning and the audit annotation `exempted` name the skipped rules. Other rules still deny.",
        accepted: r#"{"exempt":{"users":["break-glass"]}}"#,
        rejected: r#"{"exempt":{"users":["system:masters"]}}"#,
    },
    Key {
        path: "exempt.groups",
        values: "a list of groups",
        default: "nobody",
        text: "The same for members of groups.",
        accepted: r#"{"exempt":{"groups":["system:masters","kubeadm:cluster-admins"]}}"#,
        rejected: r#"{"exempt":{"group":["system:masters"]}}"#,
    },
    Key {
        path: "on_lookup_failure",
        values: "`allow`, `deny`",
        default: "`allow`, with a warning",
        text: "What happens to a pod if `pods/delegated-owner` may not read its Job, or cannot reach the API server. A \
               denial has code 503, so controllers retry. A look-up of more than two seconds is denied in any case, with code 500.",
        accepted: r#"{"role":"management","on_lookup_failure":"deny"}"#,
        rejected: r#"{"role":"management","on_lookup_failure":"warn"}"#,
    },
    Key {
        path: "rules",
        values: "an object: rule ids, each `deny`, `warn` or `off`",
        default: "each rule's own default",
        text: "What each rule does. [Rules](rules/README.md) lists the ids.",
        accepted: r#"{"rules":{"managed-by/reserved-domain":"deny"}}"#,
        rejected: r#"{"rules":{"managed-by/reserved-domain":"error"}}"#,
    },
];
