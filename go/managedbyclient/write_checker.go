package managedbyclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	patches "github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// writeChecker checks the writes of one test.
type writeChecker struct {
	t             *report.T
	report        report.Options
	options       []managedby.Option
	reader        client.Reader
	policy        *managedby.Policy
	allowNoWrites bool
	failOnIgnored bool
	// callSite is the file and line that created the checker.
	callSite string
	// writes counts the writes that reached the checker, and checked the evaluated ones.
	writes, checked atomic.Int64
}

// summarize logs the number of checked writes. If there are none, it fails the test, unless the test failed or was skipped, or
// AllowNoWrites is set.
func (w *writeChecker) summarize() {
	w.t.Helper()
	writes, checked := w.writes.Load(), w.checked.Load()
	if checked > 0 || w.allowNoWrites || report.FailedOrSkipped(w.t.T) {
		w.t.Summarize(false, fmt.Sprintf("managedbyclient: checked %d of %d writes", checked, writes))
		return
	}
	reason := "no write reached the client: the code under test uses another client, or a second WithInterceptorFuncs replaced managedbyclient.Funcs"
	if writes > 0 {
		reason = fmt.Sprintf("none of %d writes was checked: their kinds have no rules, or the API server rejects them before it validates the object", writes)
	}
	if w.callSite != "" {
		reason = w.callSite + ": " + reason
	}
	w.t.Summarize(true, reason+". If that is expected, use managedbyclient.AllowNoWrites()")
}

func (w *writeChecker) create(ctx context.Context, c client.Client, obj client.Object, write func() error) error {
	w.t.Helper()
	w.writes.Add(1)
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	change := managedby.Change{Operation: admissionv1.Create, Kind: kind, Object: obj}
	if err := w.check(ctx, "Create", change); err != nil {
		return err
	}
	return write()
}

func (w *writeChecker) update(ctx context.Context, c client.Client, subResource string, obj client.Object, write func() error) error {
	w.t.Helper()
	w.writes.Add(1)
	kind, old := w.stored(ctx, c, subResource, obj)
	method := methodName("Update", subResource)
	if isUncheckedSubResource(subResource) {
		return write()
	}
	// The API server checks for conflicts before it validates a write.
	if old == nil || obj.GetResourceVersion() != "" && obj.GetResourceVersion() != old.GetResourceVersion() {
		return w.unchecked(ctx, method, subResource, kind, old, obj, write)
	}
	if err := verifyUpdatedUID(kind, old, obj); err != nil {
		return err
	}
	change := managedby.Change{
		Operation: admissionv1.Update, SubResource: subResource, Kind: kind, Object: obj, OldObject: old,
	}
	if err := w.check(ctx, method, change); err != nil {
		return err
	}
	field := ignoredField(subResource)
	sent := fieldOf(obj, field)
	if obj.GetResourceVersion() == "" && field == specField {
		// The code did not read the object, so its spec is a placeholder.
		sent = nil
	}
	err := w.send(ctx, method, subResource, kind, obj, write)
	if err == nil {
		w.reportIgnored(method, field, kind, old, sent, obj)
	}
	return err
}

func (w *writeChecker) patch(ctx context.Context, c client.Client, subResource string, obj client.Object, patch client.Patch, dryRun bool, write func() error) error {
	w.t.Helper()
	w.writes.Add(1)
	kind, old := w.stored(ctx, c, subResource, obj)
	method := methodName("Patch", subResource)
	if patch.Type() == types.ApplyPatchType {
		data, err := patch.Data(obj)
		if err != nil {
			return write() // The client returns the error.
		}
		a := serverSideApply{method: method, subResource: subResource, kind: kind, key: client.ObjectKeyFromObject(obj), old: old, sent: data, into: obj, dryRun: dryRun}
		if _, partial := obj.(*metav1.PartialObjectMetadata); partial {
			a.into = nil
		}
		return w.applyAndCheck(ctx, c, a, write)
	}
	if isUncheckedSubResource(subResource) {
		return write()
	}
	if old == nil {
		return w.unchecked(ctx, method, subResource, kind, old, obj, write)
	}
	patched, err := preview(c.Scheme(), kind, old, obj, patch)
	// The client returns errors for invalid and stale patches.
	if err != nil || patched.GetResourceVersion() != old.GetResourceVersion() {
		return w.unchecked(ctx, method, subResource, kind, old, obj, write)
	}
	if err := verifyPatchedIdentity(kind, old, patched); err != nil {
		w.rejected(ctx, method, kind, old, err)
		return err
	}
	change := managedby.Change{
		Operation: admissionv1.Update, SubResource: subResource, Kind: kind, Object: patched, OldObject: old,
	}
	if err := w.check(ctx, method, change); err != nil {
		return err
	}
	err = w.send(ctx, method, subResource, kind, obj, write)
	if err == nil && !dryRun {
		field := ignoredField(subResource)
		w.reportIgnored(method, field, kind, old, fieldOf(patched, field), obj)
	}
	return err
}

// send makes a write that passed the check. If the API server denies it, the test fails, even if the code under test ignores the error.
func (w *writeChecker) send(ctx context.Context, method, subResource string, kind schema.GroupVersionKind, obj client.Object, write func() error) error {
	w.t.Helper()
	err := write()
	if subResource == managedby.StatusSubresource && apierrors.IsInvalid(err) {
		w.rejected(ctx, method, kind, obj, err)
	}
	return err
}

// rejected fails the test because of the API server's response, if the policy has rules for the kind.
func (w *writeChecker) rejected(ctx context.Context, method string, kind schema.GroupVersionKind, obj client.Object, err error) {
	w.t.Helper()
	if w.hasRules(ctx, kind, obj) {
		w.t.Errorf("%s of %s %v: the API server denied the write: %v", method, kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
}

// unchecked makes a write whose stored object could not be read. The test fails if the write succeeds, because then a current read would
// have returned the object.
func (w *writeChecker) unchecked(ctx context.Context, method, subResource string, kind schema.GroupVersionKind, old, obj client.Object, write func() error) error {
	w.t.Helper()
	sent := obj.GetResourceVersion()
	if err := w.send(ctx, method, subResource, kind, obj, write); err != nil {
		return err
	}
	if !w.hasRules(ctx, kind, obj) {
		return nil
	}
	read := "does not find the object"
	if old != nil {
		read = fmt.Sprintf("returns resourceVersion %s instead of %s", old.GetResourceVersion(), sent)
	}
	w.t.Errorf("%s of %s %v: the write succeeded but was not checked, because the client's Get %s: pass a reader without a cache to managedbyclient.WithReader",
		method, kind.Kind, client.ObjectKeyFromObject(obj), read)
	return nil
}

// hasRules reports whether the policy has rules for a kind.
func (w *writeChecker) hasRules(ctx context.Context, kind schema.GroupVersionKind, obj client.Object) bool {
	findings, err := w.policy.Check(context.WithoutCancel(ctx), managedby.Change{Operation: admissionv1.Create, Kind: kind, Object: obj})
	return err == nil && findings.Evaluated
}

// apply checks a server-side apply of obj that sends body.
func (w *writeChecker) apply(ctx context.Context, c client.Client, subResource string, obj, body runtime.ApplyConfiguration, dryRun bool, write func() error) error {
	w.t.Helper()
	w.writes.Add(1)
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	named, err := patches.Decode(text)
	if err != nil {
		return err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	kind, old := w.stored(ctx, c, subResource, named)
	return w.applyAndCheck(ctx, c, serverSideApply{
		method: methodName("Apply", subResource), subResource: subResource, kind: kind, key: client.ObjectKeyFromObject(named), old: old,
		sent: sent, into: obj, dryRun: dryRun,
	}, write)
}

// serverSideApply describes a server-side apply.
type serverSideApply struct {
	method, subResource string
	kind                schema.GroupVersionKind
	key                 client.ObjectKey
	// old is the stored object; nil if there was none.
	old client.Object
	// sent is the JSON that the client sends.
	sent []byte
	// into receives the object in the response; nil if the client does not store it.
	into   any
	dryRun bool
}

// applyAndCheck makes an apply and checks its result.
func (w *writeChecker) applyAndCheck(ctx context.Context, c client.Client, a serverSideApply, write func() error) error {
	w.t.Helper()
	before, err := json.Marshal(a.into)
	if err != nil {
		return err
	}
	switch err := write(); {
	case isUncheckedSubResource(a.subResource):
		return err
	case apierrors.IsInvalid(err):
		// Only the API server can compute the result of an apply, so its response is the finding.
		if sent, decodeErr := patches.Decode(a.sent); decodeErr == nil {
			sent.SetNamespace(a.key.Namespace)
			sent.SetName(a.key.Name)
			w.rejected(ctx, a.method, a.kind, sent, err)
		}
		return err
	case err != nil:
		return err
	}
	result, err := w.appliedObject(ctx, c, a, before)
	if err != nil || result == nil {
		return err
	}
	return w.check(ctx, a.method, a.change(result))
}

// change returns the result of an apply as an update or a create.
func (a serverSideApply) change(result client.Object) managedby.Change {
	change := managedby.Change{Operation: admissionv1.Create, Kind: a.kind, Object: result}
	if a.old != nil {
		change.Operation, change.SubResource, change.OldObject = admissionv1.Update, a.subResource, a.old
	}
	return change
}

// appliedObject returns the object that an apply produced: from the response, from a preview if a dry run returned nothing, or from
// a read. It returns nil if the read finds no object.
func (w *writeChecker) appliedObject(ctx context.Context, c client.Client, a serverSideApply, before []byte) (client.Object, error) {
	after, err := json.Marshal(a.into)
	if err != nil {
		return nil, err
	}
	switch {
	case a.into != nil && !bytes.Equal(before, after):
		return patches.Decode(after)
	case a.dryRun:
		// The fake client returns nothing for a dry run.
		return a.preview()
	default:
		// The client does not return the response.
		return w.get(ctx, c, a.kind, a.key), nil
	}
}

// preview returns an approximation of the result of an apply: lists are replaced, not merged, and fields that are no longer applied
// are kept.
func (a serverSideApply) preview() (client.Object, error) {
	if a.old == nil {
		return patches.Decode(a.sent)
	}
	text, err := json.Marshal(a.old)
	if err != nil {
		return nil, err
	}
	if text, err = jsonpatch.MergePatch(text, a.sent); err != nil {
		return nil, err
	}
	return patches.Decode(text)
}

// stored looks up the stored object; nil if there is none, it cannot be read, or the policy does not check the subresource.
func (w *writeChecker) stored(ctx context.Context, c client.Client, subResource string, obj client.Object) (schema.GroupVersionKind, client.Object) {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil || isUncheckedSubResource(subResource) {
		return kind, nil
	}
	return kind, w.get(ctx, c, kind, client.ObjectKeyFromObject(obj))
}

func isUncheckedSubResource(subResource string) bool {
	return subResource != "" && subResource != managedby.StatusSubresource
}

// get looks up an object; nil if there is none or it cannot be read. It logs errors other than NotFound.
func (w *writeChecker) get(ctx context.Context, c client.Client, kind schema.GroupVersionKind, key client.ObjectKey) client.Object {
	var obj client.Object
	if typed, err := c.Scheme().New(kind); err == nil {
		obj, _ = typed.(client.Object)
	}
	if obj == nil {
		obj = &unstructured.Unstructured{}
	}
	// The fake client registers kinds without Go types in the scheme, as empty objects.
	obj.GetObjectKind().SetGroupVersionKind(kind)
	var reader client.Reader = c
	if w.reader != nil {
		reader = w.reader
	}
	if err := reader.Get(ctx, key, obj); err != nil {
		if !apierrors.IsNotFound(err) {
			w.t.Logf("not evaluated: %s %v: %v", kind.Kind, key, err)
		}
		return nil
	}
	return obj
}

// preview returns the result of a patch other than a server-side apply.
func preview(scheme *runtime.Scheme, kind schema.GroupVersionKind, old, obj client.Object, patch client.Patch) (*unstructured.Unstructured, error) {
	data, err := patch.Data(obj)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	stored, err := patches.Decode(text)
	if err != nil {
		return nil, err
	}
	stored.SetGroupVersionKind(kind)
	return patches.Apply(scheme, stored, patch.Type(), data)
}

// check checks a change and reports its findings to the test. It returns the error that the API server would return, or nil if no
// release denies the change.
func (w *writeChecker) check(ctx context.Context, method string, change managedby.Change) error {
	w.t.Helper()
	findings, err := w.policy.Check(ctx, change)
	if err != nil {
		if ctx.Err() == nil {
			w.t.Errorf("%v", err)
		}
		return err
	}
	if findings.Evaluated {
		w.checked.Add(1)
	}
	obj, ok := change.Object.(client.Object)
	if !ok {
		return fmt.Errorf("managedbyclient: %T is not a client.Object", change.Object)
	}
	managedbytest.Report(w.t, fmt.Sprintf("%s of %s %v", method, change.Kind.Kind, client.ObjectKeyFromObject(obj)), findings)
	return denial(findings)
}

// denial returns the response of the newest release that denies.
func denial(findings managedby.Findings) error {
	var denied *managedby.DeniedError
	if errors.As(findings.Err(), &denied) {
		return &apierrors.StatusError{ErrStatus: denied.Status()}
	}
	return nil
}

// methodName returns the client method that the code under test calls, such as Status().Update.
func methodName(verb, subResource string) string {
	switch subResource {
	case "":
		return verb
	case managedby.StatusSubresource:
		return "Status()." + verb
	default:
		return fmt.Sprintf("SubResource(%q).%s", subResource, verb)
	}
}
