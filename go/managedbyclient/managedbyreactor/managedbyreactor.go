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
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// Fake is a fake client of client-go: *fake.Clientset of k8s.io/client-go/kubernetes, or *fake.FakeDynamicClient of
// k8s.io/client-go/dynamic.
type Fake interface {
	PrependReactor(verb, resource string, reaction clienttesting.ReactionFunc)
	Tracker() clienttesting.ObjectTracker
}

// Prepend checks the writes of a fake client before its other reactors.
func Prepend(t managedbytest.T, fake Fake, options ...managedbytest.Option) {
	t.Helper()
	c := &checker{Checker: check.New(t, "managedbyreactor", true, options), tracker: fake.Tracker()}
	if c.Checker == nil {
		return
	}
	for _, verb := range []string{"create", "update", "patch"} {
		fake.PrependReactor(verb, "*", c.react)
	}
}

type checker struct {
	*check.Checker
	tracker clienttesting.ObjectTracker
}

// react checks an action. It handles denied writes and applies, and leaves the others to the next reactor.
func (c *checker) react(action clienttesting.Action) (handled bool, result runtime.Object, err error) {
	c.Helper()
	if s := action.GetSubresource(); s != "" && s != managedby.StatusSubresource {
		return false, nil, nil
	}
	c.Count()
	switch action := action.(type) {
	case clienttesting.PatchAction:
		return c.patch(action)
	case clienttesting.CreateAction: // Every UpdateAction is one too.
		object := toUnstructured(action.GetObject())
		if object == nil {
			return false, nil, nil
		}
		var old *unstructured.Unstructured
		if action.GetVerb() == "update" {
			if old = c.stored(action, object.GetName()); old == nil {
				return false, nil, nil // The fake client reports the missing object.
			}
		}
		err := c.check(action, old, object)
		return err != nil, nil, err
	default:
		return false, nil, nil
	}
}

func (c *checker) patch(action clienttesting.PatchAction) (bool, runtime.Object, error) {
	c.Helper()
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
	if old == nil && action.GetSubresource() != "" {
		// The fake client would create the object.
		return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), action.GetName())
	}
	handled, result, err := clienttesting.ObjectReaction(c.tracker)(action)
	if !handled || err != nil {
		return handled, result, err
	}
	applied := toUnstructured(result)
	if applied == nil {
		return handled, result, err
	}
	if action.GetSubresource() != "" {
		check.OverlayStatus(applied, action.GetPatch())
	}
	if err := c.check(action, old, applied); err != nil {
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
func (c *checker) check(action clienttesting.Action, old, result *unstructured.Unstructured) error {
	c.Helper()
	if result.GetNamespace() == "" {
		result.SetNamespace(action.GetNamespace())
	}
	kind := result.GroupVersionKind()
	if kind.Empty() && old != nil {
		kind = old.GroupVersionKind()
	}
	resource := action.GetResource()
	if old != nil {
		if err := check.UIDConflict(resource.GroupResource(), old.GetName(), result.GetUID(), old.GetUID()); err != nil {
			return err
		}
	}
	name, instead := resource.Resource, "UpdateStatus"
	if s := action.GetSubresource(); s != "" {
		name, instead = name+"/"+s, "Update"
	}
	w := &check.Write{
		What: fmt.Sprintf("%s of %s %s/%s", action.GetVerb(), name, result.GetNamespace(), result.GetName()), Instead: instead,
		SubResource: action.GetSubresource(), Kind: kind, Old: old, Object: result, IsUpdate: action.GetVerb() == "update",
	}
	if err := c.Check(c.Context(), w); err != nil {
		return err
	}
	c.Ignored(w, nil)
	return nil
}

// toUnstructured converts an object, with its kind from the scheme if it is missing; nil if it cannot be converted.
func toUnstructured(obj runtime.Object) *unstructured.Unstructured {
	kind := obj.GetObjectKind().GroupVersionKind()
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && kind.Empty() {
		kind = kinds[0]
	}
	return check.Unstructured(obj, kind)
}
