package mirror_test

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/examples/mirror"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// TestJobRunsToCompletion shows a typical test: it checks every status that the reconciler writes, for each release that the
// reconciler supports. (1.30 requires a success policy for SuccessCriteriaMet, which workers of later releases write, so this
// controller does not support it.)
func TestJobRunsToCompletion(t *testing.T) {
	run(t, t, mirror.Reconciler{}, managedby.Since(managedby.V1_31))
}

// TestSuspendedStatusNotCopied reproduces https://github.com/kubernetes-sigs/kueue/issues/11614: the status of a suspended Job
// stays empty, so its nodeSelector cannot change on 1.36.0 and 1.36.1.
func TestSuspendedStatusNotCopied(t *testing.T) {
	for _, test := range []struct {
		release managedby.Release
		want    string
	}{
		{managedby.V1_35, ""},
		{managedby.V1_36_1, `mirror.go:90: Update of Job default/pi:
    Kubernetes 1.36.0 to 1.36.1: Job.batch "pi" is invalid: spec.template: Invalid value: field is immutable`},
		{managedby.V1_36, ""},
		{managedby.V1_37, ""},
	} {
		t.Run(string(test.release), func(t *testing.T) {
			r := recorded.New(t.Context())
			run(t, r, mirror.Reconciler{SkipSuspended: true}, managedby.Releases{test.release})
			got := strings.Join(r.Failures, "\n")
			if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
				t.Errorf("got failures %q, want prefix %q", got, test.want)
			}
		})
	}
}

// run reconciles a Job that is created suspended, until it completes.
func run(t *testing.T, checked managedbytest.T, r mirror.Reconciler, releases managedby.Releases) {
	t.Helper()
	yes, one := true, int32(1)
	controller := mirror.ControllerName
	r.Worker = fake.NewClientBuilder().Build()
	r.Hub = fake.NewClientBuilder().
		WithObjects(&batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi"},
			Spec:       batchv1.JobSpec{ManagedBy: &controller, Suspend: &yes, Parallelism: &one, Completions: &one},
		}).
		WithInterceptorFuncs(managedbyclient.Funcs(checked, managedby.WithReleases(releases...))).
		Build()
	key := client.ObjectKey{Namespace: "default", Name: "pi"}
	// step returns false if a write was denied, which is a failure of checked.
	step := func() bool {
		t.Helper()
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		if err != nil && !apierrors.IsInvalid(err) {
			t.Fatal(err)
		}
		return err == nil
	}
	// The test simulates the worker's Job controller.
	workerWrites := func(status batchv1.JobStatus) {
		t.Helper()
		var job batchv1.Job
		get(t, r.Worker, key, &job)
		job.Status = status
		if err := r.Worker.Status().Update(t.Context(), &job); err != nil {
			t.Fatal(err)
		}
		step()
	}
	start := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	end := metav1.NewTime(start.Add(5 * time.Minute))
	condition := func(conditionType batchv1.JobConditionType, status corev1.ConditionStatus, at metav1.Time) batchv1.JobCondition {
		return batchv1.JobCondition{Type: conditionType, Status: status, LastProbeTime: at, LastTransitionTime: at}
	}

	step()
	workerWrites(batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobSuspended, corev1.ConditionTrue, start)}})

	var job batchv1.Job
	get(t, r.Hub, key, &job)
	job.Annotations = map[string]string{mirror.PoolAnnotation: "gpu"}
	if err := r.Hub.Update(t.Context(), &job); err != nil {
		t.Fatal(err)
	}
	if !step() {
		return
	}
	get(t, r.Hub, key, &job)
	if *job.Spec.Suspend || job.Spec.Template.Spec.NodeSelector["pool"] != "gpu" {
		t.Fatalf("not admitted: %+v", job.Spec)
	}

	resumed := condition(batchv1.JobSuspended, corev1.ConditionFalse, start)
	workerWrites(batchv1.JobStatus{
		StartTime: &start, Active: 1, Ready: &one, Terminating: new(int32), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions: []batchv1.JobCondition{resumed},
	})
	met := condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, end)
	workerWrites(batchv1.JobStatus{
		StartTime: &start, Ready: new(int32), Terminating: new(int32), Succeeded: 1,
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}, Conditions: []batchv1.JobCondition{resumed, met},
	})
	workerWrites(batchv1.JobStatus{
		StartTime: &start, CompletionTime: &end, Ready: new(int32), Terminating: new(int32), Succeeded: 1,
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions:              []batchv1.JobCondition{resumed, met, condition(batchv1.JobComplete, corev1.ConditionTrue, end)},
	})
	get(t, r.Hub, key, &job)
	if conditions := job.Status.Conditions; len(conditions) != 3 || conditions[2].Type != batchv1.JobComplete {
		t.Errorf("not finished: %+v", job.Status)
	}
}

func get(t *testing.T, c client.Client, key client.ObjectKey, job *batchv1.Job) {
	t.Helper()
	*job = batchv1.Job{}
	if err := c.Get(context.Background(), key, job); err != nil {
		t.Fatal(err)
	}
}
