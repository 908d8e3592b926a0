package managedbyclient_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	clientsetfake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbyreactor"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

func ptr[T any](value T) *T { return &value }

func job() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "default"},
		Spec:       batchv1.JobSpec{ManagedBy: ptr("acme.io/runner")},
	}
}

var start = metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))

func clientOf(r *recorded.T, objects ...client.Object) client.WithWatch {
	releases := managedby.WithReleases(managedby.Since(managedby.V1_31)...)
	return managedbyclient.NewWithWatch(r, fake.NewClientBuilder().WithObjects(objects...).Build(), releases)
}

func get(t *testing.T, c client.Client) *batchv1.Job {
	t.Helper()
	obj := &batchv1.Job{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "pi"}, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestApplyDryRun checks server-side apply with dry run, for which the fake client returns an empty response.
func TestApplyDryRun(t *testing.T) {
	full := func(ready int32) *batchv1.Job {
		j := job()
		j.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
		j.Status = batchv1.JobStatus{StartTime: &start, Active: 1, Ready: &ready}
		return j
	}
	for name, write := range map[string]func(ctx context.Context, c client.Client, ready int32) error{
		"Status().Patch": func(ctx context.Context, c client.Client, ready int32) error {
			//lint:ignore SA1019 Controllers still use client.Apply.
			return c.Status().Patch(ctx, full(ready), client.Apply, client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll)
		},
		"Status().Apply": func(ctx context.Context, c client.Client, ready int32) error {
			status := applybatchv1.JobStatus().WithStartTime(start).WithActive(1).WithReady(ready)
			return c.Status().Apply(ctx, applybatchv1.Job("pi", "default").WithStatus(status), client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll)
		},
	} {
		for _, ready := range []int32{1, 2} {
			r := recorded.New(t.Context())
			c := clientOf(r, job())
			err := write(t.Context(), c, ready)
			if denied := ready == 2; apierrors.IsInvalid(err) != denied || !denied && err != nil || (len(r.Failures) == 1) != denied {
				t.Errorf("%s, %d ready: %v, %v", name, ready, err, r.Failures)
			}
		}
	}
	r := recorded.New(t.Context())
	bad := applybatchv1.Job("other", "default").WithSpec(applybatchv1.JobSpec().WithManagedBy("runner"))
	if err := clientOf(r).Apply(t.Context(), bad, client.FieldOwner("test"), client.DryRunAll); !apierrors.IsInvalid(err) {
		t.Errorf("the creation of a Job: %v", err)
	}
}

// TestResponseOfAnApplyIsChecked uses a reader that returns the unchanged object after an apply, so only the response contains the
// change.
func TestResponseOfAnApplyIsChecked(t *testing.T) {
	r := recorded.New(t.Context())
	unchanged := fake.NewClientBuilder().WithObjects(job()).Build()
	checked := func() client.Client {
		return managedbyclient.New(r, fake.NewClientBuilder().WithObjects(job()).Build(), managedbyclient.WithReader(unchanged))
	}
	other := applybatchv1.Job("pi", "default").WithSpec(applybatchv1.JobSpec().WithManagedBy("acme.io/other"))
	if err := checked().Apply(t.Context(), other, client.FieldOwner("test"), client.ForceOwnership); !apierrors.IsInvalid(err) {
		t.Errorf("Apply: %v", err)
	}
	bad := get(t, unchanged)
	bad.ResourceVersion, bad.ManagedFields, bad.TypeMeta = "", nil, metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	bad.Status = batchv1.JobStatus{StartTime: &start, Active: 1, Ready: ptr[int32](3)}
	//lint:ignore SA1019 Controllers still use client.Apply.
	if err := checked().Status().Patch(t.Context(), bad, client.Apply, client.FieldOwner("test"), client.ForceOwnership); !apierrors.IsInvalid(err) {
		t.Errorf("Patch: %v", err)
	}
	if len(r.Failures) != 2 {
		t.Errorf("%v", r.Failures)
	}
}

// plain is a client without Watch, like the client of a manager.
type plain struct{ client.Client }

func TestClientWithoutWatch(t *testing.T) {
	r := recorded.New(t.Context())
	store := fake.NewClientBuilder().WithObjects(job()).Build()
	checked := managedbyclient.New(r, plain{store})
	if _, watches := checked.(client.WithWatch); watches {
		t.Error("the client has Watch")
	}
	obj := get(t, checked)
	obj.Status.Ready = ptr[int32](1)
	err := checked.Status().Update(t.Context(), obj)
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) || len(r.Failures) != 1 {
		t.Errorf("%v, %v", err, r.Failures)
	}
	if _, watches := managedbyclient.New(r, store).(client.WithWatch); !watches {
		t.Error("it no longer watches")
	}
}

func TestMain(m *testing.M) {
	managedbyclient.VerifyTestMain(m, func(code int) { fmt.Println("cleaned up:", code) })
}

// TestWriteAfterTheEnd runs a test that passes and leaks a write. The write is denied without a panic, and fails the package.
func TestWriteAfterTheEnd(t *testing.T) {
	if os.Getenv("WRITE_AFTER_THE_END") != "" {
		var c client.Client
		if !t.Run("ends", func(t *testing.T) {
			c = managedbyclient.New(t, fake.NewClientBuilder().WithObjects(job()).Build(), managedbytest.AllowNoWrites())
		}) {
			t.Fatal("it fails")
		}
		late := get(t, c)
		late.Status.Ready = ptr[int32](1)
		if err := c.Status().Update(t.Context(), late); !apierrors.IsInvalid(err) {
			t.Errorf("%v", err)
		}
		return
	}
	output, err := runAgain(t, "^TestWriteAfterTheEnd$", "WRITE_AFTER_THE_END=yes")
	for _, want := range []string{"PASS\n", "after the end of the test: ", "cannot set more ready pods than active", "denied writes after the end of their test: 1\n", "cleaned up: 1\n"} {
		if err == nil || !strings.Contains(output, want) {
			t.Errorf("%v, missing %q:\n%s", err, want, output)
		}
	}
}

// isSet reports whether runAgain set an environment variable.
func isSet(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return os.Getenv(name) == value
}

// runAgain runs tests of this program with an environment variable, and returns the output.
func runAgain(t *testing.T, tests, variable string) (string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), program, "-test.run", tests)
	again.Env = append(os.Environ(), variable)
	output, err := again.CombinedOutput()
	return string(output), err
}

// TestFailureNamesTheCaller runs a failing test, and checks its output.
func TestFailureNamesTheCaller(t *testing.T) {
	if os.Getenv("FAIL_AT_A_LINE") != "" {
		c := managedbyclient.New(t, fake.NewClientBuilder().WithObjects(job()).Build())
		bad := get(t, c)
		bad.Status.Ready = ptr[int32](1)
		_ = c.Status().Update(t.Context(), bad) // the line that is named
		return
	}
	output, err := runAgain(t, "^TestFailureNamesTheCaller$", "FAIL_AT_A_LINE=yes")
	if err == nil {
		t.Fatalf("it passes: %s", output)
	}
	source, err := os.ReadFile("managedbyclient_test.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(source), "// the line that is named")
	want := fmt.Sprintf("    managedbyclient_test.go:%d: Status().Update of Job default/pi:\n", strings.Count(before, "\n")+1)
	if !strings.Contains(output, want) || strings.Contains(output, "managedbyclient.go") {
		t.Errorf("missing %q:\n%s", want, output)
	}
}

// TestErrorsOfTheClient makes writes that fail for other reasons. The code under test gets the client's errors.
func TestErrorsOfTheClient(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, job())
	stale := get(t, c)
	touched := stale.DeepCopy()
	touched.Labels = map[string]string{"touched": "yes"}
	if err := c.Update(t.Context(), touched); err != nil {
		t.Fatal(err)
	}
	stale.Status.Ready = ptr[int32](1)
	old := stale.DeepCopy()
	old.Status.Ready = nil
	if err := c.Status().Patch(t.Context(), stale, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("a stale patch: %v", err)
	}
	if err := c.Status().Patch(t.Context(), get(t, c), client.RawPatch(types.JSONPatchType, []byte("nonsense"))); err == nil {
		t.Error("an invalid patch is accepted")
	}
	missing := job()
	missing.Name = "missing"
	if err := c.Status().Update(t.Context(), missing); !apierrors.IsNotFound(err) {
		t.Errorf("an update of nothing: %v", err)
	}
	clientset, status := clientsetfake.NewClientset(), applybatchv1.JobStatus().WithActive(-1)
	managedbyreactor.Prepend(r, clientset)
	options := metav1.ApplyOptions{FieldManager: "test"}
	if _, err := clientset.BatchV1().Jobs("default").ApplyStatus(t.Context(), applybatchv1.Job("missing", "default").WithStatus(status), options); !apierrors.IsNotFound(err) {
		t.Errorf("an apply of the status of nothing: %v", err)
	}
	if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}}); err != nil {
		t.Errorf("another kind: %v", err)
	}
	if len(r.Failures) != 0 {
		t.Errorf("failed with %v", r.Failures)
	}
}

// TestUnstructured updates the status of a JobSet without its Go types.
func TestUnstructured(t *testing.T) {
	jobSet := func(outcome string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"spec":   map[string]any{"managedBy": "acme.io/runner"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": outcome, "status": "True"}}},
		}}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"})
		u.SetName("training")
		u.SetNamespace("default")
		return u
	}
	later := jobSet("Completed")
	later.SetAPIVersion("jobset.x-k8s.io/v9")
	r := recorded.New(t.Context())
	c := managedbyclient.New(r, fake.NewClientBuilder().WithObjects(later).WithStatusSubresource(later).Build(), managedbytest.FailOnWarnings())
	err := c.Status().Update(t.Context(), later)
	r.End()
	if err != nil || len(r.Failures) != 2 || !strings.Contains(r.Failures[0], ": not checked, unsupported version") || !strings.Contains(r.Failures[1], "none of 1 writes was checked") {
		t.Errorf("another version: %v, %v", err, r.Failures)
	}
	for _, rules := range []string{`{}`, `{"status/outcome-changed":"off"}`} {
		r := recorded.New(t.Context())
		completed := jobSet("Completed")
		settings := managedby.WithSettings([]byte(`{"rules":` + rules + `}`))
		c := managedbyclient.New(r, fake.NewClientBuilder().WithObjects(completed).WithStatusSubresource(completed).Build(), settings)
		err := c.Status().Update(t.Context(), jobSet("Failed"))
		if denied := rules == `{}`; apierrors.IsInvalid(err) != denied || (len(r.Failures) == 1) != denied {
			t.Errorf("%s: %v, %v", rules, err, r.Failures)
		}
	}
}

// TestCustomInterceptors wraps a checked client in one that fails once, and the other way round.
func TestCustomInterceptors(t *testing.T) {
	for _, outer := range []string{"theirs", "ours"} {
		r := recorded.New(t.Context())
		failed := false
		conflictsOnce := interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, subResource string, obj client.Object, options ...client.SubResourceUpdateOption) error {
				if !failed {
					failed = true
					return apierrors.NewConflict(schema.GroupResource{Group: "batch", Resource: "jobs"}, obj.GetName(), nil)
				}
				return c.SubResource(subResource).Update(ctx, obj, options...)
			},
		}
		innerFuncs, outerFuncs := managedbyclient.Funcs(r), conflictsOnce
		if outer == "ours" {
			innerFuncs, outerFuncs = outerFuncs, innerFuncs
		}
		c := interceptor.NewClient(fake.NewClientBuilder().WithObjects(job()).WithInterceptorFuncs(innerFuncs).Build(), outerFuncs)
		bad := get(t, c)
		bad.Status.Ready = ptr[int32](1)
		err := c.Status().Update(t.Context(), bad)
		if outer == "theirs" && (!apierrors.IsConflict(err) || len(r.Failures) != 0) || outer == "ours" && (!apierrors.IsInvalid(err) || len(r.Failures) != 1) {
			t.Errorf("%s outermost: %v, %v", outer, err, r.Failures)
		}
		if err := c.Status().Update(t.Context(), bad); !apierrors.IsInvalid(err) {
			t.Errorf("%s outermost, again: %v", outer, err)
		}
	}
}

func TestCanceledContext(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, job())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Create(ctx, job()); err == nil || len(r.Failures) != 0 {
		t.Errorf("%v, %v", err, r.Failures)
	}
}
