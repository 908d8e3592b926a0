package managedbyclient_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
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

func TestWritesAreChecked(t *testing.T) {
	status := func(change func(*batchv1.JobStatus), write func(ctx context.Context, c client.Client, old, new *batchv1.Job) error) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, stored *batchv1.Job) error {
			new := stored.DeepCopy()
			change(&new.Status)
			return write(ctx, c, stored, new)
		}
	}
	good := func(s *batchv1.JobStatus) { s.StartTime, s.Active, s.Ready = &start, 1, ptr[int32](1) }
	bad := func(s *batchv1.JobStatus) { s.StartTime, s.Active, s.Ready = &start, 1, ptr[int32](2) }
	update := func(ctx context.Context, c client.Client, _, new *batchv1.Job) error {
		return c.Status().Update(ctx, new)
	}
	updateOfBody := func(ctx context.Context, c client.Client, old, new *batchv1.Job) error {
		return c.Status().Update(ctx, old, client.WithSubResourceBody(new))
	}
	merge := func(ctx context.Context, c client.Client, old, new *batchv1.Job) error {
		return c.Status().Patch(ctx, new, client.MergeFrom(old))
	}
	strategic := func(ctx context.Context, c client.Client, old, new *batchv1.Job) error {
		return c.Status().Patch(ctx, new, client.StrategicMergeFrom(old))
	}
	raw := func(kind types.PatchType, text string) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, stored *batchv1.Job) error {
			return c.Status().Patch(ctx, stored.DeepCopy(), client.RawPatch(kind, []byte(text)))
		}
	}
	apply := func(ready int32) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, _ *batchv1.Job) error {
			status := applybatchv1.JobStatus().WithStartTime(start).WithActive(1).WithReady(ready)
			return c.Status().Apply(ctx, applybatchv1.Job("pi", "default").WithStatus(status), client.FieldOwner("test"))
		}
	}
	spec := func(value string, write func(ctx context.Context, c client.Client, old, new *batchv1.Job) error) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, stored *batchv1.Job) error {
			new := stored.DeepCopy()
			new.Spec.ManagedBy = &value
			new.Labels = map[string]string{"touched": "yes"}
			return write(ctx, c, stored, new)
		}
	}
	updateSpec := func(ctx context.Context, c client.Client, _, new *batchv1.Job) error { return c.Update(ctx, new) }
	patchSpec := func(ctx context.Context, c client.Client, old, new *batchv1.Job) error {
		return c.Patch(ctx, new, client.MergeFrom(old))
	}
	applySpec := func(value string) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, _ *batchv1.Job) error {
			job := applybatchv1.Job("pi", "default").WithSpec(applybatchv1.JobSpec().WithManagedBy(value)).WithLabels(map[string]string{"touched": "yes"})
			return c.Apply(ctx, job, client.FieldOwner("test"), client.ForceOwnership)
		}
	}
	const wantMessage = `Job.batch "pi" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active`
	const immutable = `Job.batch "pi" is invalid: spec.managedBy: Invalid value: "acme.io/other": field is immutable`

	type writeFunc = func(ctx context.Context, c client.Client, stored *batchv1.Job) error
	for _, test := range []struct {
		call             string
		accepted, denied writeFunc
		wantMessage      string
		// made is true if a write is checked after it was made.
		made bool
	}{
		{"Status().Update", status(good, update), status(bad, update), wantMessage, false},
		{"Status().Update", status(good, updateOfBody), status(bad, updateOfBody), wantMessage, false},
		{"Status().Patch", status(good, merge), status(bad, merge), wantMessage, false},
		{"Status().Patch", status(good, strategic), status(bad, strategic), wantMessage, false},
		{
			"Status().Patch",
			raw(types.JSONPatchType, `[{"op":"add","path":"/status","value":{"active":2,"ready":2}}]`),
			raw(types.JSONPatchType, `[{"op":"add","path":"/status","value":{"active":1,"ready":2}}]`),
			wantMessage, false,
		},
		{"Status().Apply", apply(1), apply(2), wantMessage, true},
		{"Update", spec("acme.io/runner", updateSpec), spec("acme.io/other", updateSpec), immutable, false},
		{"Patch", spec("acme.io/runner", patchSpec), spec("acme.io/other", patchSpec), immutable, false},
		{"Apply", applySpec("acme.io/runner"), applySpec("acme.io/other"), immutable, true},
	} {
		for _, form := range []string{"built with Funcs", "wrapped by New"} {
			t.Run(test.call+", "+form, func(t *testing.T) {
				write := func(fn writeFunc) (made bool, failures string, err error) {
					r := recorded.New(t.Context())
					c := clientOf(r, form, job())
					stored := get(t, c)
					err = fn(t.Context(), c, stored)
					return get(t, c).ResourceVersion != stored.ResourceVersion, strings.Join(r.Failures, "\n"), err
				}
				if made, failures, err := write(test.accepted); !made || failures != "" || err != nil {
					t.Errorf("valid write: written = %t, want true; error: %v; failures:\n%s", made, err, failures)
				}
				made, failures, err := write(test.denied)
				if made != test.made || !apierrors.IsInvalid(err) || err.Error() != test.wantMessage {
					t.Errorf("invalid write: written = %t, want %t; got error %v, want %q", made, test.made, err, test.wantMessage)
				}
				want := regexp.MustCompile(`^managedbyclient_test\.go:\d+: ` + regexp.QuoteMeta(test.call) + ` of Job default/pi:\n    Kubernetes 1\.3`)
				if !want.MatchString(failures) || !strings.Contains(failures, test.wantMessage) {
					t.Errorf("got %s", failures)
				}
			})
		}
	}
}

func clientOf(r *recorded.T, form string, objects ...client.Object) client.WithWatch {
	options := []managedbyclient.Option{managedby.WithReleases(managedby.Since(managedby.V1_31)...)}
	builder := fake.NewClientBuilder().WithObjects(objects...)
	if form == "built with Funcs" {
		return builder.WithInterceptorFuncs(managedbyclient.Funcs(r, options...)).Build()
	}
	return managedbyclient.NewWithWatch(r, builder.Build(), options...)
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
			c := clientOf(r, "built with Funcs", job())
			err := write(t.Context(), c, ready)
			if denied := ready == 2; apierrors.IsInvalid(err) != denied || !denied && err != nil || (len(r.Failures) == 1) != denied {
				t.Errorf("%s, %d ready: %v, %v", name, ready, err, r.Failures)
			}
		}
	}
	r := recorded.New(t.Context())
	bad := applybatchv1.Job("other", "default").WithSpec(applybatchv1.JobSpec().WithManagedBy("runner"))
	if err := clientOf(r, "built with Funcs").Apply(t.Context(), bad, client.FieldOwner("test"), client.DryRunAll); !apierrors.IsInvalid(err) {
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

func TestMain(m *testing.M) { managedbyclient.VerifyTestMain(m) }

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
	for _, want := range []string{"PASS\n", "after the end of the test: ", "cannot set more ready pods than active", "denied writes after the end of their test: 1\n"} {
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

func TestCreate(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, "built with Funcs")
	bad := job()
	bad.Spec.ManagedBy = ptr("runner")
	err := c.Create(t.Context(), bad)
	if !apierrors.IsInvalid(err) || len(r.Failures) != 1 || !strings.Contains(r.Failures[0], `must be a domain-prefixed path`) {
		t.Errorf("%v, %v", err, r.Failures)
	}
	if err := c.Create(t.Context(), job()); err != nil || len(r.Failures) != 1 {
		t.Errorf("%v, %v", err, r.Failures)
	}
	applied := applybatchv1.Job("other", "default").WithSpec(applybatchv1.JobSpec().WithManagedBy("runner"))
	if err := c.Apply(t.Context(), applied, client.FieldOwner("test")); !apierrors.IsInvalid(err) || len(r.Failures) != 2 {
		t.Errorf("%v, %v", err, r.Failures)
	}
}

// TestErrorsOfTheClient makes writes that fail for other reasons. The code under test gets the client's errors.
func TestErrorsOfTheClient(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, "wrapped by New", job())
	stale := get(t, c)
	touched := stale.DeepCopy()
	touched.Labels = map[string]string{"touched": "yes"}
	if err := c.Update(t.Context(), touched); err != nil {
		t.Fatal(err)
	}
	stale.Status.Ready = ptr[int32](1)
	if err := c.Status().Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("a stale update: %v", err)
	}
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

func TestUser(t *testing.T) {
	settings := managedby.WithSettings([]byte(`{"controllers":{"acme.io/runner":{"status_writers":["runner"]}}}`))
	for _, name := range []string{"runner", "ana"} {
		r := recorded.New(t.Context())
		user := managedby.WithUser(authenticationv1.UserInfo{Username: name})
		c := managedbyclient.New(r, fake.NewClientBuilder().WithObjects(job()).Build(), settings, user)
		obj := get(t, c)
		obj.Status.Active = 1
		err := c.Status().Update(t.Context(), obj)
		if denied := name == "ana"; apierrors.IsForbidden(err) != denied || (len(r.Failures) == 1) != denied {
			t.Errorf("%s: %v, %v", name, err, r.Failures)
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

// TestReader uses a client that reads from an empty cache.
func TestReader(t *testing.T) {
	store := fake.NewClientBuilder().WithObjects(job()).Build()
	empty := interceptor.NewClient(store, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewNotFound(schema.GroupResource{Group: "batch", Resource: "jobs"}, key.Name)
		},
	})
	r := recorded.New(t.Context())
	obj := get(t, store)
	obj.Status.Ready = ptr[int32](1)
	releases := managedby.WithReleases(managedby.V1_36)
	if err := managedbyclient.New(r, empty, releases, managedbyclient.WithReader(store)).Status().Update(t.Context(), obj); !apierrors.IsInvalid(err) {
		t.Errorf("%v", err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, option := range []managedbyclient.Option{managedby.WithReleases("1.29"), managedby.WithSettings([]byte("{"))} {
		r := recorded.New(t.Context())
		managedbyclient.Funcs(r, option)
		if len(r.Failures) != 1 {
			t.Errorf("%v", r.Failures)
		}
	}
}

func TestCanceledContext(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, "wrapped by New", job())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Create(ctx, job()); err == nil || len(r.Failures) != 0 {
		t.Errorf("%v, %v", err, r.Failures)
	}
}
