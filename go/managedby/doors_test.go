package managedby_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// told is one thing that one release says.
type told struct {
	release           managedby.Release
	rule, level, path string
	text              string
}

// TestTheLibrarySaysTheSame holds Check to what the library says of every example, vector and recorded request, as the other ways
// to ask it are held to it: `make target/answers.ndjson` writes that down.
func TestTheLibrarySaysTheSame(t *testing.T) {
	name := tree(t, "target", "answers.ndjson")
	if _, err := os.Stat(name); err != nil {
		t.Skip("needs target/answers.ndjson")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	policies := map[string]*managedby.Policy{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	requests, findings := 0, 0
	for lines.Scan() {
		var line struct {
			Name      string                       `json:"name"`
			Request   admissionv1.AdmissionRequest `json:"request"`
			Settings  json.RawMessage              `json:"settings"`
			Judgement *struct {
				Findings []struct {
					Rule        string             `json:"rule"`
					Enforcement string             `json:"enforcement"`
					Path        string             `json:"path"`
					Text        string             `json:"text"`
					Releases    managedby.Releases `json:"releases"`
					Texts       []struct {
						Releases managedby.Releases `json:"releases"`
						Text     string             `json:"text"`
					} `json:"texts"`
				} `json:"findings"`
			} `json:"judgement"`
		}
		// An object that Go cannot hold is in no test of a controller.
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Judgement == nil {
			continue
		}
		// A pod's Job is looked up in a cluster, which a test has not.
		if line.Request.Kind.Kind == "Pod" {
			continue
		}
		policy := policies[string(line.Settings)]
		if policy == nil {
			policy = newPolicy(t, managedby.WithSettings(line.Settings))
			policies[string(line.Settings)] = policy
		}
		found, err := policy.CheckRequest(t.Context(), &line.Request)
		if err != nil {
			t.Fatalf("%s: %v", line.Name, err)
		}
		ours, library := map[told]bool{}, map[told]bool{}
		for _, f := range found.All {
			for _, release := range f.Releases {
				ours[told{release, f.Rule, string(f.Enforcement), f.Path, f.Error(release)}] = true
			}
		}
		for _, f := range line.Judgement.Findings {
			for _, release := range f.Releases {
				text := f.Text
				for _, of := range f.Texts {
					if of.Releases.Contains(release) {
						text = of.Text
					}
				}
				library[told{release, f.Rule, f.Enforcement, f.Path, text}] = true
			}
		}
		if !maps.Equal(ours, library) {
			t.Errorf("%s: %v, not %v", line.Name, ours, library)
		}
		requests, findings = requests+1, findings+len(ours)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if requests < 3500 || findings < 3500 {
		t.Errorf("only %d requests with %d findings", requests, findings)
	}
	t.Logf("%d requests, %d findings, none differ", requests, findings)
}
