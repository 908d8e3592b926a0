package managedbyclient_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
)

// TestRepeatedFinding retries a denied write, as controller-runtime does.
func TestRepeatedFinding(t *testing.T) {
	r := recorded.New(t.Context())
	c := clientOf(r, job())
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

// TestNoWriteIsChecked makes writes that the checker does not get, or has no rules for.
func TestNoWriteIsChecked(t *testing.T) {
	for want, funcs := range map[string][]interceptor.Funcs{
		"none of 1 writes was checked": nil,
		// The last WithInterceptorFuncs replaces the others.
		"no write reached the client": {{}},
	} {
		r := recorded.New(t.Context())
		builder := fake.NewClientBuilder().WithInterceptorFuncs(managedbyclient.Funcs(r))
		for _, other := range funcs {
			builder.WithInterceptorFuncs(other)
		}
		if err := builder.Build().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "default"}}); err != nil {
			t.Error(err)
		}
		r.End()
		if len(r.Failures) != 1 || !strings.HasPrefix(r.Failures[0], "summary_test.go:") || !strings.Contains(r.Failures[0], want) {
			t.Errorf("fails with %q, want %s", r.Failures, want)
		}
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
