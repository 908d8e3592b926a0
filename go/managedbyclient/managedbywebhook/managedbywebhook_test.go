package managedbywebhook_test

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbywebhook"
)

// TestInvalidSettings checks that the handler fails the test once, and rejects each request.
func TestInvalidSettings(t *testing.T) {
	r := recorded.New(t.Context())
	handler := managedbywebhook.Handler(r, managedby.WithSettings([]byte("role: hub")))
	if len(r.Failures) != 1 {
		t.Fatalf("got failures %q, want 1", r.Failures)
	}
	response := handler.Handle(t.Context(), admission.Request{})
	if response.Allowed || response.Result.Code != http.StatusInternalServerError {
		t.Errorf("got response %+v, want code 500", response)
	}
}

// TestNoRequest checks that a test fails if none of its requests is evaluated.
func TestNoRequest(t *testing.T) {
	job := func() runtime.RawExtension {
		return runtime.RawExtension{Raw: []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pi"},"spec":{}}`)}
	}
	for kind, fails := range map[string]bool{"": true, "Pod": true, "Job": false} {
		r := recorded.New(t.Context())
		handler := managedbywebhook.Handler(r)
		if kind != "" {
			request := admission.Request{}
			request.Operation, request.Object = admissionv1.Create, job()
			request.Kind = metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
			if response := handler.Handle(t.Context(), request); !response.Allowed {
				t.Errorf("%s: %v", kind, response)
			}
		}
		r.End()
		if failed := len(r.Failures) == 1 && strings.Contains(r.Failures[0], "managedbytest.AllowNoWrites()"); failed != fails {
			t.Errorf("%q: got failures %q", kind, r.Failures)
		}
	}
}
