package managedby_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// releaseFinding is a finding of one release.
type releaseFinding struct {
	release           managedby.Release
	rule, level, path string
	text, suggestion  string
}

// TestDifferential compares Review, CheckRequest and Check with the library's responses to every example, vector, recorded and generated
// request. It reads the file in the environment variable EXPECTED_RESULTS, by default target/expected.ndjson.
func TestDifferential(t *testing.T) {
	name := os.Getenv("EXPECTED_RESULTS")
	if name == "" {
		name = filepath.Join("..", "..", "target", "expected.ndjson")
		if _, err := os.Stat(name); err != nil {
			t.Skip("needs target/expected.ndjson, which make go-test writes")
		}
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	policies := map[string]*managedby.Policy{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	requests, changes, findings, start := 0, 0, 0, time.Now()
	for lines.Scan() {
		var line struct {
			Name     string          `json:"name"`
			Request  string          `json:"request"`
			Settings json.RawMessage `json:"settings"`
			Response struct {
				Accepted         bool              `json:"accepted"`
				Code             int32             `json:"code"`
				Message          string            `json:"message"`
				Warnings         []string          `json:"warnings"`
				AuditAnnotations map[string]string `json:"audit_annotations"`
			} `json:"response"`
			Evaluation *struct {
				Findings []struct {
					Rule        string             `json:"rule"`
					Enforcement string             `json:"enforcement"`
					Path        string             `json:"path"`
					Message     string             `json:"message"`
					Suggestion  string             `json:"suggestion"`
					Releases    managedby.Releases `json:"releases"`
					Messages    []struct {
						Releases managedby.Releases `json:"releases"`
						Message  string             `json:"message"`
					} `json:"messages"`
				} `json:"findings"`
			} `json:"evaluation"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		var request admissionv1.AdmissionRequest
		if err := json.Unmarshal([]byte(line.Request), &request); err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		policy := policies[string(line.Settings)]
		if policy == nil {
			policy = newPolicy(t, managedby.WithSettings(line.Settings))
			policies[string(line.Settings)] = policy
		}
		requests++
		verdict, err := policy.Review(t.Context(), &request)
		if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		got, want := *verdict, line.Response
		if got.Allowed != want.Accepted || got.Code != want.Code || got.Message != want.Message ||
			!slices.Equal(got.Warnings, want.Warnings) || !maps.Equal(got.AuditAnnotations, want.AuditAnnotations) {
			t.Errorf("%s: %+v, not %+v: %s", line.Name, got, want, line.Request)
		}
		// The request or its settings are invalid.
		if line.Evaluation == nil {
			continue
		}
		found, err := policy.CheckRequest(t.Context(), &request)
		if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		// Check ignores the user. Default settings do too.
		object, old := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if request.SubResource == managedby.StatusSubresource && string(line.Settings) == "{}" &&
			object.UnmarshalJSON(request.Object.Raw) == nil && old.UnmarshalJSON(request.OldObject.Raw) == nil {
			changes++
			change := managedby.Change{Operation: request.Operation, SubResource: request.SubResource, Object: object, OldObject: old}
			if checked, err := policy.Check(t.Context(), change); err != nil || !reflect.DeepEqual(checked, found) {
				t.Errorf("%s: Check returns %+v, %v, not %+v", line.Name, checked, err, found)
			}
		}
		gotFindings, wantFindings := map[releaseFinding]bool{}, map[releaseFinding]bool{}
		for _, f := range found.All {
			for _, release := range f.Releases {
				gotFindings[releaseFinding{release, f.Rule, string(f.Enforcement), f.Path, f.Error(release), f.Suggestion}] = true
				if e := f.FieldError(release); e.Error() != f.Error(release) {
					t.Errorf("%s: %q as a field.Error is %#v", line.Name, f.Error(release), e)
				}
			}
		}
		for _, f := range line.Evaluation.Findings {
			for _, release := range f.Releases {
				text := f.Message
				for _, variant := range f.Messages {
					if variant.Releases.Contains(release) {
						text = variant.Message
					}
				}
				wantFindings[releaseFinding{release, f.Rule, f.Enforcement, f.Path, text, f.Suggestion}] = true
			}
		}
		if !maps.Equal(gotFindings, wantFindings) {
			t.Errorf("%s: %v, not %v: %s", line.Name, gotFindings, wantFindings, line.Request)
		}
		findings += len(gotFindings)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if requests < 1000 || changes < 1000 || findings < 1000 {
		t.Errorf("only %d requests, %d changes and %d findings", requests, changes, findings)
	}
	t.Logf("Go: %d requests, %d of them also as changes, %d findings, %.1f s", requests, changes, findings, time.Since(start).Seconds())
}
