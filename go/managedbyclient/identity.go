package managedbyclient

import (
	"fmt"

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
