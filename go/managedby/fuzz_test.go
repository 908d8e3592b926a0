package managedby_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// FuzzReview sends arbitrary bytes as objects. Review returns a verdict if both are valid JSON, and an error otherwise.
func FuzzReview(f *testing.F) {
	policy := newPolicy(f)
	for _, status := range []string{`{}`, `{"active":1,"ready":2}`, `{"startTime":"2026-01-01T00:00:00Z"}`, `{"active":1e9}`, `null`} {
		f.Add("Job", "status", []byte(`{"metadata":{"name":"pi"},"spec":{},"status":`+status+`}`), []byte(`{"metadata":{"name":"pi"},"spec":{},"status":{}}`))
	}
	f.Add("Job", "", []byte(`{"spec":{"managedBy":"a.io/x"}}`), []byte(`{"spec":{"managedBy":"b.io/y"}}`))
	f.Add("CronJob", "", []byte(`{"spec":{"jobTemplate":{"spec":{"managedBy":""}}}}`), []byte(`{}`))
	for _, text := range []string{`{`, "\xff", `{"x":01}`, `{}}`, `{"x":"` + "\xff" + `"}`} {
		f.Add("Job", "status", []byte(text), []byte(`{}`))
		f.Add("Job", "", []byte(`{}`), []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind, subResource string, object, old []byte) {
		request := &admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, SubResource: subResource,
			Kind: metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind},
		}
		request.Object.Raw, request.OldObject.Raw = object, old
		verdict, err := policy.Review(t.Context(), request)
		if err != nil {
			if isJSON(object) && isJSON(old) {
				t.Fatal(err)
			}
			return
		}
		if !isJSON(object) || !isJSON(old) {
			t.Errorf("verdict on invalid JSON: %+v", verdict)
		}
		if verdict.Allowed == (verdict.Message != "") || verdict.Allowed != (verdict.Code == 0) {
			t.Errorf("inconsistent verdict: %+v", verdict)
		}
		for _, finding := range verdict.Findings {
			if !strings.Contains(finding.Rule, "/") || finding.Enforcement != managedby.Deny && finding.Enforcement != managedby.Warn {
				t.Errorf("invalid finding: %+v", finding)
			}
		}
	})
}

func isJSON(text []byte) bool { return json.Valid(text) && utf8.Valid(text) }
