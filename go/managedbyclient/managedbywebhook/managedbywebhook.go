// Package managedbywebhook judges in a webhook of envtest every write that reaches its API server, whoever makes it: controllers with
// clients of their own, and what they install. The API server judges as the one release that it is; the webhook judges as those that
// you name.
//
//	server.Register("/judge", &admission.Webhook{Handler: managedbywebhook.Handler(t)})
package managedbywebhook

import (
	"context"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Handler denies what one of the releases denies, with the answer of the newest that does, and fails the test. The options are
// those of [managedby.New]. The user is that of each request.
func Handler(t managedbytest.T, options ...managedby.Option) admission.Handler {
	t.Helper()
	policy, err := managedby.New(t.Context(), options...)
	if err != nil {
		t.Errorf("%v", err)
	}
	// The code under test is on the other side of the API server.
	told := report.To(t, nil)
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		findings, err := policy.CheckRequest(ctx, &request.AdmissionRequest)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		what := string(request.Operation)
		if request.SubResource != "" {
			what += " of the " + request.SubResource
		}
		managedbytest.Report(told, fmt.Sprintf("%s of %s %s/%s by %s", what, request.Kind.Kind, request.Namespace, request.Name, request.UserInfo.Username), findings)
		return response(findings)
	})
}

// response is what the API server hands on to the client.
func response(findings managedby.Findings) admission.Response {
	response := admission.Allowed("")
	if denied, ok := findings.Err().(*managedby.DeniedError); ok {
		status := denied.Status()
		response.Allowed, response.Result = false, &status
	}
	return response
}
