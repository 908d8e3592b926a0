package managedbyclient

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	patches "github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
)

// verifyUpdatedUID returns the API server's conflict for an update of an object that was deleted and created again.
func verifyUpdatedUID(kind schema.GroupVersionKind, old, obj client.Object) error {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return patches.UIDConflict(plural.GroupResource(), old.GetName(), obj.GetUID(), old.GetUID())
}

// verifyPatchedIdentity returns the API server's error for a patch of the name, the namespace or the UID.
func verifyPatchedIdentity(kind schema.GroupVersionKind, old, patched client.Object) error {
	var errs field.ErrorList
	path := field.NewPath("metadata")
	for _, member := range []struct{ name, before, after string }{
		{"name", old.GetName(), patched.GetName()},
		{"namespace", old.GetNamespace(), patched.GetNamespace()},
		{"uid", string(old.GetUID()), string(patched.GetUID())},
	} {
		if member.before != member.after {
			errs = append(errs, field.Invalid(path.Child(member.name), member.after, "field is immutable"))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(kind.GroupKind(), old.GetName(), errs)
}
