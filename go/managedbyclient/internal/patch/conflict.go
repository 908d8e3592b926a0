package patch

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// UIDConflict returns the API server's error for an update of an object that was deleted and created again; nil if the UIDs match.
func UIDConflict(resource schema.GroupResource, name string, sent, stored types.UID) error {
	if sent == "" || sent == stored {
		return nil
	}
	//lint:ignore ST1005 This is the API server's text.
	reason := fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", sent, stored)
	return apierrors.NewConflict(resource, name, reason)
}
