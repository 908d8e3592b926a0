package conformance

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Core is the test that every controller of Jobs must pass.
const Core = "Core"

// test creates the Jobs for one profile of `managed-by conformance`, whose name it has.
type test struct {
	name string
	jobs []job
}

// job is a Job that a test creates, with the changes that it makes while the Job runs.
type job struct {
	name string
	// script runs in each pod, with /bin/sh.
	script string
	spec   batchv1.JobSpec
	steps  []step
}

// step is a change of a Job.
type step struct {
	// title completes the sentence "The test could not".
	title string
	// after returns true if the Job is ready for the change.
	after func(*batchv1.Job) bool
	// patch is a merge patch.
	patch string
}

// tests lists Core, and then a test for each extended feature. Each state of a Job lasts some seconds, because a controller that copies the status
// from another cluster may be slow, and skip states.
var tests = []test{
	{Core, []job{
		// Each Job counts more than one pod, because only a later write could decrease the counter.
		{name: "complete", script: "sleep 5", spec: batchv1.JobSpec{Completions: ptr[int32](2), Parallelism: ptr[int32](1)}},
		{name: "fail", script: "sleep 5; exit 1", spec: batchv1.JobSpec{BackoffLimit: ptr[int32](1)}},
	}},
	{"Suspend", []job{{name: "suspend", script: "sleep 15", steps: []step{
		{"suspend the Job", isActive, `{"spec":{"suspend":true}}`},
		{"resume the Job", isSuspended, `{"spec":{"suspend":false}}`},
	}}}},
	{"Indexed", []job{{name: "indexed", script: "sleep 5", spec: indexed(4, 2)}}},
	{"BackoffLimitPerIndex", []job{{name: "per-index", script: "sleep 5; test $JOB_COMPLETION_INDEX != 1", spec: with(indexed(3, 3), func(spec *batchv1.JobSpec) {
		spec.BackoffLimitPerIndex = ptr[int32](0)
	})}}},
	{"SuccessPolicy", []job{{name: "success", script: "sleep 5; test $JOB_COMPLETION_INDEX = 0 || sleep 3600", spec: with(indexed(2, 2), func(spec *batchv1.JobSpec) {
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr("0")}}}
	})}}},
	{"PodFailurePolicy", []job{{name: "failure", script: "sleep 5; exit 42", spec: batchv1.JobSpec{
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
		}}},
	}}}},
	// The failure of one pod terminates the other.
	{"PodReplacementPolicy", []job{{
		name:   "replacement",
		script: "test $JOB_COMPLETION_INDEX = 0 && { sleep 5; exit 1; }; trap 'sleep 10; exit 1' TERM; sleep 3600 & wait",
		spec: with(indexed(2, 2), func(spec *batchv1.JobSpec) {
			spec.BackoffLimit = ptr[int32](0)
			spec.PodReplacementPolicy = ptr(batchv1.Failed)
		}),
	}}},
	{"Elastic", []job{{name: "elastic", script: "sleep 15", spec: indexed(4, 4), steps: []step{
		{"scale the Job", isActive, `{"spec":{"parallelism":2,"completions":2}}`},
	}}}},
	// Several Jobs, because a controller that is fast enough copies the last two states one after the other.
	{"Mirror", []job{
		{name: "mirror-complete-1", script: "sleep 1"},
		{name: "mirror-complete-2", script: "sleep 2"},
		{name: "mirror-complete-3", script: "sleep 3"},
		{name: "mirror-fail-1", script: "sleep 1; exit 1", spec: batchv1.JobSpec{BackoffLimit: ptr[int32](0)}},
		{name: "mirror-fail-2", script: "sleep 2; exit 1", spec: batchv1.JobSpec{BackoffLimit: ptr[int32](0)}},
		{name: "mirror-fail-3", script: "sleep 3; exit 1", spec: batchv1.JobSpec{BackoffLimit: ptr[int32](0)}},
	}},
}

func indexed(completions, parallelism int32) batchv1.JobSpec {
	return batchv1.JobSpec{CompletionMode: ptr(batchv1.IndexedCompletion), Completions: &completions, Parallelism: &parallelism}
}

func with(spec batchv1.JobSpec, change func(*batchv1.JobSpec)) batchv1.JobSpec {
	change(&spec)
	return spec
}

// manifest returns the Job to create in a run.
func (j *job) manifest(o *Options, run string) *batchv1.Job {
	spec := j.spec.DeepCopy()
	if o.Controller != "" {
		spec.ManagedBy = &o.Controller
	}
	spec.Template.Spec = corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: ptr[int64](20),
		Containers: []corev1.Container{{
			Name: "main", Image: o.Image, Command: []string{"/bin/sh", "-c", j.script},
			// MultiKueue never dispatches a Job that requests nothing of what its queue has a quota for.
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}},
		}},
	}
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: run + "-" + j.name, Labels: o.Labels}, Spec: *spec}
}

func isActive(job *batchv1.Job) bool { return job.Status.StartTime != nil && job.Status.Active > 0 }

func isSuspended(job *batchv1.Job) bool { return has(job, batchv1.JobSuspended) }

func isFinished(job *batchv1.Job) bool { return has(job, batchv1.JobComplete, batchv1.JobFailed) }

// has returns true if a condition of one of the types is True.
func has(job *batchv1.Job, types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Status == corev1.ConditionTrue && slices.Contains(types, condition.Type)
	})
}

func ptr[T any](value T) *T { return &value }
