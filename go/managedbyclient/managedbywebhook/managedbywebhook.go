// Package managedbywebhook checks every write to envtest's API server in a webhook, including the writes of controllers that create
// their own clients. The API server validates writes for its own release, and the webhook for the releases that you set.
//
//	server.Register("/validate", &admission.Webhook{Handler: managedbywebhook.Handler(t)})
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

// Handler denies a write that a release denies, with the response of the newest such release, and fails the test. The options are
// passed to [managedby.New]. The user is taken from each request.
func Handler(t managedbytest.T, options ...managedby.Option) admission.Handler {
	t.Helper()
	policy, err := managedby.New(t.Context(), options...)
	if err != nil {
		t.Errorf("%v", err)
		return admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
			return admission.Errored(http.StatusInternalServerError, err)
		})
	}
	// There is no caller to report, because the code under test calls the API server.
	reporter := report.New(t, report.Options{})
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		findings, err := policy.CheckRequest(ctx, &request.AdmissionRequest)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		what := string(request.Operation)
		if request.SubResource != "" {
			what += " of the " + request.SubResource
		}
		managedbytest.Report(reporter, fmt.Sprintf("%s of %s %s/%s by %s", what, request.Kind.Kind, request.Namespace, request.Name, request.UserInfo.Username), findings)
		return response(findings)
	})
}

// response returns the webhook's response, which the API server passes on to the client.
func response(findings managedby.Findings) admission.Response {
	response := admission.Allowed("")
	if denied, ok := findings.Err().(*managedby.DeniedError); ok {
		status := denied.Status()
		response.Allowed, response.Result = false, &status
	}
	return response
}
