// Package conditions evaluates the chart's matchConditions and ValidatingAdmissionPolicies with kube-apiserver's code.
package conditions

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"
)

// rendered has the manifests for a cluster with all projects, which make renders with Helm.
const rendered = "../../../target/rendered"

// matchCase is a request that the Rust test (xtask/tests/conditions/) evaluated for a manifest. Matches is true if kube-apiserver calls
// the webhook.
type matchCase struct {
	Manifest string                       `json:"manifest"`
	Matches  bool                         `json:"matches"`
	Request  admissionv1.AdmissionRequest `json:"request"`
}

// TestMatchConditions evaluates the cases in the file MATCH_CASES, which the Rust test writes, with upstream's matcher. The results
// must be the same, without errors. The Rust test checks that the policy allows the excluded requests.
func TestMatchConditions(t *testing.T) {
	path := os.Getenv("MATCH_CASES")
	if path == "" {
		t.Skip("MATCH_CASES is not set; run make match-conditions-upstream")
	}
	matchers := map[string]matchconditions.Matcher{}
	counts := map[bool]int{}
	eachLine(t, path, func(c *matchCase) {
		if matchers[c.Manifest] == nil {
			matchers[c.Manifest] = compileMatcher(t, c.Manifest)
		}
		result := matchers[c.Manifest].Match(context.Background(), attributes(t, &c.Request), nil, nil)
		if result.Error != nil || result.Matches != c.Matches {
			t.Fatalf("%s: matches = %v, want %v: %v: %s", c.Manifest, result.Matches, c.Matches, result.Error, c.Request.Object.Raw)
		}
		counts[c.Matches]++
	})
	if len(matchers) != 5 || counts[true] < 1000 || counts[false] < 1000 {
		t.Fatalf("got %d manifests, want 5; got %d matched and %d excluded requests, want at least 1000 of each", len(matchers), counts[true], counts[false])
	}
	t.Logf("%d manifests, matched: %d, excluded: %d", len(matchers), counts[true], counts[false])
}

// eachLine decodes a file with a JSON document on each line, and calls f with each.
func eachLine[T any](t *testing.T, path string, f func(*T)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for {
		var line T
		if err := decoder.Decode(&line); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		f(&line)
	}
}

// compileMatcher compiles the matchConditions of a rendered policy with upstream's code.
func compileMatcher(t *testing.T, name string) matchconditions.Matcher {
	t.Helper()
	folder := rendered
	if name == "pods" {
		folder = "../../../deploy"
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".yml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []registrationv1.MatchCondition
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var manifest struct {
			Spec struct {
				MatchConditions []registrationv1.MatchCondition
			}
		}
		if err := yaml.Unmarshal(document, &manifest); err != nil {
			t.Fatal(err)
		}
		found = append(found, manifest.Spec.MatchConditions...)
	}
	if len(found) == 0 {
		t.Fatalf("%s: no matchConditions", name)
	}
	// An error must not count as an excluded request.
	fail := registrationv1.Fail
	hook := registrationv1.ValidatingWebhook{Name: name, FailurePolicy: &fail, MatchConditions: found}
	return webhook.NewValidatingWebhookAccessor(name, name, &hook).GetCompiledMatcher(compiler())
}

// attributes converts a request to the API server's attributes.
func attributes(t *testing.T, request *admissionv1.AdmissionRequest) *admission.VersionedAttributes {
	t.Helper()
	kind := schema.GroupVersionKind(request.Kind)
	object := func(raw []byte) runtime.Object {
		if len(raw) == 0 {
			return nil
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, &object.Object); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		object.SetGroupVersionKind(kind)
		return object
	}
	requestKind := kind
	if request.RequestKind != nil {
		requestKind = schema.GroupVersionKind(*request.RequestKind)
	}
	record := admission.NewAttributesRecord(object(request.Object.Raw), object(request.OldObject.Raw), requestKind,
		request.Namespace, request.Name, schema.GroupVersionResource(request.Resource), request.SubResource,
		admission.Operation(request.Operation), nil, false,
		&user.DefaultInfo{Name: request.UserInfo.Username, Groups: request.UserInfo.Groups})
	versioned, err := admission.NewVersionedAttributes(record, kind, admission.NewObjectInterfacesFromScheme(runtime.NewScheme()))
	if err != nil {
		t.Fatal(err)
	}
	return versioned
}
