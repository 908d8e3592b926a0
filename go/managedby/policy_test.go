package managedby_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
)

func newPolicy(t testing.TB, options ...managedby.Option) *managedby.Policy {
	t.Helper()
	policy, err := managedby.New(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func ptr[T any](value T) *T { return &value }

// delegated returns a Job that is delegated to MultiKueue.
func delegated() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "pi", Namespace: "default", Labels: map[string]string{"kueue.x-k8s.io/queue-name": "team-a"}},
		Spec:       batchv1.JobSpec{ManagedBy: ptr("kueue.x-k8s.io/multikueue")},
	}
}

func withStatus(job *batchv1.Job, status batchv1.JobStatus) *batchv1.Job {
	job = job.DeepCopy()
	job.Status = status
	return job
}

func rules(findings []managedby.Finding) string {
	ids := make([]string, len(findings))
	for i, finding := range findings {
		ids[i] = finding.Rule
	}
	return strings.Join(ids, " ")
}

// TestURL checks that the URL of each rule leads to its page. Pages of other rules would have another path.
func TestURL(t *testing.T) {
	pages, err := filepath.Glob("../../crates/managed-by/src/rule/*/*.md")
	if err != nil || len(pages) < 50 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		rule := strings.ReplaceAll(filepath.Base(filepath.Dir(page)), "_", "-") + "/" + name
		want := "https://github.com/managed-by-policy/managed-by-policy/blob/v" + managedby.Version + strings.TrimPrefix(filepath.ToSlash(page), "../..")
		if got := (managedby.Finding{Rule: rule}).URL(); got != want {
			t.Errorf("%s: URL() = %q, want %q", rule, got, want)
		}
	}
}

// null prints like the nil pointer in kube-apiserver's error. Older versions of apimachinery quote a nil pointer.
type null struct{}

func (null) String() string { return "null" }

func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// TestErrorsAreKubernetesErrors checks that functions for the API server's errors work: reason, causes, list.
func TestErrorsAreKubernetesErrors(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	old := withStatus(delegated(), batchv1.JobStatus{StartTime: &start, Active: 1})
	findings, err := newPolicy(t).CheckStatusUpdate(t.Context(), old, withStatus(delegated(), batchv1.JobStatus{Active: 1, Ready: ptr[int32](2)}))
	if err != nil {
		t.Fatal(err)
	}
	if f := findings.All[0]; !f.Upstream || f.Enforcement != managedby.Deny {
		t.Errorf("not a denial by kube-apiserver: %+v", f)
	}
	denied := findings.Err()
	if !apierrors.IsInvalid(denied) || !apierrors.HasStatusCause(denied, metav1.CauseTypeFieldValueInvalid) || apierrors.HasStatusCause(denied, metav1.CauseTypeFieldValueDuplicate) {
		t.Errorf("not an Invalid error with the cause FieldValueInvalid: %v", denied)
	}
	status := denied.(apierrors.APIStatus).Status()
	newest := findings.Denials[len(findings.Denials)-1]
	if !newest.Releases.Contains(managedby.V1_37) || !reflect.DeepEqual(status, newest.Status()) {
		t.Errorf("not the response of the newest release: %+v", status)
	}
	for _, release := range managedby.AllReleases() {
		list := findings.ErrorList(release)
		path := field.NewPath("status")
		var want field.ErrorList
		if release >= managedby.V1_31 {
			want = append(want, field.Invalid(path.Child("ready"), int64(2), "cannot set more ready pods than active"))
		}
		if release < managedby.V1_36 {
			want = append(want, field.Required(path.Child("startTime"), "startTime cannot be removed for unsuspended job"))
		} else {
			want = append(want, field.Invalid(path.Child("startTime"), null{}, "field is immutable for unsuspended job once set"))
		}
		if list.ToAggregate().Error() != want.ToAggregate().Error() {
			t.Errorf("%s: %v, not %v", release, list, want)
		}
		for i, got := range list {
			if got.Type != want[i].Type || got.Field != want[i].Field || got.Detail != want[i].Detail {
				t.Errorf("%s: %#v, not %#v", release, got, want[i])
			}
		}
	}
	if list := (managedby.Findings{}).ErrorList(managedby.V1_37); list.ToAggregate() != nil {
		t.Errorf("ErrorList() without findings = %v, want none", list)
	}
}

func TestZeroPolicy(t *testing.T) {
	var policy managedby.Policy
	if _, err := policy.CheckCreate(t.Context(), delegated()); err == nil || !strings.Contains(err.Error(), "was not created with New") {
		t.Errorf("CheckCreate on the zero Policy: got error %v, want one that mentions New", err)
	}
	if _, err := policy.Review(t.Context(), &admissionv1.AdmissionRequest{}); err == nil {
		t.Error("Review on the zero Policy: got no error")
	}
	if _, err := (*managedby.Policy)(nil).CheckCreate(t.Context(), delegated()); err == nil {
		t.Error("CheckCreate on a nil *Policy: got no error")
	}
}

// TestKindOfATypedObject leaves TypeMeta empty, as in objects that clients return.
func TestKindOfATypedObject(t *testing.T) {
	bad := delegated()
	bad.Spec.ManagedBy = ptr("runner")
	change := managedby.Change{Operation: admissionv1.Create, Object: bad}
	if findings, err := newPolicy(t).Check(t.Context(), change); err != nil || rules(findings.All) != "managed-by/format" {
		t.Errorf("a Job: %v, %v", findings, err)
	}
	change.Object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}
	if findings, err := newPolicy(t).Check(t.Context(), change); err == nil || !strings.Contains(err.Error(), "unknown kind of *v1.Pod") {
		t.Errorf("a Pod, whose type is not registered: %v, %v", findings, err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if findings, err := newPolicy(t, managedby.WithScheme(scheme)).Check(t.Context(), change); err != nil || len(findings.All) != 0 {
		t.Errorf("a Pod: %v, %v", findings, err)
	}
	change.Object = &unstructured.Unstructured{Object: map[string]any{"kind": "Job", "metadata": map[string]any{"name": "pi"}}}
	if findings, err := newPolicy(t).Check(t.Context(), change); err == nil {
		t.Errorf("a kind without a version: %v", findings)
	}
}

func TestSettingsInYAML(t *testing.T) {
	settings := managedby.WithSettings([]byte("controllers:\n  acme.io/runner: any  # ours\n"))
	findings, err := newPolicy(t, settings).CheckCreate(t.Context(), delegated())
	if err != nil || rules(findings.All) != "managed-by/allowed" {
		t.Errorf("CheckCreate with settings in YAML: got findings %v, error %v; want the rule managed-by/allowed", findings, err)
	}
	for text, want := range map[string]string{"a: 1\na: 2\n": "already set", "role: hub\n": "role", "\tx": "settings: "} {
		if _, err := managedby.New(t.Context(), managedby.WithSettings([]byte(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFieldsOfTheOtherResourceAreIgnored(t *testing.T) {
	old, new := delegated(), delegated()
	new.Spec.ManagedBy = ptr("acme.io/other")
	new.Status.Ready = ptr[int32](1)
	policy := newPolicy(t)
	for _, test := range []struct {
		name  string
		check func() (managedby.Findings, error)
		rules string
	}{
		{"create", func() (managedby.Findings, error) { return policy.CheckCreate(t.Context(), new) }, ""},
		{"update", func() (managedby.Findings, error) { return policy.CheckUpdate(t.Context(), old, new) }, "managed-by/immutable"},
		{"status", func() (managedby.Findings, error) { return policy.CheckStatusUpdate(t.Context(), old, new) }, "job-status/ready-exceeds-active"},
	} {
		findings, err := test.check()
		if err != nil {
			t.Fatal(err)
		}
		if rules := rules(findings.All); rules != test.rules {
			t.Errorf("%s: found by %q, not %q", test.name, rules, test.rules)
		}
	}
}

func TestInvalidChanges(t *testing.T) {
	job := delegated()
	for name, change := range map[string]managedby.Change{
		"no object":                    {Operation: admissionv1.Create},
		"a nil pointer":                {Operation: admissionv1.Create, Object: (*batchv1.Job)(nil)},
		"no operation":                 {Object: job},
		"update of nothing":            {Operation: admissionv1.Update, Object: job},
		"update of a nil pointer":      {Operation: admissionv1.Update, Object: job, OldObject: (*batchv1.Job)(nil)},
		"create with an old object":    {Operation: admissionv1.Create, Object: job, OldObject: job},
		"create of a status":           {Operation: admissionv1.Create, SubResource: managedby.StatusSubresource, Object: job},
		"another subresource":          {Operation: admissionv1.Update, SubResource: "scale", Object: job, OldObject: job},
		"a deletion":                   {Operation: admissionv1.Delete, Object: job, OldObject: job},
		"an object without ObjectMeta": {Operation: admissionv1.Create, Object: &metav1.Status{}},
	} {
		if findings, err := newPolicy(t).Check(t.Context(), change); err == nil {
			t.Errorf("%s: no error, but %v", name, findings)
		}
	}
	if _, err := newPolicy(t).CheckStatusUpdate(t.Context(), nil, job); err == nil {
		t.Error("CheckStatusUpdate without an old Job: got no error")
	}
	if _, err := newPolicy(t).CheckStatusUpdate(t.Context(), job, nil); err == nil {
		t.Error("CheckStatusUpdate without a new Job: got no error")
	}
	if _, err := newPolicy(t).Review(t.Context(), nil); err == nil {
		t.Error("Review without a request: got no error")
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, test := range []struct {
		option managedby.Option
		want   string
	}{
		{managedby.WithReleases(), "needs a release"},
		{managedby.WithReleases("1.29"), `unsupported release "1.29", expected a release from 1.30 to 1.37`},
		{managedby.WithSettings(nil), "settings: "},
		{managedby.WithSettings([]byte("{")), "settings: "},
		{managedby.WithSettings([]byte(`{"kubernetes_versoin":"1.36","role":"hub"}`)), `did you mean "kubernetes_version"?`},
		{managedby.WithSettings([]byte(`{"kubernetes_versoin":"1.36","role":"hub"}`)), "role"},
	} {
		if _, err := managedby.New(t.Context(), test.option); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q is not in: %v", test.want, err)
		}
	}
}

func TestReview(t *testing.T) {
	job, err := json.Marshal(delegated())
	if err != nil {
		t.Fatal(err)
	}
	policy := newPolicy(t, managedby.WithSettings([]byte(`{"kubernetes_version":"1.36","controllers":{"acme.io/runner":"any"}}`)))
	request := &admissionv1.AdmissionRequest{
		UID: "7", Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
		Name: "pi", Namespace: "default", Object: runtime.RawExtension{Raw: job},
	}
	verdict, err := policy.Review(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	response := verdict.Response("7")
	if verdict.Allowed || verdict.Code != 422 || rules(verdict.Findings) != "managed-by/allowed" || verdict.Findings[0].Upstream ||
		verdict.AuditAnnotations["denied"] != "managed-by/allowed spec.managedBy" || verdict.AuditAnnotations["mode"] != "Delegated" ||
		response.UID != "7" || response.Allowed || response.Result.Code != 422 || response.Result.Message != verdict.Message {
		t.Errorf("Review: got verdict %+v\nresponse %+v\nwant code 422 in both, and the finding managed-by/allowed", verdict, response)
	}

	request.Object = runtime.RawExtension{Object: delegated()}
	same, err := policy.Review(t.Context(), request)
	if err != nil || same.Message != verdict.Message {
		t.Errorf("the object as a Go value: %+v, %v", same, err)
	}

	request.Object = runtime.RawExtension{Raw: []byte(`{"spec":`)}
	if malformed, err := policy.Review(t.Context(), request); err == nil || !strings.Contains(err.Error(), "managedby: encode the request: ") {
		t.Errorf("half an object: %+v, %v", malformed, err)
	}
	request.Object = runtime.RawExtension{Raw: []byte(`{"spec":7}`)}
	malformed, err := policy.Review(t.Context(), request)
	if err != nil || malformed.Allowed || malformed.Code != 400 || !strings.HasPrefix(malformed.Message, "malformed admission request") {
		t.Errorf("a wrong type: %+v, %v", malformed, err)
	}

	request.Object, request.Kind.Kind = runtime.RawExtension{Raw: []byte(`{}`)}, "SparkApplication"
	unknown, err := policy.Review(t.Context(), request)
	want := []managedby.Unchecked{{Reason: "unsupported-kind", Message: "not checked, unsupported kind"}}
	if err != nil || !unknown.Allowed || len(unknown.Warnings) != 1 || unknown.Response("").Result != nil || !slices.Equal(unknown.Unchecked, want) {
		t.Errorf("an unknown kind: %+v, %v", unknown, err)
	}
}

// TestErrorsOfReview reads the errors of findings of Review, with and without a release in the settings.
func TestErrorsOfReview(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(start.Add(time.Hour))
	old := withStatus(delegated(), batchv1.JobStatus{StartTime: &start})
	removed := "status.startTime: Required value: startTime cannot be removed for unsuspended job"
	changed := `status.startTime: Invalid value: "2026-01-01T01:00:00Z": field is immutable for unsuspended job once set`
	tooReady := "status.ready: Invalid value: 1: cannot set more ready pods than active"
	for _, test := range []struct {
		settings string
		new      batchv1.JobStatus
		releases string
		errors   map[managedby.Release]string
	}{
		{`{"kubernetes_version":"1.30"}`, batchv1.JobStatus{StartTime: &later}, "", map[managedby.Release]string{managedby.V1_30: removed}},
		{`{"kubernetes_version":"1.36"}`, batchv1.JobStatus{StartTime: &later}, "", map[managedby.Release]string{managedby.V1_36: changed}},
		{`{}`, batchv1.JobStatus{StartTime: &later}, "", map[managedby.Release]string{managedby.V1_37: changed}},
		{
			`{}`, batchv1.JobStatus{StartTime: &start, Ready: ptr[int32](1)}, "1.31 to 1.37",
			map[managedby.Release]string{managedby.V1_30: "", managedby.V1_31: tooReady, managedby.V1_37: tooReady},
		},
	} {
		request := &admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, SubResource: managedby.StatusSubresource,
			Kind: metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, Name: "pi", Namespace: "default",
			Object: runtime.RawExtension{Object: withStatus(delegated(), test.new)}, OldObject: runtime.RawExtension{Object: old},
		}
		verdict, err := newPolicy(t, managedby.WithSettings([]byte(test.settings))).Review(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if len(verdict.Findings) != 1 || verdict.Findings[0].Releases.String() != test.releases {
			t.Fatalf("%s: %+v", test.settings, verdict.Findings)
		}
		for release, want := range test.errors {
			finding := verdict.Findings[0]
			got := finding.FieldError(release)
			if finding.Error(release) != want || (got == nil) != (want == "") || got != nil && got.Error() != want {
				t.Errorf("%s, %s: %q and %v, want %q", test.settings, release, finding.Error(release), got, want)
			}
		}
	}
}

// TestWrongTypes checks objects that no API server could have sent in a request.
func TestWrongTypes(t *testing.T) {
	job := func(managedBy any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "pi"}, "spec": map[string]any{"managedBy": managedBy},
		}}
	}
	for want, change := range map[string]managedby.Change{
		"spec.managedBy: expected a string, got a number":           {Object: job(int64(1)), OldObject: job("acme.io/a")},
		"oldObject.spec.managedBy: expected a string, got a number": {Object: job("acme.io/a"), OldObject: job(int64(1))},
	} {
		change.Operation = admissionv1.Update
		findings, err := newPolicy(t).Check(t.Context(), change)
		if err != nil || len(findings.Denials) != 1 || findings.Denials[0].Code != 400 || findings.Denials[0].Message != want {
			t.Errorf("%+v, %v, want %s", findings, err, want)
		}
	}
}

func TestSelectedReleases(t *testing.T) {
	policy := newPolicy(t, managedby.WithReleases(managedby.V1_36, managedby.V1_31, managedby.V1_36))
	findings, err := policy.CheckStatusUpdate(t.Context(), delegated(), withStatus(delegated(), batchv1.JobStatus{Ready: ptr[int32](1)}))
	if err != nil {
		t.Fatal(err)
	}
	if denied := findings.Denied(); denied.String() != "1.31, 1.36 from 1.36.2" {
		t.Errorf("Denied() = %v, want 1.31, 1.36 from 1.36.2", denied)
	}
	want := `Kubernetes 1.31, 1.36 from 1.36.2: Job.batch "pi" is invalid: status.ready: Invalid value: 1: cannot set more ready pods than active`
	if text := findings.Err().Error(); text != want {
		t.Errorf("Err() = %q, want %q", text, want)
	}
}

func TestConcurrentCalls(t *testing.T) {
	policy := newPolicy(t)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			ready := int32(i % 2)
			findings, err := policy.CheckStatusUpdate(t.Context(), delegated(), withStatus(delegated(), batchv1.JobStatus{Ready: &ready}))
			if err != nil || managedby.IsDenied(findings.Err()) != (ready == 1) {
				t.Errorf("%d: %v, %v", i, findings, err)
			}
		})
	}
	all.Wait()
}

func TestCanceledContext(t *testing.T) {
	policy := newPolicy(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("canceled by the test")
	cancel(reason)
	if _, err := policy.CheckCreate(ctx, delegated()); !errors.Is(err, reason) {
		t.Errorf("CheckCreate with a canceled context: got error %v, want %v", err, reason)
	}
	if findings, err := policy.CheckCreate(t.Context(), delegated()); err != nil || findings.Err() != nil {
		t.Errorf("the next call: %v, %v", findings, err)
	}
}

func TestReleasesPrintAsRanges(t *testing.T) {
	for _, test := range []struct {
		releases managedby.Releases
		text     string
	}{
		{nil, ""},
		{managedby.Releases{managedby.V1_30}, "1.30"},
		{managedby.Releases{managedby.V1_30, managedby.V1_31}, "1.30 to 1.31"},
		{managedby.Releases{managedby.V1_32_6}, "1.32.0 to 1.32.6"},
		{managedby.Releases{managedby.V1_32_9}, "1.32.7 to 1.32.9"},
		{managedby.Releases{managedby.V1_32}, "1.32 from 1.32.10"},
		{managedby.Releases{managedby.V1_31, managedby.V1_32_6}, "1.31 to 1.32.6"},
		{managedby.Releases{managedby.V1_34, managedby.V1_35, managedby.V1_36_1}, "1.34.2 to 1.36.1"},
		{
			managedby.Releases{
				managedby.V1_30, managedby.V1_32_6, managedby.V1_32_9, managedby.V1_32,
				managedby.V1_33_2, managedby.V1_33_5, managedby.V1_33, managedby.V1_37,
			}, "1.30, 1.32 to 1.33, 1.37",
		},
		{managedby.AllReleases(), "1.30 to 1.37"},
		{managedby.Since(managedby.V1_32), "1.32 to 1.37"},
		{managedby.Since(managedby.V1_33_5), "1.33.3 to 1.37"},
		{managedby.Since("1.29"), ""},
	} {
		if test.releases.String() != test.text {
			t.Errorf("%q, not %q", test.releases.String(), test.text)
		}
	}
	for version, want := range map[string]managedby.Release{
		"1.36": managedby.V1_36, "1.36.1": managedby.V1_36_1, "v1.36.2-eks-abc": managedby.V1_36, "1.36.99": managedby.V1_36,
		"1.33.0": managedby.V1_33_2, "v1.33.3+k3s1": managedby.V1_33_5, "1.30.14": managedby.V1_30,
		"1.29": "", "1.38": managedby.V1_37, "1.38.0-beta.0": managedby.V1_37, "1.39": "", "1.36-eks": "", "1.36.": "", "1.36.x": "", "1.36.01": "", "1.36.1.1": "", "1": "", "": "",
	} {
		if release, err := managedby.ParseRelease(version); release != want || (err == nil) != (want != "") {
			t.Errorf("ParseRelease(%q) = %q, %v; want %q", version, release, err, want)
		}
	}
}
