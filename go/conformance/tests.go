package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// Core is the test that every controller of Jobs must pass.
const Core = "Core"

// test creates the Jobs for one profile of `managed-by conformance`, whose name it has.
type test struct {
	name string
	jobs []*job
}

// job is a Job that a test creates, with the changes that it makes while the Job runs.
type job struct {
	name string
	// script runs in each pod, with /bin/sh.
	script string
	spec   batchv1.JobSpec
	steps  []step
	// foreign says whose Job it is, if it is not the controller's.
	foreign foreign
	want    outcome

	// test is the name of the test, and object the random name of the object.
	test, object string
	// createdAt is when the test sent the Job.
	createdAt time.Time
	// isCreated is true if the Job exists, and isDelegated if a webhook set managedBy of a Job without it.
	isCreated, isDelegated bool
}

// foreign is a reason why the controller must leave a Job alone.
type foreign string

const (
	// another means that managedBy names another controller.
	another foreign = "names another controller"
	// unset means that the Job has no managedBy.
	unset foreign = "has no managedBy"
)

// step is a change of a Job.
type step struct {
	// title completes the sentence "The test could not".
	title string
	// after returns true if the Job is ready for the change.
	after func(*batchv1.Job) bool
	// patch is a merge patch of fields of the spec.
	patch string
}

// newTests returns Core, and then a test for each extended feature. Each state of a Job lasts some seconds, because a controller that copies the
// status from another cluster may be slow, and skip states. Which Jobs and indexes of Core and BackoffLimitPerIndex fail is random, and only those
// who run the script can know it.
func newTests(seed uint64) []test {
	random := rand.New(rand.NewPCG(seed, 0))
	between := func(low, high int32) int32 { return low + random.Int32N(high-low+1) }
	core := []*job{{name: "another", script: "exit 0", foreign: another}, {name: "unset", script: "exit 0", foreign: unset}}
	fails := []bool{true, true, true, false, false, false, random.IntN(2) == 0}
	for i, fails := range fails {
		script, seconds := hidden(random, fails)
		// Both kinds of Jobs look the same.
		completions, backoffLimit := between(2, 3), between(0, 1)
		// A controller that ignores one of them must not pass.
		switch i {
		case 0, 1:
			backoffLimit = int32(i)
		case 3, 4:
			completions = int32(i) - 1
		}
		next := &job{name: fmt.Sprintf("complete-%d", i+1), script: script, want: outcome{end: batchv1.JobComplete, succeeded: completions}}
		pods := completions
		if fails {
			pods = backoffLimit + 1
			next.name, next.want = fmt.Sprintf("fail-%d", i+1), outcome{end: batchv1.JobFailed, failed: pods}
		}
		next.spec = batchv1.JobSpec{Parallelism: ptr[int32](1), Completions: &completions, BackoffLimit: &backoffLimit}
		next.want.takes = time.Duration(int(pods)*seconds[0]) * time.Second
		core = append(core, next)
	}
	completions := between(3, 5)
	failing := make([]bool, between(4, 6))
	var completed, failed []int
	for completed == nil || failed == nil {
		completed, failed = nil, nil
		for i := range failing {
			if failing[i] = random.IntN(2) == 0; failing[i] {
				failed = append(failed, i)
			} else {
				completed = append(completed, i)
			}
		}
	}
	perIndex, _ := hidden(random, failing...)
	code := between(40, 90)
	return []test{
		{Core, core},
		{"Suspend", []*job{{name: "suspend", script: "sleep 15", want: outcome{end: batchv1.JobComplete, succeeded: 1, suspended: 1, takes: 15 * time.Second}, steps: []step{
			{"suspend the Job", isActive, `{"suspend":true}`},
			{"resume the Job", isSuspended, `{"suspend":false}`},
		}}}},
		{"Indexed", []*job{{name: "indexed", script: "sleep 5", spec: indexed(completions, 2), want: outcome{
			end: batchv1.JobComplete, succeeded: completions, completed: to(completions), takes: 5 * time.Second * time.Duration((completions+1)/2),
		}}}},
		{"BackoffLimitPerIndex", []*job{{name: "per-index", script: perIndex, spec: with(indexed(int32(len(failing)), int32(len(failing))), func(spec *batchv1.JobSpec) {
			spec.BackoffLimitPerIndex = ptr[int32](0)
		}), want: outcome{end: batchv1.JobFailed, succeeded: int32(len(completed)), failed: int32(len(failed)), completed: completed, failedIndexes: failed}}}},
		{"SuccessPolicy", []*job{{name: "success", script: "sleep 5; test $JOB_COMPLETION_INDEX = 0 || sleep 3600", spec: with(indexed(2, 2), func(spec *batchv1.JobSpec) {
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr("0")}}}
		}), want: outcome{end: batchv1.JobComplete, succeeded: 1, completed: to(1), takes: 5 * time.Second}}}},
		{"PodFailurePolicy", []*job{{name: "failure", script: fmt.Sprintf("sleep 5; exit %d", code), spec: batchv1.JobSpec{
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action:      batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}},
			}}},
		}, want: outcome{end: batchv1.JobFailed, failed: 1, takes: 5 * time.Second}}}},
		// The failure of one pod terminates the other.
		{"PodReplacementPolicy", []*job{{
			name:   "replacement",
			script: "test $JOB_COMPLETION_INDEX = 0 && { sleep 5; exit 1; }; trap 'sleep 10; exit 1' TERM; sleep 3600 & wait",
			spec: with(indexed(2, 2), func(spec *batchv1.JobSpec) {
				spec.BackoffLimit = ptr[int32](0)
				spec.PodReplacementPolicy = ptr(batchv1.Failed)
			}),
			want: outcome{end: batchv1.JobFailed, failed: 1, takes: 5 * time.Second},
		}}},
		{"Elastic", []*job{{name: "elastic", script: "sleep 15", spec: indexed(4, 4), steps: []step{
			{"scale the Job", isActive, `{"parallelism":2,"completions":2}`},
		}, want: outcome{end: batchv1.JobComplete, succeeded: 2, completed: to(2), takes: 15 * time.Second}}}},
		// Several Jobs, because a controller that is fast enough copies the last two states one after the other.
		{"Mirror", append(short("complete", "exit 0", outcome{end: batchv1.JobComplete, succeeded: 1}), short("fail", "exit 1", outcome{end: batchv1.JobFailed, failed: 1})...)},
	}
}

// hidden returns a script that fails at the given indexes, which only those who run it can know, and the seconds that each index takes.
func hidden(random *rand.Rand, fails ...bool) (string, []int) {
	const script = "x=$((%d + ${JOB_COMPLETION_INDEX:-0})); i=0; while [ $i -lt 20 ]; do x=$(((x * x + i) %% 65537)); i=$((i + 1)); done; sleep $((3 + x %% 3)); exit $((x / 3 %% 2))"
	for {
		seed, seconds := random.IntN(65000), make([]int, len(fails))
		matches := true
		for index, fails := range fails {
			x := seed + index
			for i := range 20 {
				x = (x*x + i) % 65537
			}
			seconds[index] = 3 + x%3
			matches = matches && fails == (x/3%2 == 1)
		}
		if matches {
			return fmt.Sprintf(script, seed), seconds
		}
	}
}

// short returns three Jobs of one pod.
func short(name, exit string, want outcome) []*job {
	var jobs []*job
	for i := range 3 {
		jobs = append(jobs, &job{name: fmt.Sprintf("mirror-%s-%d", name, i+1), script: fmt.Sprintf("sleep %d; %s", i+1, exit), spec: batchv1.JobSpec{BackoffLimit: ptr[int32](0)}, want: want})
	}
	return jobs
}

// to returns the indexes below a number.
func to(end int32) []int {
	var indexes []int
	for i := range int(end) {
		indexes = append(indexes, i)
	}
	return indexes
}

func indexed(completions, parallelism int32) batchv1.JobSpec {
	return batchv1.JobSpec{CompletionMode: ptr(batchv1.IndexedCompletion), Completions: &completions, Parallelism: &parallelism}
}

func with(spec batchv1.JobSpec, change func(*batchv1.JobSpec)) batchv1.JobSpec {
	change(&spec)
	return spec
}

// manifest returns the Job to create.
func (j *job) manifest(o *Options) *batchv1.Job {
	spec := j.spec.DeepCopy()
	switch {
	case j.foreign == another:
		spec.ManagedBy = ptr("example.com/" + utilrand.String(8))
	case j.foreign == "" && o.Controller != "":
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
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: j.object, Labels: o.Labels}, Spec: *spec}
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
