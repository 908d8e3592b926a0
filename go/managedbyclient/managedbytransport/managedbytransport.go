// Package managedbytransport checks every write that the code under test sends to an API server, whatever client it uses: a clientset, a
// dynamic client or controller-runtime. If a kube-apiserver release would deny the write, it fails the test with kube-apiserver's error.
//
//	config.Wrap(managedbytransport.New(t))
//	clientset := kubernetes.NewForConfigOrDie(config)
//
// A write that a release would deny is not sent, and the code under test gets the API server's error. Server-side applies are sent first and
// their result is checked, because only the API server can compute it. For the stored object, the transport makes a request of its own.
//
// A test fails if none of its writes is checked, or if the API server denies a write of a status.
package managedbytransport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// New returns a wrapper for rest.Config.Wrap. It accepts the options of [managedby.New]; the default releases are
// [managedby.WithManagedByOnByDefault].
func New(t managedbytest.T, options ...managedby.Option) func(http.RoundTripper) http.RoundTripper {
	t.Helper()
	onByDefault := managedby.WithReleases(managedby.WithManagedByOnByDefault()...)
	policy, err := managedby.New(t.Context(), append([]managedby.Option{onByDefault}, options...)...)
	if err != nil {
		t.Errorf("%v", err)
		return func(next http.RoundTripper) http.RoundTripper { return next }
	}
	c := &checker{t: report.New(t, report.Options{Located: true}), policy: policy}
	t.Cleanup(c.summarize)
	return func(next http.RoundTripper) http.RoundTripper { return &transport{checker: c, next: next} }
}

// checker checks the writes of one test.
type checker struct {
	t               *report.T
	policy          *managedby.Policy
	writes, checked atomic.Int64
}

func (c *checker) summarize() {
	c.t.Helper()
	writes, checked := c.writes.Load(), c.checked.Load()
	text := fmt.Sprintf("managedbytransport: checked %d of %d writes", checked, writes)
	fails := checked == 0 && !report.FailedOrSkipped(c.t.T)
	if fails {
		text += ": the code under test uses another client, or writes only kinds without rules"
	}
	c.t.Summarize(fails, text)
}

// transport checks the writes of a client.
type transport struct {
	*checker
	next http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport, for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip checks a write and sends it.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.t.Helper()
	w, ok := parse(request)
	if !ok {
		return t.next.RoundTrip(request)
	}
	t.writes.Add(1)
	body, err := readBody(request)
	if err != nil {
		return nil, err
	}
	w.body = body
	if w.name != "" {
		if w.old, err = t.stored(request, w); err != nil {
			return nil, err
		}
	}
	switch result, err := w.result(); {
	case err != nil:
		// The API server reports an invalid patch, and encodings without JSON are checked in the response.
		return t.sendAndCheck(request, w)
	case result == nil || isStale(w.old, result):
		return t.send(request, w)
	default:
		if denied := t.check(request.Context(), w, result); denied != nil {
			return response(request, denied)
		}
		return t.send(request, w)
	}
}

// send sends a checked write, or one that the API server rejects because of a missing object or a conflict.
func (t *transport) send(request *http.Request, w *write) (*http.Response, error) {
	t.t.Helper()
	answer, err := t.next.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusUnprocessableEntity && w.subResource != "" {
		_, err = t.reject(answer, w)
	}
	return answer, err
}

// reject fails the test because of the API server's response.
func (t *transport) reject(answer *http.Response, w *write) ([]byte, error) {
	t.t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	if err := answer.Body.Close(); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	if object, err := decode(answer.Header.Get("Content-Type"), text); err == nil {
		message, _, _ := unstructured.NestedString(object.Object, "message")
		t.t.Errorf("%s: the API server denied the write: %s", w, message)
	}
	return text, nil
}

// sendAndCheck sends a write whose result only the API server can compute, and checks the object in the response.
func (t *transport) sendAndCheck(request *http.Request, w *write) (*http.Response, error) {
	t.t.Helper()
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusUnprocessableEntity {
		_, err := t.reject(answer, w)
		return answer, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return answer, nil
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	result, err := decode(answer.Header.Get("Content-Type"), text)
	if err != nil || w.old != nil && result.GetKind() != w.old.GetKind() {
		t.t.Errorf("%s: the write succeeded but was not checked: the response does not contain the object", w)
		return answer, nil
	}
	if denied := t.check(request.Context(), w, result); denied != nil {
		return response(request, denied)
	}
	return answer, nil
}

// check checks a write and reports its findings to the test. It returns the API server's response if a release denies the write.
func (t *transport) check(ctx context.Context, w *write, result *unstructured.Unstructured) *metav1.Status {
	t.t.Helper()
	if result.GetNamespace() == "" {
		result.SetNamespace(w.namespace)
	}
	change := managedby.Change{
		Operation: admissionv1.Create, Kind: schema.FromAPIVersionAndKind(w.apiVersion, result.GetKind()), Object: result,
	}
	if w.old != nil {
		change.Operation, change.SubResource, change.OldObject = admissionv1.Update, w.subResource, w.old
		if change.Kind.Kind == "" {
			change.Kind.Kind = w.old.GetKind()
		}
	}
	findings, err := t.policy.Check(ctx, change)
	if err != nil {
		if ctx.Err() == nil {
			t.t.Errorf("%s: %v", w, err)
		}
		return nil
	}
	if findings.Evaluated {
		t.checked.Add(1)
	}
	managedbytest.Report(t.t, w.String(), findings)
	var denied *managedby.DeniedError
	if !errors.As(findings.Err(), &denied) {
		return nil
	}
	status := denied.Status()
	return &status
}

// stored gets the stored object with the client's credentials; nil if there is none.
func (t *transport) stored(request *http.Request, w *write) (*unstructured.Unstructured, error) {
	get := request.Clone(request.Context())
	get.Method, get.Body, get.GetBody, get.ContentLength = http.MethodGet, nil, nil, 0
	get.URL.Path, get.URL.RawQuery, get.URL.RawPath = strings.TrimSuffix(get.URL.Path, "/"+managedby.StatusSubresource), "", ""
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", "application/json")
	answer, err := t.next.RoundTrip(get)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return patch.Decode(text)
	case http.StatusNotFound:
		return nil, nil
	default:
		t.t.Errorf("%s: not checked: the stored object could not be read: %s", w, answer.Status)
		return nil, nil
	}
}

// write is a request that writes an object or its status.
type write struct {
	verb, apiVersion, resource, namespace, name, subResource string
	contentType                                              string
	body                                                     []byte
	old                                                      *unstructured.Unstructured
}

// String describes the write, such as "PUT of jobs/status default/pi".
func (w *write) String() string {
	resource := w.resource
	if w.subResource != "" {
		resource += "/" + w.subResource
	}
	return fmt.Sprintf("%s of %s %s/%s", w.verb, resource, w.namespace, w.name)
}

// parse reads the path of a request. It returns false for reads, deletions, other subresources, cluster-scoped objects and the core API group,
// which have no rules.
func parse(request *http.Request) (*write, bool) {
	_, path, found := strings.Cut(request.URL.Path, "/apis/")
	parts := strings.Split(path, "/")
	if !found || len(parts) < 5 || len(parts) > 7 || parts[2] != "namespaces" {
		return nil, false
	}
	w := &write{
		verb: request.Method, apiVersion: parts[0] + "/" + parts[1], namespace: parts[3], resource: parts[4],
		contentType: request.Header.Get("Content-Type"),
	}
	if len(parts) > 5 {
		w.name = parts[5]
	}
	if len(parts) == 7 {
		w.subResource = parts[6]
	}
	isWrite := request.Method == http.MethodPost && w.name == "" || w.name != "" && (request.Method == http.MethodPut || request.Method == http.MethodPatch)
	return w, isWrite && (w.subResource == "" || w.subResource == managedby.StatusSubresource)
}

var errServerComputed = errors.New("only the API server can compute the result")

// result returns the object that the write produces, or nil if there is no object to update.
func (w *write) result() (*unstructured.Unstructured, error) {
	if w.verb != http.MethodPatch {
		if w.verb == http.MethodPut && w.old == nil {
			return nil, nil
		}
		return decode(w.contentType, w.body)
	}
	patchType, _, err := mime.ParseMediaType(w.contentType)
	if err != nil {
		return nil, err
	}
	if types.PatchType(patchType) == types.ApplyPatchType || strings.HasPrefix(patchType, "application/apply-patch") {
		return nil, errServerComputed
	}
	if w.old == nil {
		return nil, nil
	}
	return patch.Apply(scheme.Scheme, w.old, types.PatchType(patchType), w.body)
}

// isStale reports whether the API server rejects the write before it validates the object: it is based on an older version, or on an object
// that was deleted and created again.
func isStale(old, result *unstructured.Unstructured) bool {
	if old == nil {
		return false
	}
	differs := func(sent, stored string) bool { return sent != "" && sent != stored }
	return differs(result.GetResourceVersion(), old.GetResourceVersion()) || differs(string(result.GetUID()), string(old.GetUID())) ||
		differs(result.GetName(), old.GetName())
}

// readBody returns the body of a request, and replaces it with a copy.
func readBody(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// decode decodes an object from JSON or protobuf, which controller-runtime sends for built-in kinds.
func decode(contentType string, text []byte) (*unstructured.Unstructured, error) {
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil && mediaType == "application/json" {
		return patch.Decode(text)
	}
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	result := &unstructured.Unstructured{Object: fields}
	result.SetGroupVersionKind(*kind)
	return result, nil
}

// response returns a response with a status.
func response(request *http.Request, status *metav1.Status) (*http.Response, error) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	code := int(status.Code)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, Proto: request.Proto, ProtoMajor: request.ProtoMajor, ProtoMinor: request.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: request,
	}, nil
}
