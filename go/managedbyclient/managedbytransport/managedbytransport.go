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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// New returns a wrapper for rest.Config.Wrap.
func New(t managedbytest.T, options ...managedbytest.Option) func(http.RoundTripper) http.RoundTripper {
	t.Helper()
	c := check.New(t, "managedbytransport", true, options)
	return func(next http.RoundTripper) http.RoundTripper {
		if c == nil {
			return next
		}
		return &transport{Checker: c, next: next}
	}
}

// transport checks the writes of a client.
type transport struct {
	*check.Checker
	next http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport, for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip checks a write and sends it.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.Helper()
	w, ok := parse(request)
	if !ok {
		return t.next.RoundTrip(request)
	}
	t.Count()
	body, err := buffer(&request.Body)
	if err != nil {
		return nil, err
	}
	w.body = body
	if w.name != "" {
		if err := t.readStored(request, w); err != nil {
			return nil, err
		}
	}
	result, err := w.result()
	switch {
	case w.isUnknown:
		// Without the stored object, there is nothing to compare.
		return t.next.RoundTrip(request)
	case err != nil:
		// The API server reports an invalid patch, and encodings without JSON are checked in the response.
		return t.sendAndCheck(request, w)
	case result == nil || isStale(w.Old, result):
		return t.send(request, w)
	}
	if denied := t.check(request.Context(), w, result); denied != nil {
		return response(request, denied)
	}
	answer, err := t.send(request, w)
	if err == nil && answer.StatusCode < http.StatusBadRequest {
		t.Ignored(&w.Write, nil)
	}
	return answer, err
}

// send sends a checked write, or one that the API server rejects because of a missing object or a conflict.
func (t *transport) send(request *http.Request, w *write) (*http.Response, error) {
	t.Helper()
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return answer, t.reject(request.Context(), answer, w)
}

// reject fails the test if the API server denies a write as invalid.
func (t *transport) reject(ctx context.Context, answer *http.Response, w *write) error {
	t.Helper()
	if answer.StatusCode != http.StatusUnprocessableEntity {
		return nil
	}
	text, err := buffer(&answer.Body)
	if err != nil {
		return err
	}
	if object, err := decode(answer.Header.Get("Content-Type"), text); err == nil {
		message, _, _ := unstructured.NestedString(object.Object, "message")
		if w.Kind.Kind == "" && w.Old != nil {
			w.Kind = w.Old.GroupVersionKind()
		}
		t.Rejected(ctx, &w.Write, message)
	}
	return nil
}

// buffer returns a body, and replaces it with a copy.
func buffer(body *io.ReadCloser) ([]byte, error) {
	if *body == nil {
		return nil, nil
	}
	text, err := io.ReadAll(*body)
	if err = errors.Join(err, (*body).Close()); err != nil {
		return nil, err
	}
	*body = io.NopCloser(bytes.NewReader(text))
	return text, nil
}

// sendAndCheck sends a write whose result only the API server can compute, and checks the object in the response.
func (t *transport) sendAndCheck(request *http.Request, w *write) (*http.Response, error) {
	t.Helper()
	answer, err := t.send(request, w)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		return answer, err
	}
	text, err := buffer(&answer.Body)
	if err != nil {
		return nil, err
	}
	result, err := decode(answer.Header.Get("Content-Type"), text)
	if isUnread := w.Old == nil && w.SubResource != ""; err != nil || isUnread || w.Old != nil && result.GetKind() != w.Old.GetKind() {
		t.Errorf("%s: the write succeeded but was not checked: the response, or the stored object, is missing", w.What)
		return answer, nil
	}
	if denied := t.check(request.Context(), w, result); denied != nil {
		return response(request, denied)
	}
	if w.Object, err = patch.Apply(scheme.Scheme, w.Old, types.MergePatchType, w.body); err == nil {
		t.Ignored(&w.Write, nil)
	}
	return answer, nil
}

// check checks a write. It returns the API server's response if a release denies the write.
func (t *transport) check(ctx context.Context, w *write, result *unstructured.Unstructured) *metav1.Status {
	t.Helper()
	if result.GetNamespace() == "" {
		result.SetNamespace(w.namespace)
	}
	w.Object, w.Kind = result, schema.FromAPIVersionAndKind(w.apiVersion, result.GetKind())
	if w.Kind.Kind == "" && w.Old != nil {
		w.Kind.Kind = w.Old.GetKind()
	}
	var denied *apierrors.StatusError
	if !errors.As(t.Check(ctx, &w.Write), &denied) {
		return nil
	}
	return &denied.ErrStatus
}

// readStored gets the stored object with the client's credentials.
func (t *transport) readStored(request *http.Request, w *write) error {
	get := request.Clone(request.Context())
	get.Method, get.Body, get.GetBody, get.ContentLength = http.MethodGet, nil, nil, 0
	get.URL.Path, get.URL.RawQuery, get.URL.RawPath = strings.TrimSuffix(get.URL.Path, "/"+managedby.StatusSubresource), "", ""
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", "application/json")
	answer, err := t.next.RoundTrip(get)
	if err != nil {
		return err
	}
	text, err := buffer(&answer.Body)
	if err != nil {
		return err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		w.Old, err = check.Decode(text)
	case http.StatusNotFound:
	default:
		w.isUnknown = true
		t.Errorf("%s: not checked: the stored object could not be read: %s", w.What, answer.Status)
	}
	return err
}

// write is a request that writes an object or its status.
type write struct {
	check.Write
	verb, apiVersion, namespace, name string
	contentType                       string
	body                              []byte
	// isUnknown is true if the stored object could not be read.
	isUnknown bool
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
		verb: request.Method, apiVersion: parts[0] + "/" + parts[1], namespace: parts[3],
		contentType: request.Header.Get("Content-Type"),
	}
	if len(parts) > 5 {
		w.name = parts[5]
	}
	if len(parts) == 7 {
		w.SubResource = parts[6]
	}
	written, other := parts[4], parts[4]+"/"+managedby.StatusSubresource
	if w.SubResource != "" {
		written, other = other, written
	}
	w.What, w.Instead = fmt.Sprintf("%s of %s %s/%s", w.verb, written, w.namespace, w.name), w.verb+" of "+other
	w.IsUpdate = request.Method == http.MethodPut
	isWrite := request.Method == http.MethodPost && w.name == "" || w.name != "" && (request.Method == http.MethodPut || request.Method == http.MethodPatch)
	return w, isWrite && (w.SubResource == "" || w.SubResource == managedby.StatusSubresource)
}

var errServerComputed = errors.New("only the API server can compute the result")

// result returns the object that the write produces, or nil if there is no object to update.
func (w *write) result() (*unstructured.Unstructured, error) {
	if w.verb != http.MethodPatch {
		if w.verb == http.MethodPut && w.Old == nil {
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
	if w.Old == nil {
		return nil, nil
	}
	return patch.Apply(scheme.Scheme, w.Old, types.PatchType(patchType), w.body)
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

// decode decodes an object from JSON or protobuf, which controller-runtime sends for built-in kinds.
func decode(contentType string, text []byte) (*unstructured.Unstructured, error) {
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil && mediaType == "application/json" {
		return check.Decode(text)
	}
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return check.Unstructured(object, *kind), nil
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
