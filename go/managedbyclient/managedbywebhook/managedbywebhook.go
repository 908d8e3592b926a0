// Package managedbywebhook checks every write to envtest's API server in a webhook, including the writes of controllers that create
// their own clients. The API server validates writes for its own release, and the webhook for the releases that you set.
//
//	environment.WebhookInstallOptions.ValidatingWebhooks = []*admissionregistrationv1.ValidatingWebhookConfiguration{managedbywebhook.Configuration()}
//	config, err := environment.Start()
//	options := environment.WebhookInstallOptions
//	managedbywebhook.Serve(t, webhook.Options{
//		Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
//	})
//
// The API server calls webhooks after its own validation, so the webhook never receives a write that the API server denies itself: a conflict,
// an invalid field, or a status that its release denies. Check for those errors in the code under test.
package managedbywebhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Handler denies a write that a release denies, with the response of the newest such release, and fails the test. The user is taken from
// each request. A test fails if none of its requests is evaluated.
func Handler(t managedbytest.T, options ...managedbytest.Option) admission.Handler {
	t.Helper()
	// There is no caller to report, because the code under test calls the API server.
	c := check.New(t, "managedbywebhook", false, options)
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		if c == nil {
			return admission.Errored(http.StatusInternalServerError, errors.New("managedbywebhook: an option is invalid"))
		}
		c.Count()
		findings, err := c.Policy.CheckRequest(ctx, &request.AdmissionRequest)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		what := string(request.Operation)
		if request.SubResource != "" {
			what += " of the " + request.SubResource
		}
		w := &check.Write{What: fmt.Sprintf("%s of %s %s/%s by %s", what, request.Kind.Kind, request.Namespace, request.Name, request.UserInfo.Username)}
		if request.Operation == admissionv1.Update {
			w.Old, _ = check.Decode(request.OldObject.Raw)
		}
		response := admission.Allowed("")
		var denied *apierrors.StatusError
		if errors.As(c.Report(w, findings), &denied) {
			response.Allowed, response.Result = false, &denied.ErrStatus
		}
		return response
	})
}

const path = "/validate"

// Configuration returns the webhook for envtest's WebhookInstallOptions. The API server sends every create and update of the resources and
// their status to it, by default of Jobs.
func Configuration(resources ...schema.GroupVersionResource) *admissionregistrationv1.ValidatingWebhookConfiguration {
	if len(resources) == 0 {
		resources = []schema.GroupVersionResource{{Group: "batch", Version: "v1", Resource: "jobs"}}
	}
	rules := make([]admissionregistrationv1.RuleWithOperations, len(resources))
	for i, resource := range resources {
		rules[i].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
		rules[i].Rule = admissionregistrationv1.Rule{
			APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version},
			Resources: []string{resource.Resource, resource.Resource + "/" + managedby.StatusSubresource},
		}
	}
	path, fail, none := path, admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "managed-by-test"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "test.managed-by-policy.github.io", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			// envtest replaces the service with the address of the test.
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "managed-by-test", Path: &path},
			},
			Rules: rules,
		}},
	}
}

// Serve serves [Handler] for [Configuration] until the test ends. It returns when the server accepts requests.
func Serve(t managedbytest.T, server webhook.Options, options ...managedbytest.Option) {
	t.Helper()
	s := webhook.NewServer(server)
	s.Register(path, &admission.Webhook{Handler: Handler(t, options...)})
	// The context of the test ends before its cleanup functions run.
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan error, 1)
	go func() { stopped <- s.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("managedbywebhook: %v", err)
		}
	})
	started := s.StartedChecker()
	for started(nil) != nil {
		select {
		case err := <-stopped:
			stopped <- err
			return
		case <-t.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
