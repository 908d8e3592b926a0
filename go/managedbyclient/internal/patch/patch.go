// Package patch computes the results of patches.
package patch

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/managed-by-policy/managed-by-policy/go/internal/check"
)

// Apply returns the result of a patch other than a server-side apply. A strategic merge patch needs the kind's Go type in the scheme.
func Apply(scheme *runtime.Scheme, old *unstructured.Unstructured, patchType types.PatchType, data []byte) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	switch patchType {
	case types.MergePatchType:
		text, err = jsonpatch.MergePatch(text, data)
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(data); err == nil {
			text, err = operations.Apply(text)
		}
	case types.StrategicMergePatchType:
		var typed runtime.Object
		if typed, err = scheme.New(old.GroupVersionKind()); err == nil {
			text, err = strategicpatch.StrategicMergePatch(text, data, typed)
		}
	default:
		err = fmt.Errorf("unknown patch type %q", patchType)
	}
	if err != nil {
		return nil, err
	}
	return check.Decode(text)
}
