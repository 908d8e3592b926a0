package managedbyclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	patches "github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
)

// writeChecker checks the writes of a controller-runtime client.
type writeChecker struct {
	*check.Checker
	// reader reads stored objects; nil for the client itself.
	reader client.Reader
}

// write is a write and how to make it.
type write struct {
	check.Write
	key    client.ObjectKey
	dryRun bool
	// readError is the reason why the stored object is unknown; nil if it does not exist.
	readError error
	send      func() error
}

// begin counts a write and looks up the stored object. It returns false for subresources without rules.
func (w *writeChecker) begin(ctx context.Context, c client.Client, verb, subResource string, obj runtime.Object, send func() error) (*write, bool) {
	w.Count()
	kind, err := c.GroupVersionKindFor(obj)
	object := check.Unstructured(obj, kind)
	if err != nil || object == nil || subResource != "" && subResource != managedby.StatusSubresource {
		return nil, false
	}
	method, instead := verb, "Status()."+verb
	if subResource != "" {
		method, instead = instead, method
	}
	key := client.ObjectKeyFromObject(object)
	a := &write{key: key, send: send, Write: check.Write{
		What: fmt.Sprintf("%s of %s %v", method, kind.Kind, key), Instead: instead, SubResource: subResource, Kind: kind, Object: object,
	}}
	if verb != "Create" {
		a.Old, a.readError = w.get(ctx, c, kind, key)
	}
	return a, true
}

func (w *writeChecker) create(ctx context.Context, c client.Client, obj client.Object, send func() error) error {
	w.Helper()
	a, ok := w.begin(ctx, c, "Create", "", obj, send)
	if !ok {
		return send()
	}
	return w.checkAndSend(ctx, a, obj)
}

func (w *writeChecker) update(ctx context.Context, c client.Client, subResource string, obj client.Object, send func() error) error {
	w.Helper()
	a, ok := w.begin(ctx, c, "Update", subResource, obj, send)
	if !ok {
		return send()
	}
	a.IsUpdate = true
	// The API server checks for conflicts before it validates a write.
	if a.Old == nil || obj.GetResourceVersion() != "" && obj.GetResourceVersion() != a.Old.GetResourceVersion() {
		return w.unchecked(ctx, a)
	}
	plural, _ := meta.UnsafeGuessKindToResource(a.Kind)
	if err := check.UIDConflict(plural.GroupResource(), a.key.Name, obj.GetUID(), a.Old.GetUID()); err != nil {
		return err
	}
	return w.checkAndSend(ctx, a, obj)
}

func (w *writeChecker) patch(ctx context.Context, c client.Client, subResource string, obj client.Object, patch client.Patch, dryRun bool, send func() error) error {
	w.Helper()
	a, ok := w.begin(ctx, c, "Patch", subResource, obj, send)
	if !ok {
		return send()
	}
	a.dryRun = dryRun
	data, err := patch.Data(obj)
	switch {
	case err != nil:
		return send() // The client returns the error.
	case patch.Type() == types.ApplyPatchType:
		var into any = obj
		if _, partial := obj.(*metav1.PartialObjectMetadata); partial {
			into = nil
		}
		return w.applyAndCheck(ctx, c, a, data, into)
	case a.Old == nil:
		return w.unchecked(ctx, a)
	}
	patched, err := patches.Apply(c.Scheme(), a.Old, patch.Type(), data)
	// The client returns errors for invalid and stale patches.
	if err != nil || patched.GetResourceVersion() != a.Old.GetResourceVersion() {
		return w.unchecked(ctx, a)
	}
	a.Object = patched
	if err := verifyPatchedIdentity(a.Kind, a.Old, patched); err != nil {
		w.Rejected(ctx, &a.Write, err.Error())
		return err
	}
	return w.checkAndSend(ctx, a, obj)
}

// verifyPatchedIdentity returns the API server's error for a patch of the name, the namespace or the UID.
func verifyPatchedIdentity(kind schema.GroupVersionKind, old, patched client.Object) error {
	switch {
	case patched.GetName() != old.GetName():
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", patched.GetName(), old.GetName()))
	case patched.GetNamespace() != old.GetNamespace():
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case patched.GetUID() != old.GetUID():
		err := field.Invalid(field.NewPath("metadata", "uid"), string(patched.GetUID()), "field is immutable")
		// The API server validates the metadata twice.
		return apierrors.NewInvalid(kind.GroupKind(), old.GetName(), field.ErrorList{err, err})
	default:
		return nil
	}
}

// checkAndSend checks a write and makes it. into receives the object in the response.
func (w *writeChecker) checkAndSend(ctx context.Context, a *write, into client.Object) error {
	w.Helper()
	if err := w.Check(ctx, &a.Write); err != nil {
		return err
	}
	err := w.send(ctx, a)
	if err == nil && !a.dryRun {
		w.Ignored(&a.Write, check.Unstructured(into, a.Kind))
	}
	return err
}

// send makes a write. If the API server denies it, the test fails, even if the code under test ignores the error.
func (w *writeChecker) send(ctx context.Context, a *write) error {
	w.Helper()
	err := a.send()
	if apierrors.IsInvalid(err) {
		w.Rejected(ctx, &a.Write, err.Error())
	}
	return err
}

// unchecked makes a write whose stored object could not be read. The test fails if the write succeeds, because then a current read would
// have returned the object.
func (w *writeChecker) unchecked(ctx context.Context, a *write) error {
	w.Helper()
	sent := a.Object.GetResourceVersion()
	if err := w.send(ctx, a); err != nil {
		return err
	}
	if w.HasRules(ctx, a.Kind, a.Object) {
		read := "does not find the object"
		switch {
		case a.readError != nil:
			read = fmt.Sprintf("fails: %v", a.readError)
		case a.Old != nil:
			read = fmt.Sprintf("returns resourceVersion %s instead of %s", a.Old.GetResourceVersion(), sent)
		}
		w.Errorf("%s: the write succeeded but was not checked, because the client's Get %s: pass a reader without a cache to managedbyclient.WithReader", a.What, read)
	}
	return nil
}

// apply checks a server-side apply of obj that sends body.
func (w *writeChecker) apply(ctx context.Context, c client.Client, subResource string, obj, body runtime.ApplyConfiguration, dryRun bool, send func() error) error {
	w.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	named := check.Unstructured(obj, schema.GroupVersionKind{})
	if named == nil {
		return send() // The client returns the error.
	}
	a, ok := w.begin(ctx, c, "Apply", subResource, named, send)
	if !ok {
		return send()
	}
	a.dryRun = dryRun
	return w.applyAndCheck(ctx, c, a, sent, obj)
}

// applyAndCheck makes an apply and checks its result, because only the API server can compute it. into receives the object in the response;
// nil if the client does not store it.
func (w *writeChecker) applyAndCheck(ctx context.Context, c client.Client, a *write, sent []byte, into any) error {
	w.Helper()
	if a.readError != nil || a.Old == nil && a.SubResource != "" {
		return w.unchecked(ctx, a)
	}
	before, err := json.Marshal(into)
	if err != nil {
		return err
	}
	if err := w.send(ctx, a); err != nil {
		return err
	}
	after, err := json.Marshal(into)
	if err != nil {
		return err
	}
	switch {
	case into != nil && !bytes.Equal(before, after):
		a.Object, err = check.Decode(after)
	case a.dryRun:
		// The fake client returns nothing for a dry run.
		a.Object, err = previewApply(a.Old, sent)
	default:
		// The client does not return the response.
		a.Object, err = w.get(ctx, c, a.Kind, a.key)
	}
	if err != nil || a.Object == nil {
		return err
	}
	if a.SubResource != "" {
		check.OverlayStatus(a.Object, sent)
	}
	if err := w.Check(ctx, &a.Write); err != nil {
		return err
	}
	if a.Object, err = previewApply(a.Old, sent); err == nil {
		w.Ignored(&a.Write, nil)
	}
	return nil
}

// previewApply returns an approximation of the result of an apply: lists are replaced, not merged, and fields that are no longer applied
// are kept.
func previewApply(old *unstructured.Unstructured, sent []byte) (*unstructured.Unstructured, error) {
	if old == nil {
		return check.Decode(sent)
	}
	return patches.Apply(nil, old, types.MergePatchType, sent)
}

// get looks up an object; nil if there is none.
func (w *writeChecker) get(ctx context.Context, c client.Client, kind schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
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
		return nil, client.IgnoreNotFound(err)
	}
	return check.Unstructured(obj, kind), nil
}
