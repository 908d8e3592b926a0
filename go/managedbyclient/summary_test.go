package managedbyclient_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

// TestSkippedTestMakesNoWrite would fail if a skipped test had to check a write.
func TestSkippedTestMakesNoWrite(t *testing.T) {
	if !t.Run("skipped", func(t *testing.T) {
		managedbyclient.Funcs(t)
		t.Skip("needs nothing")
	}) {
		t.Error("a skipped test without a write failed, want it to pass")
	}
}
