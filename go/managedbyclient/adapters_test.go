package managedbyclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientsetfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbyreactor"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbytransport"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbywebhook"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// storedJob is the Job that the writes change.
func storedJob() *batchv1.Job {
	stored := job()
	stored.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	stored.UID, stored.ResourceVersion = "1", "5"
	return stored
}

// write is a write of the stored Job, or of its status.
type write struct {
	verb      string
	isStatus  bool
	patchType types.PatchType
	// change is merged into the Job.
	change string
	// isRejected makes the API server deny the write.
	isRejected bool
	options    []managedbytest.Option
}

// job returns the Job with the change.
func (w *write) job(t *testing.T) *batchv1.Job {
	t.Helper()
	changed := storedJob()
	if err := json.Unmarshal([]byte(w.change), changed); err != nil {
		t.Fatal(err)
	}
	return changed
}

// patch returns the body of a patch.
func (w *write) patch(t *testing.T) []byte {
	t.Helper()
	switch w.patchType {
	case types.JSONPatchType:
		return []byte(`[{"op":"add","path":"/status","value":` + strings.TrimSuffix(strings.TrimPrefix(w.change, `{"status":`), "}") + `}]`)
	case types.ApplyPatchType:
		return []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"pi","namespace":"default"},` + strings.TrimPrefix(w.change, "{"))
	default:
		return []byte(w.change)
	}
}

var errFromServer = &apierrors.StatusError{ErrStatus: metav1.Status{
	TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity,
	Reason: metav1.StatusReasonInvalid, Message: "from the server",
}}

// adapters make a write, and report whether the API server got it.
var adapters = map[string]struct {
	make func(t *testing.T, r *recorded.T, w *write) (made bool, err error)
	what func(w *write) string
}{
	"managedbyclient, Funcs": {func(t *testing.T, r *recorded.T, w *write) (bool, error) {
		return writeWithClient(t, w, fake.NewClientBuilder().WithObjects(storedJob()).WithInterceptorFuncs(managedbyclient.Funcs(r, w.options...)).Build())
	}, clientMethod},
	"managedbyclient, New": {func(t *testing.T, r *recorded.T, w *write) (bool, error) {
		return writeWithClient(t, w, managedbyclient.New(r, interceptor.NewClient(fake.NewClientBuilder().WithObjects(storedJob()).Build(), w.rejecting()), w.options...))
	}, clientMethod},
	"managedbytransport":           {writeWithTransport(runtime.ContentTypeJSON), request},
	"managedbytransport, protobuf": {writeWithTransport(runtime.ContentTypeProtobuf), request},
	"managedbyreactor": {func(t *testing.T, r *recorded.T, w *write) (bool, error) {
		clientset := clientsetfake.NewClientset(storedJob())
		managedbyreactor.Prepend(r, clientset, w.options...)
		err := writeWithClientset(t, w, clientset)
		after, getErr := clientset.Tracker().Get(batchv1.SchemeGroupVersion.WithResource("jobs"), "default", "pi")
		return getErr == nil && !isSame(after.(*batchv1.Job), storedJob()), err
	}, func(w *write) string { return w.verb + " of jobs" + w.suffix() + " default/pi" }},
	"managedbywebhook": {func(t *testing.T, r *recorded.T, w *write) (bool, error) {
		handler := managedbywebhook.Handler(r, w.options...)
		request := admission.Request{}
		if w.verb == "" {
			if len(r.Failures) > 0 && handler.Handle(t.Context(), request).Result.Code != http.StatusInternalServerError {
				t.Error("the webhook allows a request despite an invalid option")
			}
			return false, nil
		}
		request.Operation, request.Name, request.Namespace, request.UserInfo.Username = admissionv1.Update, "pi", "default", "ana"
		request.Kind = metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
		request.SubResource = strings.TrimPrefix(w.suffix(), "/")
		request.OldObject.Raw, _ = json.Marshal(storedJob())
		request.Object.Raw, _ = json.Marshal(w.job(t))
		if w.verb == "create" {
			request.Operation, request.OldObject.Raw = admissionv1.Create, nil
		}
		response := handler.Handle(t.Context(), request)
		if !response.Allowed {
			return false, &apierrors.StatusError{ErrStatus: *response.Result}
		}
		return true, nil
	}, func(w *write) string {
		return map[bool]string{true: "UPDATE of the status", false: "UPDATE"}[w.isStatus] + " of Job default/pi by ana"
	}},
}

func (w *write) suffix() string {
	if w.isStatus {
		return "/status"
	}
	return ""
}

func request(w *write) string {
	text := map[string]string{"create": "POST", "update": "PUT", "patch": "PATCH"}[w.verb] + " of jobs" + w.suffix() + " default/"
	if w.verb == "create" {
		return text
	}
	return text + "pi"
}

func clientMethod(w *write) string {
	method := map[string]string{"create": "Create", "update": "Update", "patch": "Patch"}[w.verb]
	if w.patchType == types.ApplyPatchType {
		method = "Apply"
	}
	if w.isStatus {
		method = "Status()." + method
	}
	return method + " of Job default/pi"
}

func isSame(a, b *batchv1.Job) bool {
	return a.ResourceVersion == b.ResourceVersion && a.Status.String() == b.Status.String() && a.Spec.String() == b.Spec.String()
}

// rejecting returns interceptors for an API server that denies the write.
func (w *write) rejecting() interceptor.Funcs {
	if !w.isRejected {
		return interceptor.Funcs{}
	}
	return interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errFromServer
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errFromServer
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return errFromServer
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errFromServer
		},
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
			return errFromServer
		},
	}
}

func writeWithClient(t *testing.T, w *write, c client.Client) (made bool, err error) {
	owner := client.FieldOwner("test")
	switch {
	case w.verb == "create":
		err = c.Create(t.Context(), w.job(t))
	case w.verb == "update" && w.isStatus:
		err = c.Status().Update(t.Context(), w.job(t))
	case w.verb == "update":
		err = c.Update(t.Context(), w.job(t))
	case w.patchType == types.ApplyPatchType:
		var applied unstructured.Unstructured
		if err := json.Unmarshal(w.patch(t), &applied); err != nil {
			t.Fatal(err)
		}
		if body := client.ApplyConfigurationFromUnstructured(&applied); w.isStatus {
			err = c.Status().Apply(t.Context(), body, owner, client.ForceOwnership)
		} else {
			err = c.Apply(t.Context(), body, owner, client.ForceOwnership)
		}
	case w.verb == "patch" && w.isStatus:
		err = c.Status().Patch(t.Context(), storedJob(), client.RawPatch(w.patchType, w.patch(t)))
	case w.verb == "patch":
		err = c.Patch(t.Context(), storedJob(), client.RawPatch(w.patchType, w.patch(t)))
	}
	if w.verb == "create" {
		return err == nil, err
	}
	return get(t, c).ResourceVersion != "5", err
}

func writeWithClientset(t *testing.T, w *write, clientset kubernetes.Interface) (err error) {
	jobs := clientset.BatchV1().Jobs("default")
	switch {
	case w.verb == "create":
		_, err = jobs.Create(t.Context(), w.job(t), metav1.CreateOptions{})
	case w.verb == "update" && w.isStatus:
		_, err = jobs.UpdateStatus(t.Context(), w.job(t), metav1.UpdateOptions{})
	case w.verb == "update":
		_, err = jobs.Update(t.Context(), w.job(t), metav1.UpdateOptions{})
	case w.verb == "patch":
		options := metav1.PatchOptions{}
		if w.patchType == types.ApplyPatchType {
			options.FieldManager, options.Force = "test", ptr(true)
		}
		var subResources []string
		if w.isStatus {
			subResources = []string{"status"}
		}
		_, err = jobs.Patch(t.Context(), "pi", w.patchType, w.patch(t), options, subResources...)
	}
	return err
}

// server is an API server with the stored Job.
type server struct {
	t    *testing.T
	w    *write
	made bool
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := any(storedJob()), error(nil)
	code := http.StatusOK
	if request.Method != http.MethodGet {
		changed := s.w.job(s.t)
		conflict := apierrors.NewConflict(batchv1.Resource("jobs"), "pi", errors.New("it is another object"))
		switch {
		case s.w.isRejected:
			code, body = http.StatusUnprocessableEntity, &errFromServer.ErrStatus
		case s.w.verb == "update" && (changed.UID != "1" || changed.ResourceVersion != "5" && changed.ResourceVersion != ""):
			conflict.ErrStatus.TypeMeta = errFromServer.ErrStatus.TypeMeta
			code, body = http.StatusConflict, &conflict.ErrStatus
		default:
			s.made, body = true, changed
		}
	}
	text, err := json.Marshal(body)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: request}, err
}

func writeWithTransport(contentType string) func(t *testing.T, r *recorded.T, w *write) (bool, error) {
	return func(t *testing.T, r *recorded.T, w *write) (bool, error) {
		s := &server{t: t, w: w}
		config := &rest.Config{Host: "http://stub", Transport: s, ContentConfig: rest.ContentConfig{ContentType: contentType}}
		config.Wrap(managedbytransport.New(r, w.options...))
		err := writeWithClientset(t, w, kubernetes.NewForConfigOrDie(config))
		return s.made, err
	}
}

// TestAdapters makes the same writes through each package. Errors, failures and warnings are the same.
func TestAdapters(t *testing.T) {
	update, updateStatus := write{verb: "update"}, write{verb: "update", isStatus: true}
	patchStatus := write{verb: "patch", isStatus: true, patchType: types.MergePatchType}
	applyStatus := write{verb: "patch", isStatus: true, patchType: types.ApplyPatchType}
	patch, apply := write{verb: "patch", patchType: types.MergePatchType}, write{verb: "patch", patchType: types.ApplyPatchType}
	ofStatus := []write{
		updateStatus, patchStatus, applyStatus,
		{verb: "patch", isStatus: true, patchType: types.StrategicMergePatchType}, {verb: "patch", isStatus: true, patchType: types.JSONPatchType},
	}
	const (
		running     = `{"status":{"startTime":"2026-01-01T09:00:00Z","active":1,"ready":1}}`
		tooReady    = `{"status":{"startTime":"2026-01-01T09:00:00Z","active":1,"ready":2}}`
		denial      = `Job.batch "pi" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active`
		other       = `{"spec":{"managedBy":"acme.io/other"}}`
		immutable   = `Job.batch "pi" is invalid: spec.managedBy: Invalid value: "acme.io/other": field is immutable`
		condition   = `{"status":{"conditions":[{"type":"Suspended","status":"true"}]}}`
		unsupported = `: Kubernetes 1.32 to 1.37: status.conditions[0].status: Unsupported value: "true"`
		statusToo   = `{"spec":{"suspend":true},"status":{"active":1}}`
		unversioned = `{"metadata":{"resourceVersion":""},"status":{"active":1}}`
	)
	for name, test := range map[string]struct {
		writes  []write
		change  string
		options []managedbytest.Option
		// reason and err are the reason and the start of the error.
		reason metav1.StatusReason
		err    string
		// failure is the only failure, and log in the logs; both without the name of the write if they begin with a colon.
		failure, log string
		isRejected   bool
		// only is the kind of adapters that see such a write: clients, or those of a server; all if it is empty.
		only string
	}{
		"valid status":     {writes: ofStatus, change: running, log: "checked 1 of 1 writes"},
		"invalid status":   {writes: ofStatus, change: tooReady, reason: metav1.StatusReasonInvalid, err: denial, failure: ":\n    Kubernetes 1.32 to 1.37: " + denial},
		"invalid update":   {writes: []write{update, patch, apply}, change: other, reason: metav1.StatusReasonInvalid, err: immutable, failure: ":\n    Kubernetes 1.32 to 1.37: " + immutable},
		"accepted mistake": {writes: ofStatus, change: condition, log: unsupported},
		"FailOnWarnings":   {writes: ofStatus, change: condition, options: []managedbytest.Option{managedbytest.FailOnWarnings()}, failure: unsupported},
		"invalid create": {
			writes: []write{{verb: "create"}}, change: `{"metadata":{"name":"e","uid":"","resourceVersion":""},"spec":{"managedBy":"runner"}}`,
			reason: metav1.StatusReasonInvalid, err: `Job.batch "e" is invalid: spec.managedBy`, failure: "must be a domain-prefixed path",
		},
		"user": {
			writes: []write{updateStatus}, change: running, reason: metav1.StatusReasonForbidden, failure: "status-writer/",
			options: []managedbytest.Option{
				managedby.WithSettings([]byte(`{"controllers":{"acme.io/runner":{"status_writers":["runner"]}}}`)), managedby.WithUser(authenticationv1.UserInfo{Username: "ana"}),
			},
		},
		"ForController":            {writes: []write{updateStatus}, change: running, options: []managedbytest.Option{managedbytest.ForController("acme.io/runner")}},
		"ForController, of others": {writes: []write{updateStatus}, change: running, options: []managedbytest.Option{managedbytest.ForController("acme.io/x")}, failure: `: the object names the controller "acme.io/runner", not "acme.io/x"`},
		"invalid option":           {writes: []write{{}}, options: []managedbytest.Option{managedby.WithSettings([]byte("role: hub"))}, failure: "role"},
		"no write":                 {writes: []write{{}}, failure: "no write reached the client"},
		"AllowNoWrites":            {writes: []write{{}}, options: []managedbytest.Option{managedbytest.AllowNoWrites()}, log: "checked 0 of 0 writes"},
		"ignored status":           {writes: []write{update, patch, apply}, change: `{"metadata":{"name":"pi","namespace":"default","labels":{"touched":"yes"}},"status":{"active":1}}`, log: ": the changed status is ignored: use ", only: "clients"},
		"ignored spec":             {writes: []write{updateStatus, patchStatus, applyStatus}, change: statusToo, log: ": the changed spec is ignored: use ", only: "clients"},
		"FailOnIgnoredChanges": {
			writes: []write{updateStatus, patchStatus}, change: statusToo, options: []managedbytest.Option{managedbytest.FailOnIgnoredChanges()},
			failure: ": the changed spec is ignored: use ", only: "clients",
		},
		"no resourceVersion": {writes: []write{updateStatus}, change: unversioned, log: ": no resourceVersion: the write overwrites changes", only: "clients"},
		"another object":     {writes: []write{updateStatus}, change: `{"metadata":{"uid":"2"},"status":{"ready":2}}`, reason: metav1.StatusReasonConflict, failure: "none of 1 writes was checked", only: "clients"},
		"stale":              {writes: []write{updateStatus}, change: `{"metadata":{"resourceVersion":"4"},"status":{"ready":2}}`, reason: metav1.StatusReasonConflict, failure: "none of 1 writes was checked", only: "servers"},
		"denied by the server": {
			writes: append(ofStatus, update, apply), change: `{"status":{"active":1}}`, isRejected: true,
			reason: metav1.StatusReasonInvalid, err: "from the server", failure: ": the API server denied the write: from the server", only: "servers", options: []managedbytest.Option{managedbytest.AllowNoWrites()},
		},
	} {
		for adapter, a := range adapters {
			hasServer := adapter == "managedbyclient, New" || strings.HasPrefix(adapter, "managedbytransport")
			if test.only != "" && adapter == "managedbywebhook" || test.only == "servers" && !hasServer {
				continue
			}
			for _, w := range test.writes {
				w.change, w.options, w.isRejected = test.change, test.options, test.isRejected
				r := recorded.New(t.Context())
				made, err := a.make(t, r, &w)
				r.End()
				at := strings.Join([]string{name, adapter, a.what(&w), string(w.patchType)}, ", ")
				isApplied := w.patchType == types.ApplyPatchType && adapter != "managedbywebhook"
				if want := w.verb != "" && !test.isRejected && (test.reason == "" || isApplied); made != want {
					t.Errorf("%s: made = %t, want %t", at, made, want)
				}
				if apierrors.ReasonForError(err) != map[bool]metav1.StatusReason{true: test.reason, false: metav1.StatusReasonUnknown}[test.reason != ""] || err != nil && !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("%s: got error %v, want %s %q", at, err, test.reason, test.err)
				}
				failures, logs := strings.Join(r.Failures, "\n"), strings.Join(r.Logs, "\n")
				if named := a.what(&w) + test.failure; test.failure == "" && failures != "" || len(r.Failures) > 1 || !strings.Contains(failures, test.failure) ||
					strings.HasPrefix(test.failure, ":") && !strings.Contains(failures, named) {
					t.Errorf("%s: got failures %s, want %s", at, failures, named)
				}
				if failures != "" && adapter != "managedbywebhook" && test.failure != "role" && !regexp.MustCompile(`^adapters_test\.go:\d+: `).MatchString(failures) {
					t.Errorf("%s: names another line: %s", at, failures)
				}
				if want := strings.TrimPrefix(test.log, ":"); !strings.Contains(logs, want) || want != test.log && !strings.Contains(logs, a.what(&w)+test.log) {
					t.Errorf("%s: got logs %s, want %s", at, logs, test.log)
				}
			}
		}
	}
}
