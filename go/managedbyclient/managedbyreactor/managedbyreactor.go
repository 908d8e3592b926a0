// Package managedbyreactor checks every write to a fake clientset or a fake dynamic client of client-go. If a kube-apiserver release would
// deny the write, it fails the test with kube-apiserver's error.
//
//	clientset := fake.NewClientset(job)
//	managedbyreactor.Prepend(t, clientset)
//
// A write that a release would deny is not made, and the code under test gets the API server's error. Server-side applies are made first and
// their result is checked. A test fails if none of its writes is checked.
package managedbyreactor

import (
	"errors"
	"fmt"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/report"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Fake is a fake client of client-go: *fake.Clientset of k8s.io/client-go/kubernetes, or *fake.FakeDynamicClient of
// k8s.io/client-go/dynamic.
type Fake interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
	Tracker() clienttesting.ObjectTracker
}

// Prepend checks the writes of a fake client before its other reactors. It accepts the options of [managedby.New]; the default releases are
// [managedby.WithManagedByOnByDefault].
func Prepend(t managedbytest.T, fake Fake, options ...managedby.Option) {
	t.Helper()
	onByDefault := managedby.WithReleases(managedby.WithManagedByOnByDefault()...)
	policy, err := managedby.New(t.Context(), append([]managedby.Option{onByDefault}, options...)...)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	c := &checker{t: report.New(t, report.Options{Located: true}), test: t, policy: policy, tracker: fake.Tracker()}
	t.Cleanup(c.summarize)
	for _, verb := range []string{"create", "update", "patch"} {
		fake.PrependReactor(verb, "*", c.react)
	}
}

type checker struct {
	t               *report.T
	test            managedbytest.T
	policy          *managedby.Policy
	tracker         clienttesting.ObjectTracker
	writes, checked atomic.Int64
}

func (c *checker) summarize() {
	c.t.Helper()
	writes, checked := c.writes.Load(), c.checked.Load()
	text := fmt.Sprintf("managedbyreactor: checked %d of %d writes", checked, writes)
	fails := checked == 0 && !report.FailedOrSkipped(c.test)
	if fails {
		text += ": the code under test uses another client, or writes only kinds without rules"
	}
	c.t.Summarize(fails, text)
}

// react checks an action. It handles denied writes and applies, and leaves the others to the next reactor.
func (c *checker) react(action clienttesting.Action) (handled bool, result runtime.Object, err error) {
	c.t.Helper()
	if s := action.GetSubresource(); s != "" && s != managedby.StatusSubresource {
		return false, nil, nil
	}
	c.writes.Add(1)
	switch action := action.(type) {
	case clienttesting.PatchAction:
		return c.patch(action)
	case clienttesting.CreateAction: // Every UpdateAction is one too.
		var old *unstructured.Unstructured
		if action.GetVerb() == "update" {
			if old = c.stored(action, nameOf(action.GetObject())); old == nil {
				return false, nil, nil // The fake client reports the missing object.
			}
		}
		err := c.check(action, old, action.GetObject())
		return err != nil, nil, err
	default:
		return false, nil, nil
	}
}

func (c *checker) patch(action clienttesting.PatchAction) (bool, runtime.Object, error) {
	c.t.Helper()
	old := c.stored(action, action.GetName())
	if action.GetPatchType() != types.ApplyPatchType {
		if old == nil {
			return false, nil, nil
		}
		result, err := patch.Apply(scheme.Scheme, old, action.GetPatchType(), action.GetPatch())
		if err != nil {
			return false, nil, nil // The fake client reports an invalid patch.
		}
		err = c.check(action, old, result)
		return err != nil, nil, err
	}
	handled, result, err := clienttesting.ObjectReaction(c.tracker)(action)
	if !handled || err != nil {
		return handled, result, err
	}
	if err := c.check(action, old, result); err != nil {
		return true, nil, err
	}
	return true, result, nil
}

// stored returns the stored object; nil if there is none.
func (c *checker) stored(action clienttesting.Action, name string) *unstructured.Unstructured {
	obj, err := c.tracker.Get(action.GetResource(), action.GetNamespace(), name)
	if err != nil {
		return nil
	}
	return toUnstructured(obj)
}

// check checks a write and reports its findings. It returns the API server's error if a release denies the write.
func (c *checker) check(action clienttesting.Action, old *unstructured.Unstructured, obj runtime.Object) error {
	c.t.Helper()
	result := toUnstructured(obj)
	if result == nil {
		return nil
	}
	if result.GetNamespace() == "" {
		result.SetNamespace(action.GetNamespace())
	}
	kind := result.GroupVersionKind()
	if kind.Empty() && old != nil {
		kind = old.GroupVersionKind()
	}
	change := managedby.Change{Operation: admissionv1.Create, Kind: kind, Object: result}
	if old != nil {
		if err := patch.UIDConflict(action.GetResource().GroupResource(), old.GetName(), result.GetUID(), old.GetUID()); err != nil {
			return err
		}
		change.Operation, change.SubResource, change.OldObject = admissionv1.Update, action.GetSubresource(), old
	}
	findings, err := c.policy.Check(c.t.Context(), change)
	if err != nil {
		c.t.Errorf("%v", err)
		return err
	}
	if findings.Evaluated {
		c.checked.Add(1)
	}
	resource := action.GetResource().Resource
	if s := action.GetSubresource(); s != "" {
		resource += "/" + s
	}
	managedbytest.Report(c.t, fmt.Sprintf("%s of %s %s/%s", action.GetVerb(), resource, result.GetNamespace(), result.GetName()), findings)
	var denied *managedby.DeniedError
	if errors.As(findings.Err(), &denied) {
		return &apierrors.StatusError{ErrStatus: denied.Status()}
	}
	return nil
}

func nameOf(obj runtime.Object) string {
	object, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return object.GetName()
}

// toUnstructured converts an object, with its kind from the scheme if it is missing; nil if it cannot be converted.
func toUnstructured(obj runtime.Object) *unstructured.Unstructured {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	result := &unstructured.Unstructured{Object: fields}
	if result.GroupVersionKind().Empty() {
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
			result.SetGroupVersionKind(kinds[0])
		}
	}
	return result
}
