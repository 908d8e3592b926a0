package managedbyclient

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	patches "github.com/managed-by-policy/managed-by-policy/go/managedbyclient/internal/patch"
)

const specField = "spec"

// ignoredField returns the field that the API server ignores in an update.
func ignoredField(subResource string) string {
	if subResource == managedby.StatusSubresource {
		return specField
	}
	return managedby.StatusSubresource
}

// reportIgnored reports that the API server ignored the change of a field. With FailOnIgnoredChanges, the test fails.
func (w *writeChecker) reportIgnored(method, field string, kind schema.GroupVersionKind, old client.Object, sent any, returned client.Object) {
	w.t.Helper()
	before := fieldOf(old, field)
	if sent == nil || reflect.DeepEqual(sent, before) || !reflect.DeepEqual(fieldOf(returned, field), before) {
		return
	}
	use := "Status()." + method
	if field == specField {
		use = strings.TrimPrefix(method, "Status().")
	}
	text := fmt.Sprintf("%s of %s %v: the changed %s is ignored: use %s", method, kind.Kind, client.ObjectKeyFromObject(old), field, use)
	if w.failOnIgnored {
		w.t.Errorf("%s", text)
		return
	}
	w.t.Logf("%s", text)
}

// fieldOf returns a top-level field as decoded JSON; nil if it is missing or empty.
func fieldOf(obj client.Object, field string) any {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	u, err := patches.Decode(text)
	if err != nil {
		return nil
	}
	if value, ok := u.Object[field].(map[string]any); ok && len(value) > 0 {
		return value
	}
	return nil
}
