package managedbytransport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbytransport"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// stub is an API server with one Job. It returns the stored Job for each request, or code for writes.
type stub struct {
	job    batchv1.Job
	code   int
	writes []string
}

func (s *stub) RoundTrip(request *http.Request) (*http.Response, error) {
	code, body := http.StatusOK, any(&s.job)
	if request.Method != http.MethodGet {
		s.writes = append(s.writes, request.Method)
		if s.code != 0 {
			code = s.code
			body = &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "from the server", Code: int32(s.code), Reason: metav1.StatusReasonInvalid}
		}
	}
	text, err := json.Marshal(body)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: request}, err
}

func stored() *stub {
	name := "acme.io/runner"
	return &stub{job: batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi", UID: "1", ResourceVersion: "5"},
		Spec:       batchv1.JobSpec{ManagedBy: &name},
	}}
}

func config(r *recorded.T, s *stub, options ...managedbytest.Option) *rest.Config {
	config := &rest.Config{Host: "http://stub", Transport: s}
	config.Wrap(managedbytransport.New(r, options...))
	return config
}

const denial = `Job.batch "pi" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active`

// patchStatus returns a function that patches the status of a Job with a clientset.
func patchStatus(patchType types.PatchType) func(config *rest.Config, job *batchv1.Job) error {
	return func(config *rest.Config, job *batchv1.Job) error {
		text, err := json.Marshal(map[string]any{"status": job.Status})
		if err != nil {
			return err
		}
		_, err = kubernetes.NewForConfigOrDie(config).BatchV1().Jobs("default").Patch(context.Background(), "pi", patchType, text, metav1.PatchOptions{}, "status")
		return err
	}
}

func TestWritesAreChecked(t *testing.T) {
	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	for name, write := range map[string]func(config *rest.Config, job *batchv1.Job) error{
		"clientset": func(config *rest.Config, job *batchv1.Job) error {
			_, err := kubernetes.NewForConfigOrDie(config).BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
			return err
		},
		"clientset with protobuf": func(config *rest.Config, job *batchv1.Job) error {
			config.ContentType = runtime.ContentTypeProtobuf
			_, err := kubernetes.NewForConfigOrDie(config).BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
			return err
		},
		"merge patch":           patchStatus(types.MergePatchType),
		"strategic merge patch": patchStatus(types.StrategicMergePatchType),
		"dynamic client": func(config *rest.Config, job *batchv1.Job) error {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
			if err != nil {
				return err
			}
			_, err = dynamic.NewForConfigOrDie(config).Resource(jobs).Namespace("default").UpdateStatus(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{})
			return err
		},
	} {
		for _, ready := range []int32{1, 2} {
			r, s := recorded.New(t.Context()), stored()
			job := s.job.DeepCopy()
			job.Status.Active, job.Status.Ready = 1, &ready
			err := write(config(r, s), job)
			r.End()
			failures := strings.Join(r.Failures, "\n")
			if ready == 1 {
				if err != nil || failures != "" || len(s.writes) != 1 {
					t.Errorf("%s, valid status: %v, failures %s, sent %v", name, err, failures, s.writes)
				}
				continue
			}
			if !apierrors.IsInvalid(err) || err.Error() != denial || len(s.writes) != 0 {
				t.Errorf("%s, invalid status: %v, sent %v", name, err, s.writes)
			}
			if len(r.Failures) != 1 || !strings.HasPrefix(failures, "managedbytransport_test.go:") || !strings.Contains(failures, " of jobs/status default/pi:\n    Kubernetes 1.32 to 1.37: "+denial) {
				t.Errorf("%s: got failures %s", name, failures)
			}
		}
	}
}

// TestAcceptedStatus writes a status that the API server accepts, without the unknown field.
func TestAcceptedStatus(t *testing.T) {
	r, s := recorded.New(t.Context()), stored()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.job.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	fields["status"] = map[string]any{"suceeded": int64(1), "conditions": []any{map[string]any{"type": "Suspended", "status": "true"}}}
	jobs := dynamic.NewForConfigOrDie(config(r, s)).Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace("default")
	_, err = jobs.UpdateStatus(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{})
	r.End()
	logs := strings.Join(r.Logs, "\n")
	for _, warning := range []string{
		"status.suceeded: Invalid value: unknown field, which the API server drops; did you mean \"succeeded\"?",
		`status.conditions[0].status: Unsupported value: "true": supported values: "False", "True", "Unknown"`,
	} {
		if !strings.Contains(logs, warning) {
			t.Errorf("logs %q lack %q", logs, warning)
		}
	}
	if err != nil || len(r.Failures) > 0 {
		t.Errorf("%v, failures %q", err, r.Failures)
	}
}

// TestApply checks an apply by its result, and fails if the API server denies it.
func TestApply(t *testing.T) {
	apply := func(r *recorded.T, s *stub) error {
		_, err := kubernetes.NewForConfigOrDie(config(r, s)).BatchV1().Jobs("default").
			Patch(t.Context(), "pi", types.ApplyPatchType, []byte(`{"apiVersion":"batch/v1","kind":"Job","status":{}}`), metav1.PatchOptions{FieldManager: "test"}, "status")
		return err
	}
	r, s := recorded.New(t.Context()), stored()
	if err := apply(r, s); err != nil || len(r.Failures) != 0 || len(s.writes) != 1 {
		t.Errorf("valid result: %v, failures %q", err, r.Failures)
	}
	r, s = recorded.New(t.Context()), stored()
	s.code = http.StatusUnprocessableEntity
	if err := apply(r, s); !apierrors.IsInvalid(err) || len(r.Failures) != 1 || !strings.HasSuffix(r.Failures[0], "the API server denied the write: from the server") {
		t.Errorf("denied by the server: %v, failures %q", err, r.Failures)
	}
}

func TestRejectedStatusUpdate(t *testing.T) {
	r, s := recorded.New(t.Context()), stored()
	s.code = http.StatusUnprocessableEntity
	_, err := kubernetes.NewForConfigOrDie(config(r, s)).BatchV1().Jobs("default").UpdateStatus(t.Context(), s.job.DeepCopy(), metav1.UpdateOptions{})
	if !apierrors.IsInvalid(err) || len(r.Failures) != 1 || !strings.HasSuffix(r.Failures[0], "PUT of jobs/status default/pi: the API server denied the write: from the server") {
		t.Errorf("got error %v, failures %q", err, r.Failures)
	}
}

// TestStaleWrite leaves conflicts to the API server.
func TestStaleWrite(t *testing.T) {
	for _, change := range []func(*batchv1.Job){
		func(job *batchv1.Job) { job.ResourceVersion = "4" },
		func(job *batchv1.Job) { job.UID = "2" },
	} {
		r, s := recorded.New(t.Context()), stored()
		s.code = http.StatusConflict
		job := s.job.DeepCopy()
		change(job)
		ready := int32(2)
		job.Status.Ready = &ready
		_, err := kubernetes.NewForConfigOrDie(config(r, s)).BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
		if err == nil || len(r.Failures) != 0 || len(s.writes) != 1 {
			t.Errorf("got error %v, failures %q, sent %v", err, r.Failures, s.writes)
		}
	}
}

func TestNoWriteIsChecked(t *testing.T) {
	r, s := recorded.New(t.Context()), stored()
	if _, err := kubernetes.NewForConfigOrDie(config(r, s)).BatchV1().Jobs("default").Get(t.Context(), "pi", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	r.End()
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "no write reached the client") {
		t.Errorf("got failures %q", r.Failures)
	}
}

// TestWritesOfTheObject changes the status in a write of the object, which the API server ignores, or denies for another reason.
func TestWritesOfTheObject(t *testing.T) {
	for code, want := range map[int]string{
		0:                              "PUT of jobs default/pi: the changed status is ignored: use PUT of jobs/status",
		http.StatusUnprocessableEntity: "PUT of jobs default/pi: the API server denied the write: from the server",
	} {
		r, s := recorded.New(t.Context()), stored()
		s.code = code
		job := s.job.DeepCopy()
		job.Status.Active = 1
		_, err := kubernetes.NewForConfigOrDie(config(r, s)).BatchV1().Jobs("default").Update(t.Context(), job, metav1.UpdateOptions{})
		found := r.Logs
		if code != 0 {
			found = r.Failures
		}
		if (err != nil) != (code != 0) || len(found) != 1 || !strings.HasSuffix(found[0], want) {
			t.Errorf("%d: %v, logs %q, failures %q", code, err, r.Logs, r.Failures)
		}
	}
}
