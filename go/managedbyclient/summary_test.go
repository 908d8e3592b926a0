package managedbyclient_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// TestRepeatedFinding retries a denied write, as controller-runtime does.
func TestRepeatedFinding(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, "built with Funcs", job())
	for range 8 {
		bad := get(t, c)
		bad.Status.Ready = ptr[int32](1)
		if err := c.Status().Update(t.Context(), bad); !apierrors.IsInvalid(err) {
			t.Errorf("%v", err)
		}
	}
	r.End()
	if len(r.Failures) != 1 {
		t.Fatalf("got %d failures, want 1: %q", len(r.Failures), r.Failures)
	}
	first, _, _ := strings.Cut(r.Failures[0], "\n")
	if logs := strings.Join(r.Logs, "\n"); !strings.Contains(logs, first+" 7 more times") || !strings.Contains(logs, "checked 8 of 8 writes") {
		t.Errorf("logs %s", logs)
	}
}

// TestNoWriteIsChecked checks that a test without a checked write fails, unless AllowNoWrites is set.
func TestNoWriteIsChecked(t *testing.T) {
	builder := func(r *recorded.T, options ...managedbyclient.Option) *fake.ClientBuilder {
		return fake.NewClientBuilder().WithObjects(job()).WithInterceptorFuncs(managedbyclient.Funcs(r, options...))
	}
	touch := func(t *testing.T, c client.Client) {
		t.Helper()
		obj := get(t, c)
		obj.Labels = map[string]string{"touched": "yes"}
		if err := c.Update(t.Context(), obj); err != nil {
			t.Error(err)
		}
	}
	for name, test := range map[string]struct {
		run           func(t *testing.T, r *recorded.T)
		failure, logs string
	}{
		"a second WithInterceptorFuncs": {func(t *testing.T, r *recorded.T) {
			touch(t, builder(r).WithInterceptorFuncs(interceptor.Funcs{}).Build())
		}, "no write reached the client", ""},
		"no write": {func(_ *testing.T, r *recorded.T) { builder(r).Build() }, "no write reached the client", ""},
		"another kind": {func(t *testing.T, r *recorded.T) {
			other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}}
			if err := builder(r).Build().Create(t.Context(), other); err != nil {
				t.Error(err)
			}
		}, "none of 1 writes was checked", ""},
		"no write, which is allowed": {
			func(_ *testing.T, r *recorded.T) { builder(r, managedbytest.AllowNoWrites()).Build() }, "", "checked 0 of 0 writes",
		},
		"a write": {func(t *testing.T, r *recorded.T) { touch(t, builder(r).Build()) }, "", "checked 1 of 1 writes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded.New(t.Context())
			test.run(t, r)
			r.End()
			failures, logs := strings.Join(r.Failures, "\n"), strings.Join(r.Logs, "\n")
			if !strings.Contains(failures, test.failure) || (failures == "") != (test.failure == "") || !strings.Contains(logs, test.logs) {
				t.Errorf("fails with %q, logs %q", failures, logs)
			}
			if failures != "" && !strings.HasPrefix(failures, "summary_test.go:") {
				t.Errorf("names another line: %s", failures)
			}
		})
	}
}

// TestSkippedTestMakesNoWrite would fail if a skipped test had to check a write.
func TestSkippedTestMakesNoWrite(t *testing.T) {
	if !t.Run("skipped", func(t *testing.T) {
		managedbyclient.Funcs(t)
		t.Skip("needs nothing")
	}) {
		t.Error("a skipped test without a write failed, want it to pass")
	}
}
