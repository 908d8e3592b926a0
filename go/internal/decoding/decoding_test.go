// Package decoding holds what docs/decoding.md says of Go, and what the policy does in the same way: what the decoder of
// kube-apiserver makes of a Job.
package decoding

import (
	"os"
	"reflect"
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

// Each row of the page's table, and what else the policy reads as Go does: two texts that make the same Job.
func TestSame(t *testing.T) {
	rows := map[string]map[string]string{
		"": {
			`"spec": {"managedBy": null}`:                            `"spec": {}`,
			`"spec": {"managedBy": "a"}, "spec": {"managedBy": "b"}`: `"spec": {"managedBy": "b"}`,
			`"spec": {"managedBy": "\ud800"}`:                        "\"spec\": {\"managedBy\": \"\ufffd\"}",
		},
		"two members with the same name, each an object": {
			`"spec": {"managedBy": "a"}, "spec": {"suspend": true}`:              `"spec": {"managedBy": "a", "suspend": true}`,
			`"metadata": {"labels": {"a": "1"}, "labels": {"b": "2"}}`:           `"metadata": {"labels": {"a": "1", "b": "2"}}`,
			`"metadata": {"labels": {"a": "1", "b": "2"}, "labels": {"b": "3"}}`: `"metadata": {"labels": {"a": "1", "b": "3"}}`,
		},
		"the same, each a list": {
			`"status": {"conditions": [{"status": "True"}, {}], "conditions": [{"type": "B"}]}`: `"status": {"conditions": [{"status": "True", "type": "B"}]}`,
			`"status": {"conditions": [{"type": "A"}], "conditions": [{}, {"type": "B"}]}`:      `"status": {"conditions": [{"type": "A"}, {"type": "B"}]}`,
		},
		"the same, the second `null`": {
			`"spec": {"managedBy": "a", "managedBy": null}`:                       `"spec": {}`,
			`"status": {"conditions": [{}], "conditions": null}`:                  `"status": {}`,
			`"metadata": {"labels": {"a": "1"}, "labels": null}`:                  `"metadata": {}`,
			`"spec": {"managedBy": "a"}, "spec": null`:                            `"spec": {"managedBy": "a"}`,
			`"status": {"active": 1, "active": null}`:                             `"status": {"active": 1}`,
			`"metadata": {"name": "a", "name": null}`:                             `"metadata": {"name": "a"}`,
			`"status": {"conditions": [{"type": "A"}, {}], "conditions": [null]}`: `"status": {"conditions": [{"type": "A"}]}`,
		},
		"bytes that are not UTF-8": {
			"\"spec\": {\"managedBy\": \"\xff\"}": "\"spec\": {\"managedBy\": \"\ufffd\"}",
		},
	}
	for _, pairs := range rows {
		for text, same := range pairs {
			got, err := decode(t, text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			want, err := decode(t, same)
			if err != nil {
				t.Fatalf("%s: %v", same, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	page, err := os.ReadFile("../../../docs/decoding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	for _, line := range lines {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if rows[cell] == nil {
			t.Errorf("the page says of %q what nothing holds", cell)
		}
	}
	if len(lines) != len(rows)-1 {
		t.Errorf("%d rows of the page, %d here", len(lines), len(rows)-1)
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
