package managedby_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

// vector is a case with the results of kube-apiserver's own code, see parity/.
type vector struct {
	Case struct {
		Name        string                `json:"name"`
		Operation   admissionv1.Operation `json:"operation"`
		SubResource string                `json:"subResource"`
		Object      json.RawMessage       `json:"object"`
		OldObject   json.RawMessage       `json:"oldObject"`
	} `json:"case"`
	Results []result `json:"results"`
}

type result struct {
	Releases  managedby.Releases `json:"releases"`
	Errors    []fieldError       `json:"errors"`
	Message   string             `json:"message"`
	Malformed bool               `json:"malformed"`
}

type fieldError struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

// knownDifferences reads the name prefixes of cases in which the policy intentionally differs from kube-apiserver.
func knownDifferences(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(repoPath(t, "parity", "known-differences.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var prefixes []string
	for line := range strings.Lines(string(text)) {
		if prefix, _, ok := strings.Cut(line, " -> "); ok && !strings.HasPrefix(line, "#") {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// differs reports whether the policy intentionally differs from kube-apiserver.
func (v *vector) differs(known []string) bool {
	return slices.ContainsFunc(known, func(prefix string) bool { return strings.HasPrefix(v.Case.Name, prefix) })
}

// repoPath returns a path in the repository. It skips the test in a downloaded module, which does not contain the vectors.
func repoPath(t testing.TB, path ...string) string {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "parity")); err != nil {
		t.Skip("needs the repository around the module")
	}
	return filepath.Join(append([]string{root}, path...)...)
}

func vectors(t *testing.T) []*vector {
	t.Helper()
	files, err := filepath.Glob(repoPath(t, "parity", "vectors", "*.ndjson"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var all []*vector
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			v := &vector{}
			if err := json.Unmarshal(lines.Bytes(), v); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			v.addPatchReleases()
			all = append(all, v)
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

// addPatchReleases adds each patch release without a result to the result of the next release.
func (v *vector) addPatchReleases() {
	releases, next := managedby.AllReleases(), 0
	slices.Reverse(releases)
	for _, release := range releases {
		if i := slices.IndexFunc(v.Results, func(r result) bool { return r.Releases.Contains(release) }); i >= 0 {
			next = i
			continue
		}
		v.Results[next].Releases = append(v.Results[next].Releases, release)
	}
}

// request converts the case to a webhook's request.
func (v *vector) request(t *testing.T) *admissionv1.AdmissionRequest {
	t.Helper()
	var object metav1.PartialObjectMetadata
	var content map[string]any
	if err := json.Unmarshal(v.Case.Object, &content); err != nil {
		t.Fatal(err)
	}
	text := func(path ...string) string {
		text, _, _ := unstructured.NestedString(content, path...)
		return text
	}
	object.APIVersion, object.Kind = text("apiVersion"), text("kind")
	kind := object.GroupVersionKind()
	request := &admissionv1.AdmissionRequest{
		UID:         "705ab4f5-6393-11e8-b7cc-42010a800002",
		Kind:        metav1.GroupVersionKind(kind),
		Resource:    metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"},
		SubResource: v.Case.SubResource,
		Name:        text("metadata", "name"),
		Namespace:   text("metadata", "namespace"),
		Operation:   v.Case.Operation,
		UserInfo:    authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:authenticated"}},
	}
	request.Object.Raw, request.OldObject.Raw = v.Case.Object, v.Case.OldObject
	return request
}

// upstream returns kube-apiserver's errors in the findings for a release, without duplicates. It ignores warnings.
func upstream(findings []managedby.Finding, release managedby.Release) []fieldError {
	var errors []fieldError
	for _, finding := range findings {
		e := fieldError{finding.Path, finding.Error(release)}
		// If the settings set the release, Review returns one error without releases.
		if e.Error == "" && len(finding.Releases) == 0 {
			e.Error = finding.Errors[0].Message
		}
		if finding.Upstream && finding.Enforcement == managedby.Deny && !slices.Contains(errors, e) {
			errors = append(errors, e)
		}
	}
	return errors
}

// TestReviewAgreesWithKubeAPIServer compares Review with every vector, for each release, byte for byte. Malformed objects must be
// denied with code 400, and known differences must differ.
func TestReviewAgreesWithKubeAPIServer(t *testing.T) {
	policies := map[managedby.Release]*managedby.Policy{}
	for _, release := range managedby.AllReleases() {
		policies[release] = newPolicy(t, managedby.WithSettings([]byte(`{
			"kubernetes_version": "`+string(release)+`",
			"rules": {"job-spec/scheduling-directives": "deny"}
		}`)))
	}
	known := knownDifferences(t)
	matched, different := 0, 0
	for _, v := range vectors(t) {
		request := v.request(t)
		for _, result := range v.Results {
			for _, release := range result.Releases {
				verdict, err := policies[release].Review(t.Context(), request)
				if err != nil {
					t.Fatalf("%s on %s: %v", v.Case.Name, release, err)
				}
				agrees := verdict.Allowed == (len(result.Errors) == 0) && verdict.Message == result.Message &&
					slices.Equal(upstream(verdict.Findings, release), result.Errors)
				if result.Malformed {
					agrees = !verdict.Allowed && verdict.Code == 400
				}
				if v.differs(known) {
					agrees = !agrees
					different++
				} else {
					matched++
				}
				if !agrees {
					t.Errorf("%s on %s:\nkube-apiserver: %+v\nReview:         %+v", v.Case.Name, release, result, verdict)
				}
			}
		}
	}
	t.Logf("%d results match, %d differ intentionally", matched, different)
}

// TestCheckAgreesWithKubeAPIServer checks all releases at once, with unstructured objects, and with typed ones if the types can
// represent the vector.
func TestCheckAgreesWithKubeAPIServer(t *testing.T) {
	policy := newPolicy(t)
	known := knownDifferences(t)
	typed, untyped := 0, 0
	for _, v := range vectors(t) {
		if v.differs(known) {
			continue
		}
		changes := map[string]managedby.Change{}
		if change, ok := v.unstructured(); ok {
			changes["unstructured"] = change
			untyped++
		}
		if change, ok := v.jobs(t); ok {
			changes["typed"] = change
			typed++
		}
		for form, change := range changes {
			findings, err := policy.Check(t.Context(), change)
			if err != nil {
				t.Fatalf("%s: %v", v.Case.Name, err)
			}
			for _, result := range v.Results {
				for _, release := range result.Releases {
					if result.Malformed {
						if !findings.Denied().Contains(release) {
							t.Errorf("%s on %s, %s: accepted a malformed object", v.Case.Name, release, form)
						}
						continue
					}
					message := ""
					for _, denial := range findings.Denials {
						if denial.Releases.Contains(release) {
							message = denial.Message
						}
					}
					if errors := upstream(findings.In(release), release); message != result.Message || !slices.Equal(errors, result.Errors) {
						t.Errorf("%s on %s, %s:\nkube-apiserver: %+v\nCheck:          %q %+v", v.Case.Name, release, form, result, message, errors)
					}
					for _, finding := range findings.In(release) {
						if got := finding.FieldError(release); got.Error() != finding.Error(release) {
							t.Errorf("%s on %s, %s: as a field.Error it is %#v", v.Case.Name, release, form, got)
						}
					}
				}
			}
		}
	}
	t.Logf("%d vectors as unstructured objects, %d with Go's types, each for %d releases at once", untyped, typed, len(managedby.AllReleases()))
}

func (v *vector) unstructured() (managedby.Change, bool) {
	change := managedby.Change{Operation: v.Case.Operation, SubResource: v.Case.SubResource}
	object := &unstructured.Unstructured{}
	if err := kjson.Unmarshal(v.Case.Object, &object.Object); err != nil {
		return change, false
	}
	change.Object = object
	if v.Case.OldObject != nil {
		old := &unstructured.Unstructured{}
		if err := kjson.Unmarshal(v.Case.OldObject, &old.Object); err != nil {
			return change, false
		}
		change.OldObject = old
	}
	return change, true
}

// jobs returns the change with typed objects, unless it has another kind or the types would change its JSON.
func (v *vector) jobs(t *testing.T) (managedby.Change, bool) {
	t.Helper()
	change := managedby.Change{
		Operation: v.Case.Operation, SubResource: v.Case.SubResource, Kind: batchv1.SchemeGroupVersion.WithKind("Job"),
	}
	job, ok := decodeLossless(v.Case.Object)
	if !ok {
		return change, false
	}
	change.Object = job
	if v.Case.OldObject != nil {
		if job, ok = decodeLossless(v.Case.OldObject); !ok {
			return change, false
		}
		change.OldObject = job
	}
	return change, true
}

// decodeLossless decodes a Job. It reports false for another kind, or if encoding the Job again would lose values.
func decodeLossless(text []byte) (*batchv1.Job, bool) {
	job := &batchv1.Job{}
	if err := json.Unmarshal(text, job); err != nil || job.Kind != "Job" {
		return nil, false
	}
	again, err := json.Marshal(job)
	if err != nil {
		return nil, false
	}
	return job, leavesIn(leaves(text), leaves(again))
}

// leaves returns the values of a document that are neither objects nor non-empty lists, by path.
func leaves(text []byte) map[string]string {
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil
	}
	found := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, value := range value {
				walk(path+"."+key, value)
			}
		case []any:
			if len(value) == 0 {
				found[path] += "[] "
			}
			for _, value := range value {
				walk(path+"[]", value)
			}
		default:
			text, err := json.Marshal(value)
			if err == nil {
				found[path] += string(text) + " "
			}
		}
	}
	walk("", document)
	return found
}

func leavesIn(some, all map[string]string) bool {
	for path, value := range some {
		if all[path] != value {
			return false
		}
	}
	return true
}
