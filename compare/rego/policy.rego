# The same rules in Rego, for OPA as an admission webhook. Gatekeeper runs the same rules in a ConstraintTemplate.
# settings.yml defines the rules.
package managedby

import rego.v1

request := input.request

new := request.object

old := request.oldObject if request.oldObject != null

is_create if request.operation == "CREATE"

is_update if {
	request.operation == "UPDATE"
	object.get(request, "subResource", "") == ""
}

is_status if object.get(request, "subResource", "") == "status"

# The AdmissionReview response.
main := {
	"apiVersion": "admission.k8s.io/v1",
	"kind": "AdmissionReview",
	"response": response,
}

response := {"uid": request.uid, "allowed": true, "warnings": [w | some w in warn]} if count(deny) == 0

response := {
	"uid": request.uid,
	"allowed": false,
	"warnings": [w | some w in warn],
	"status": {"code": 422, "message": concat(", ", sort(deny))},
} if count(deny) > 0

### The field

reserved := {"Job": "kubernetes.io/job-controller", "JobSet": "jobset.sigs.k8s.io/jobset-controller"}

allowed := {
	"Job": ["acme.io/runner", "kueue.x-k8s.io/multikueue"],
	"JobSet": ["kueue.x-k8s.io/multikueue"],
}

kind := request.kind.kind

value := new.spec.managedBy

is_changed if {
	is_update
	object.get(new.spec, "managedBy", null) != object.get(old.spec, "managedBy", null)
}

is_incoming if is_create

is_incoming if is_changed

deny contains "spec.managedBy: field is immutable" if is_changed

deny contains "spec.managedBy: must be a domain-prefixed path of at most 63 bytes" if {
	is_incoming
	not is_path(value)
}

is_path(v) if {
	count(v) <= 63
	regex.match(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`, v)
}

is_delegated(spec) if {
	spec.managedBy
	spec.managedBy != reserved[kind]
}

is_exempt if "system:masters" in request.userInfo.groups

site contains message if {
	is_incoming
	is_delegated(new.spec)
	not value in allowed[kind]
	message := sprintf("spec.managedBy: Unsupported value: %q: supported values: %s", [value, concat(", ", allowed[kind])])
}

site contains "spec.managedBy: a workload must be delegated on a management cluster, to kueue.x-k8s.io/multikueue for example" if {
	is_incoming
	not is_delegated(new.spec)
	object.get(object.get(new.metadata, "labels", {}), "example.com/runs-here", "") != "true"
	not is_child
}

is_child if {
	some owner in new.metadata.ownerReferences
	owner.controller
	owner.kind in ["Job", "JobSet"]
}

site contains "only the controller may write the status of a delegated workload" if {
	is_status
	is_delegated(old.spec)
	request.userInfo.username != "system:serviceaccount:kueue-system:kueue-controller-manager"
}

deny contains message if {
	some message in site
	not is_exempt
	not new.metadata.deletionTimestamp
}

warn contains sprintf("would have been denied, but the user is exempt: %s", [message]) if {
	some message in site
	is_exempt
}

# Templates of a workload, at any depth.
warn contains sprintf("%s: no controller would reconcile this object", [concat(".", [sprintf("%v", [p]) | some p in path])]) if {
	not is_status
	kind == "JobSet"
	walk(new.spec, [path, child])
	path[count(path) - 1] == "managedBy"
	count(path) > 1
	child != "kubernetes.io/job-controller"
	not same_controller(child)
}

same_controller(child) if {
	child == value
	child != "kueue.x-k8s.io/multikueue"
}

### The status of a JobSet

true_conditions(o) := {c.type | some c in object.get(object.get(o, "status", {}), "conditions", []); c.status == "True"}

is_true := true_conditions(new)

was_true := true_conditions(old)

is_delegated_jobset if {
	is_status
	kind == "JobSet"
	is_delegated(old.spec)
}

deny contains "status.conditions: cannot disable a terminal condition" if {
	is_delegated_jobset
	some end in ["Completed", "Failed"]
	end in was_true
	not end in is_true
}

deny contains "status.conditions: cannot be both Completed and Failed" if {
	is_delegated_jobset
	{"Completed", "Failed"} - is_true == set()
	{"Completed", "Failed"} - was_true != set()
}

deny contains "status: counters must be greater than or equal to 0" if {
	is_delegated_jobset
	walk(new.status, [path, number])
	path[count(path) - 1] in ["restarts", "restartsCountTowardsMax", "active", "failed", "ready", "succeeded", "suspended"]
	is_number(number)
	number < 0
}

### The status of a Job: the rules of kube-apiserver 1.36

is_job_status if {
	is_status
	kind == "Job"
}

new_status := object.get(new, "status", {})

old_status := object.get(old, "status", {})

changed contains c if {
	some c in ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"]
	count({c} & is_true) != count({c} & was_true)
}

changed contains k if {
	some k in [
		"active", "ready", "terminating", "startTime", "completionTime",
		"completedIndexes", "failedIndexes", "uncountedTerminatedPods",
	]
	object.get(new_status, k, null) != object.get(old_status, k, null)
}

ends := {"Complete", "Failed"}

is_finished if count(ends & is_true) > 0

was_finished if count(ends & was_true) > 0

changed contains "finished" if {
	is_finished
	not was_finished
}

changed contains "finished" if {
	not is_finished
	was_finished
}

counter(status, k) := object.get(status, k, 0)

is_indexed if new.spec.completionMode == "Indexed"

uncounted := array.concat(
	object.get(object.get(new_status, "uncountedTerminatedPods", {}), "succeeded", []),
	object.get(object.get(new_status, "uncountedTerminatedPods", {}), "failed", []),
)

job contains "status: must be greater than or equal to 0" if {
	some k in ["active", "succeeded", "failed", "ready", "terminating"]
	counter(new_status, k) < 0
}

job contains "status.uncountedTerminatedPods: must not be empty" if "" in uncounted

job contains "status.uncountedTerminatedPods: Duplicate value" if count({u | some u in uncounted}) != count(uncounted)

job contains "status.conditions: cannot set Complete=True and Failed=true conditions" if {
	count(changed & {"Complete", "Failed"}) > 0
	{"Complete", "Failed"} - is_true == set()
}

job contains "status.conditions: cannot set Complete=True and FailureTarget=true conditions" if {
	count(changed & {"Complete", "FailureTarget"}) > 0
	{"Complete", "FailureTarget"} - is_true == set()
}

job contains "status.completionTime: cannot set completionTime when there is no Complete=True condition" if {
	count(changed & {"Complete", "completionTime"}) > 0
	new_status.completionTime
	not "Complete" in is_true
}

job contains "status.completionTime: completionTime is required for Complete jobs" if {
	count(changed & {"Complete", "completionTime"}) > 0
	not new_status.completionTime
	"Complete" in is_true
}

job contains "status.completionTime: must be equal to or after `startTime`" if {
	count(changed & {"startTime", "completionTime"}) > 0
	time.parse_rfc3339_ns(new_status.completionTime) < time.parse_rfc3339_ns(new_status.startTime)
}

job contains "status.conditions: cannot set Failed=True condition without the FailureTarget=true condition" if {
	count(changed & {"Failed", "failedIndexes"}) > 0
	"Failed" in is_true
	not "FailureTarget" in is_true
}

job contains "status.conditions: cannot set Complete=True condition without the SuccessCriteriaMet=true condition" if {
	count(changed & {"Complete", "SuccessCriteriaMet"}) > 0
	"Complete" in is_true
	not "SuccessCriteriaMet" in is_true
}

job contains "status.active: active>0 is invalid for finished job" if {
	count(changed & {"finished", "active"}) > 0
	is_finished
	counter(new_status, "active") > 0
}

job contains "status.startTime: startTime is required for finished job" if {
	count(changed & {"finished", "startTime"}) > 0
	is_finished
	not new_status.startTime
	not nothing_to_start
}

nothing_to_start if {
	new.spec.suspend
	new.spec.completions == 0
}

job contains "status.uncountedTerminatedPods: must be empty for finished job" if {
	count(changed & {"finished", "uncountedTerminatedPods"}) > 0
	is_finished
	count(uncounted) > 0
}

job contains sprintf("status.%s: error parsing", [k]) if {
	some k in ["completedIndexes", "failedIndexes"]
	k in changed
	new.spec.completions
	is_evaluated(k)
	text := object.get(new_status, k, "")
	text != ""
	not is_index_list(text, new.spec.completions)
}

is_evaluated("completedIndexes")

is_evaluated("failedIndexes") if "backoffLimitPerIndex" in object.keys(new.spec)

numbers(text) := [to_number(n) | some i in split(text, ","); some n in split(i, "-")]

is_index_list(text, completions) if {
	regex.match(`^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`, text)
	list := numbers(text)
	list == sort(list)
	count({n | some n in list}) == count(list)
	list[count(list) - 1] < completions
}

job contains "status.completedIndexes: cannot set non-empty completedIndexes when non-indexed completion mode" if {
	"completedIndexes" in changed
	object.get(new_status, "completedIndexes", "") != ""
	not is_indexed
}

job contains "status.failedIndexes: cannot set non-null failedIndexes when backoffLimitPerIndex is null" if {
	"failedIndexes" in changed
	"failedIndexes" in object.keys(new_status)
	not "backoffLimitPerIndex" in object.keys(new.spec)
}

job contains "status.failedIndexes: failedIndexes and completedIndexes overlap" if {
	count(changed & {"failedIndexes", "completedIndexes"}) > 0
	some f in split(new_status.failedIndexes, ",")
	some c in split(new_status.completedIndexes, ",")
	fs := [to_number(n) | some n in split(f, "-")]
	cs := [to_number(n) | some n in split(c, "-")]
	fs[0] <= cs[count(cs) - 1]
	cs[0] <= fs[count(fs) - 1]
}

job contains "status.terminating: terminating>0 is invalid for finished job" if {
	count(changed & {"finished", "terminating"}) > 0
	is_finished
	counter(new_status, "terminating") > 0
}

job contains "status.ready: cannot set more ready pods than active" if {
	count(changed & {"ready", "active"}) > 0
	counter(new_status, "ready") > counter(new_status, "active")
}

job contains "status.conditions: cannot set SuccessCriteriaMet=True and Failed=true conditions" if {
	{"SuccessCriteriaMet", "Failed"} - is_true == set()
}

job contains "status.conditions: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions" if {
	{"SuccessCriteriaMet", "FailureTarget"} - is_true == set()
}

job contains "status.conditions: cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True" if {
	"successPolicy" in object.keys(new.spec)
	"Complete" in is_true
	not "SuccessCriteriaMet" in is_true
}

job contains sprintf("status.conditions: cannot disable the terminal %s=True condition", [c]) if {
	some c in ["Failed", "Complete", "FailureTarget"]
	c in was_true
	not c in is_true
}

job contains "status.failed: cannot decrease the failed counter" if counter(new_status, "failed") < counter(old_status, "failed")

job contains "status.succeeded: cannot decrease the succeeded counter" if {
	counter(new_status, "succeeded") < counter(old_status, "succeeded")
	not is_elastic
}

is_elastic if {
	is_indexed
	object.get(new.spec, "completions", null) == object.get(new.spec, "parallelism", null)
}

job contains "status.completionTime: field is immutable" if {
	time.parse_rfc3339_ns(new_status.completionTime) != time.parse_rfc3339_ns(old_status.completionTime)
}

job contains "status.startTime: field is immutable for unsuspended job once set" if {
	old_status.startTime
	not same_start
	not object.get(new.spec, "suspend", false)
	not is_resuming
}

same_start if time.parse_rfc3339_ns(new_status.startTime) == time.parse_rfc3339_ns(old_status.startTime)

is_resuming if {
	"Suspended" in was_true
	some c in new_status.conditions
	c.type == "Suspended"
	c.status == "False"
}

job contains "status.conditions: cannot disable the SuccessCriteriaMet=True condition" if {
	"SuccessCriteriaMet" in was_true
	not "SuccessCriteriaMet" in is_true
}

job contains "status.conditions: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions" if {
	"Complete" in was_true
	not "SuccessCriteriaMet" in was_true
	"SuccessCriteriaMet" in is_true
}

deny contains message if {
	is_job_status
	some message in job
}
