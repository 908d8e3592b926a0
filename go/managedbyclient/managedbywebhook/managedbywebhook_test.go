package managedbywebhook_test

import (
	"net/http"
	"testing"

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
