// Package conditions evaluates the matchConditions of the chart with kube-apiserver's code.
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

// question is a request that the Rust test (xtask/tests/conditions/) evaluated for a manifest, and its result: whether kube-apiserver
// calls the webhook.
type question struct {
	Manifest string                       `json:"manifest"`
	Asks     bool                         `json:"asks"`
	Request  admissionv1.AdmissionRequest `json:"request"`
}

// TestMatchConditions reads the file QUESTIONS, which the Rust test writes. Upstream's matcher must return the same results without
// errors. The Rust test checks that the policy accepts the excluded requests.
func TestMatchConditions(t *testing.T) {
	path := os.Getenv("QUESTIONS")
	if path == "" {
		t.Skip("make match-conditions-upstream writes the questions and names them in QUESTIONS")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	matchers := map[string]matchconditions.Matcher{}
	counts := map[bool]int{}
	decoder := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for {
		var q question
		if err := decoder.Decode(&q); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if matchers[q.Manifest] == nil {
			matchers[q.Manifest] = shipped(t, q.Manifest)
		}
		result := matchers[q.Manifest].Match(context.Background(), attributes(t, &q.Request), nil, nil)
		if result.Error != nil || result.Matches != q.Asks {
			t.Fatalf("%s: asks: %v, not %v: %v: %s", q.Manifest, result.Matches, q.Asks, result.Error, q.Request.Object.Raw)
		}
		counts[q.Asks]++
	}
	if len(matchers) != 4 || counts[true] < 1000 || counts[false] < 1000 {
		t.Fatalf("%d manifests, %v", len(matchers), counts)
	}
	t.Logf("%d manifests, asked: %d, kept away: %d", len(matchers), counts[true], counts[false])
}

// shipped returns upstream's matcher with the conditions of a policy that the chart renders.
func shipped(t *testing.T, name string) matchconditions.Matcher {
	t.Helper()
	folder := "charts/managed-by-policy/tests/rendered"
	if name == "pods" {
		folder = "deploy"
	}
	text, err := os.ReadFile(filepath.Join("../../..", folder, name+".yml"))
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
	asked := kind
	if request.RequestKind != nil {
		asked = schema.GroupVersionKind(*request.RequestKind)
	}
	record := admission.NewAttributesRecord(object(request.Object.Raw), object(request.OldObject.Raw), asked,
		request.Namespace, request.Name, schema.GroupVersionResource(request.Resource), request.SubResource,
		admission.Operation(request.Operation), nil, false,
		&user.DefaultInfo{Name: request.UserInfo.Username, Groups: request.UserInfo.Groups})
	versioned, err := admission.NewVersionedAttributes(record, kind, admission.NewObjectInterfacesFromScheme(runtime.NewScheme()))
	if err != nil {
		t.Fatal(err)
	}
	return versioned
}
