// Package decoding holds what docs/decoding.md says of Go, and what the policy does in the same way: what the decoder of
// kube-apiserver makes of a Job.
package decoding

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

func decode(t *testing.T, text string) (*batchv1.Job, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := batchv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	text = `{"apiVersion": "batch/v1", "kind": "Job", ` + text + `}`
	object, _, err := decoder.Decode([]byte(text), nil, nil)
	if err != nil {
		return nil, err
	}
	return object.(*batchv1.Job), nil
}

func TestManagedBy(t *testing.T) {
	for text, want := range map[string]string{
		`"spec": {"managedBy": null}`:                            "absent",
		`"spec": {"managedBy": "a"}, "spec": {"managedBy": "b"}`: "b",
		`"spec": {"managedBy": "a"}, "spec": {"suspend": true}`:  "a",
		`"spec": {"managedBy": "\ud800"}`:                        "\ufffd",
		`"spec": {"managedBy": "` + "\xff" + `"}`:                "\ufffd",
	} {
		job, err := decode(t, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := "absent"
		if job.Spec.ManagedBy != nil {
			got = *job.Spec.ManagedBy
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		`"status": {"active": 1.0}`,
		`"status": {"active": 1e2}`,
		`"spec": {"managedBy": 5}`,
		`"x": ` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		if job, err := decode(t, text); err == nil {
			t.Errorf("%.40s: accepted: %v", text, job.Status)
		}
	}
}
