// Package check checks writes of the code under test. The packages for clients adapt it: they find the writes and the stored objects.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/managed-by-policy/managed-by-policy/go/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Checker checks the writes of one test.
type Checker struct {
	*report.T
	Policy  *managedby.Policy
	options managedbytest.Options
	// name is the package in the summary, and callSite the file and line that created the checker.
	name, callSite string
	// writes counts the writes that reached the checker, and checked the evaluated ones.
	writes, checked atomic.Int64
}

// New returns a checker, or nil after it failed the test because of an invalid option. The summary, which fails a test without a checked
// write, names the package.
func New(t managedbytest.T, name string, located bool, options []managedbytest.Option) *Checker {
	t.Helper()
	parsed, err := managedbytest.ParseOptions(options)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	onByDefault := managedby.WithReleases(managedby.WithManagedByOnByDefault()...)
	policy, err := managedby.New(t.Context(), append([]managedby.Option{onByDefault}, parsed.Policy...)...)
	if err != nil {
		t.Errorf("%v", err)
		return nil
	}
	c := &Checker{T: report.New(t, located, parsed.Fail), Policy: policy, options: parsed, name: name}
	if located {
		c.callSite = report.CallersLine()
	}
	t.Cleanup(c.summarize)
	return c
}

// summarize logs the number of checked writes. If there are none, it fails the test, unless the test failed or was skipped, or
// AllowNoWrites is set.
func (c *Checker) summarize() {
	c.Helper()
	writes, checked := c.writes.Load(), c.checked.Load()
	if checked > 0 || c.options.AllowNoWrites || report.FailedOrSkipped(c.T.T) {
		c.Summarize(false, fmt.Sprintf("%s: checked %d of %d writes", c.name, checked, writes))
		return
	}
	reason := c.name + ": no write reached the client: the code under test uses another client"
	if c.name == "managedbyclient" {
		reason += ", or a second WithInterceptorFuncs replaced managedbyclient.Funcs"
	}
	if writes > 0 {
		reason = fmt.Sprintf("%s: none of %d writes was checked: their kinds have no rules, or the API server rejects them before it validates the object", c.name, writes)
	}
	if c.callSite != "" {
		reason = c.callSite + ": " + reason
	}
	c.Summarize(true, reason+". If that is expected, use managedbytest.AllowNoWrites()")
}

// Write is a write of an object or its status.
type Write struct {
	// What names the write in messages: Status().Update of Job default/pi.
	What string
	// Instead is the method that writes the part that this one ignores.
	Instead     string
	SubResource string
	Kind        schema.GroupVersionKind
	// Old is the stored object; nil for a create.
	Old *unstructured.Unstructured
	// Object is the object that the write produces.
	Object *unstructured.Unstructured
	// IsUpdate is true for a write of the whole object, which needs a resourceVersion.
	IsUpdate bool
	// evaluated is true if the policy has rules for the kind.
	evaluated bool
}

// Count counts a write that reached the checker.
func (c *Checker) Count() { c.writes.Add(1) }

// Check checks a write and reports its findings. It returns the API server's error for the newest release that denies it.
func (c *Checker) Check(ctx context.Context, w *Write) error {
	c.Helper()
	change := managedby.Change{Operation: admissionv1.Create, Kind: w.Kind, Object: w.Object}
	if w.Old != nil {
		change.Operation, change.SubResource, change.OldObject = admissionv1.Update, w.SubResource, w.Old
	}
	findings, err := c.Policy.Check(ctx, change)
	if err != nil {
		if ctx.Err() == nil {
			c.Errorf("%s: %v", w.What, err)
		}
		return err
	}
	return c.Report(w, findings)
}

// Report reports the findings of a write.
func (c *Checker) Report(w *Write, findings managedby.Findings) error {
	c.Helper()
	w.evaluated = findings.Evaluated
	if findings.Evaluated {
		c.checked.Add(1)
	}
	for _, part := range findings.Unchecked {
		if part.Reason == "unsupported-version" {
			c.warn("%s: %s", w.What, part.Message)
		}
	}
	if expected := c.options.Controller; expected != "" && w.Old != nil && findings.Evaluated && findings.Controller != expected {
		c.Errorf("%s: the object names the controller %q, not %q", w.What, findings.Controller, expected)
	}
	if w.IsUpdate && w.SubResource == managedby.StatusSubresource && w.Object.GetResourceVersion() == "" && findings.Evaluated {
		c.warn("%s: no resourceVersion: the write overwrites changes since the object was read", w.What)
	}
	managedbytest.Report(c.reporter(), w.What, findings)
	var denied *managedby.DeniedError
	if errors.As(findings.Err(), &denied) {
		return &apierrors.StatusError{ErrStatus: denied.Status()}
	}
	return nil
}

// strict fails the test for warnings.
type strict struct{ *report.T }

func (s strict) Logf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
}

func (c *Checker) reporter() managedbytest.T {
	if c.options.FailOnWarnings {
		return strict{c.T}
	}
	return c.T
}

func (c *Checker) warn(format string, args ...any) {
	c.Helper()
	c.reporter().Logf(format, args...)
}

// Ignored reports that the API server ignores a changed status in a write of the object, or a changed spec in a write of the status.
// returned is the object in the response; nil if the client is a fake that stores both.
func (c *Checker) Ignored(w *Write, returned *unstructured.Unstructured) {
	c.Helper()
	field := "status"
	if w.SubResource == managedby.StatusSubresource {
		field = "spec"
	}
	if w.Old == nil || returned == nil && !w.evaluated || w.IsUpdate && field == "spec" && w.Object.GetResourceVersion() == "" {
		// Code that did not read the object sends a placeholder as its spec.
		return
	}
	before, sent := part(w.Old, field), part(w.Object, field)
	if sent == nil || reflect.DeepEqual(sent, before) || returned != nil && !reflect.DeepEqual(part(returned, field), before) {
		return
	}
	text := fmt.Sprintf("%s: the changed %s is ignored: use %s", w.What, field, w.Instead)
	if c.options.FailOnIgnoredChanges {
		c.Errorf("%s", text)
	} else {
		c.warn("%s", text)
	}
}

// part returns a top-level field; nil if it is missing or empty.
func part(object *unstructured.Unstructured, field string) any {
	if value, ok := object.Object[field].(map[string]any); ok && len(value) > 0 {
		return value
	}
	return nil
}

// Rejected fails the test because the API server denies a write that passed the check, even if the code under test ignores the error.
func (c *Checker) Rejected(ctx context.Context, w *Write, message string) {
	c.Helper()
	object := w.Object
	if object == nil {
		object = w.Old
	}
	if object == nil || c.HasRules(ctx, w.Kind, object) {
		c.Errorf("%s: the API server denied the write: %s", w.What, message)
	}
}

// HasRules reports whether the policy has rules for a kind.
func (c *Checker) HasRules(ctx context.Context, kind schema.GroupVersionKind, object runtime.Object) bool {
	findings, err := c.Policy.Check(context.WithoutCancel(ctx), managedby.Change{Operation: admissionv1.Create, Kind: kind, Object: object})
	return err == nil && findings.Evaluated
}

// OverlayStatus sets the numbers, strings and booleans of the sent status in the result of an apply, which they determine. The fakes lose
// those with the zero value.
func OverlayStatus(result *unstructured.Unstructured, sent []byte) {
	var applied struct {
		Status map[string]any `json:"status"`
	}
	if err := kjson.Unmarshal(sent, &applied); err != nil {
		return
	}
	for name, value := range applied.Status {
		switch value.(type) {
		case map[string]any, []any, nil:
		default:
			// The error means that the status is not an object.
			_ = unstructured.SetNestedField(result.Object, value, "status", name)
		}
	}
}

// Unstructured converts an object, and sets its kind; nil if it cannot be converted.
func Unstructured(object any, kind schema.GroupVersionKind) *unstructured.Unstructured {
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	result, err := Decode(text)
	if err != nil {
		return nil
	}
	if !kind.Empty() {
		result.SetGroupVersionKind(kind)
	}
	return result
}

// Decode decodes an object and preserves integers.
func Decode(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(text, &object.Object); err != nil {
		return nil, err
	}
	if object.Object == nil {
		return nil, errors.New("expected an object")
	}
	return object, nil
}

// UIDConflict returns the API server's error for an update of an object that was deleted and created again; nil if the UIDs match.
func UIDConflict(resource schema.GroupResource, name string, sent, stored types.UID) error {
	if sent == "" || sent == stored {
		return nil
	}
	//lint:ignore ST1005 This is the API server's text.
	reason := fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", sent, stored)
	return apierrors.NewConflict(resource, name, reason)
}
