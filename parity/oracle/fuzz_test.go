package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/apis/batch"
)

// TestMain sets up the feature gate like main, and compiles the module.
func TestMain(m *testing.M) {
	enableJobManagedBy()
	policy = newGuest()
	os.Exit(m.Run())
}

// release is the Kubernetes release that the tests are built with.
var release = func() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			parts := strings.Split(strings.TrimPrefix(module.Version, "v"), ".")
			return parts[0] + "." + parts[1]
		}
	}
	panic("built without k8s.io/kubernetes")
}()

// FuzzJob compares the policy with kube-apiserver on requests in their compact form. Its seeds are the vectors, and the inputs in
// testdata/jobs.txt that reached new branches of kube-apiserver.
func FuzzJob(f *testing.F) {
	for _, c := range vectors(f, "job-status*.ndjson") {
		f.Add(compact(f, c))
	}
	kept, err := os.ReadFile("testdata/jobs.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(kept)) {
		input, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) <= 512 {
			compare(t, requestOf(input))
		}
	})
}

// vectors returns the cases of the committed vectors.
func vectors(t testing.TB, pattern string) (all []*Case) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "vectors", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var vector struct{ Case Case }
			if err := json.Unmarshal(lines.Bytes(), &vector); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, &vector.Case)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// compare fails the test unless the policy returns kube-apiserver's result, or code 400 if kube-apiserver cannot decode an object.
// It ignores known differences and cases in which upstream's code panics.
func compare(t testing.TB, c *Case) {
	t.Helper()
	upstream := upstreamResult(c)
	payload := envelope(c)
	policy := review(t, payload)
	if upstream.Malformed != "" {
		// The policy ignores the types of fields that no rule reads.
		upstream = upstreamResult(withoutUnreadFields(c))
	}
	switch {
	case upstream.Panic != "" || differs(c, upstream):
	case upstream.Malformed != "":
		if policy.Code != 400 {
			t.Errorf("%s\nkube-apiserver cannot decode it: %s\nthe policy: %+v", payload, upstream.Malformed, policy)
		}
	case policy.Accepted != (upstream.Message == "") || policy.Message != upstream.Message:
		t.Errorf("%s\nkube-apiserver: %s\nthe policy:     %+v", payload, upstream.Message, policy)
	}
}

// differs reports whether the policy's result intentionally differs from kube-apiserver's: see docs/explanation/how-it-works.md.
func differs(c *Case, upstream *ValidationResult) bool {
	// The policy reports the first 100 errors of a rule.
	if len(upstream.Errors) > 100 {
		return true
	}
	if c.Operation != "UPDATE" || c.SubResource != "" {
		return false
	}
	for _, e := range upstream.Errors {
		isManagedBy := e.Field == "spec.managedBy"
		if !isManagedBy && !templates[e.Field] {
			continue
		}
		object, _ := decode(c.Object)
		before, _ := decode(c.OldObject)
		job, old := object.(*batch.Job), before.(*batch.Job)
		now, was := job.Spec.ManagedBy, old.Spec.ManagedBy
		// The policy validates neither unchanged values nor the template of a Job that is not suspended.
		if isManagedBy && now != nil && was != nil && *now == *was || !isManagedBy && !(old.Spec.Suspend != nil && *old.Spec.Suspend) {
			return true
		}
	}
	return false
}

// envelope returns the policy server's payload for a case.
func envelope(c *Case) string {
	var text strings.Builder
	fmt.Fprintf(&text, `{"settings":{"kubernetes_version":%q,"rules":{"job-spec/scheduling-directives":"deny"}},"request":{"uid":"1",`+
		`"kind":{"group":"batch","version":"v1","kind":"Job"},"resource":{"group":"batch","version":"v1","resource":"jobs"},`+
		`"operation":%q,"subResource":%q,"name":"pi","namespace":"default","userInfo":{"username":"ana"},"object":%s`,
		release, c.Operation, c.SubResource, c.Object)
	if c.OldObject != nil {
		fmt.Fprintf(&text, `,"oldObject":%s`, c.OldObject)
	}
	return text.String() + "}}"
}
