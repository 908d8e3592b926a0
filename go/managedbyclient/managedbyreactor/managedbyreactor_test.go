package managedbyreactor_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbyreactor"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

const denial = `Job.batch "pi" is invalid: status.ready: Invalid value: 2: cannot set more ready pods than active`

func job(active, ready int32) *batchv1.Job {
	name := "acme.io/runner"
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi", UID: "1"},
		Spec:       batchv1.JobSpec{ManagedBy: &name}, Status: batchv1.JobStatus{Active: active, Ready: &ready},
	}
}

func TestWritesAreChecked(t *testing.T) {
	for name, write := range map[string]func(r *recorded.T, ready int32) error{
		"clientset, update": func(r *recorded.T, ready int32) error {
			clientset := fake.NewClientset(job(1, 0))
			managedbyreactor.Prepend(r, clientset)
			_, err := clientset.BatchV1().Jobs("default").UpdateStatus(t.Context(), job(1, ready), metav1.UpdateOptions{})
			return err
		},
		"clientset, merge patch": func(r *recorded.T, ready int32) error {
			clientset := fake.NewClientset(job(1, 0))
			managedbyreactor.Prepend(r, clientset)
			text := strings.ReplaceAll(`{"status":{"ready":N}}`, "N", string(rune('0'+ready)))
			_, err := clientset.BatchV1().Jobs("default").Patch(t.Context(), "pi", types.MergePatchType, []byte(text), metav1.PatchOptions{}, "status")
			return err
		},
		"clientset, apply": func(r *recorded.T, ready int32) error {
			clientset := fake.NewClientset(job(1, 0))
			managedbyreactor.Prepend(r, clientset)
			status := applybatchv1.Job("pi", "default").WithStatus(applybatchv1.JobStatus().WithActive(1).WithReady(ready))
			_, err := clientset.BatchV1().Jobs("default").ApplyStatus(t.Context(), status, metav1.ApplyOptions{FieldManager: "test", Force: true})
			return err
		},
		"dynamic client, update": func(r *recorded.T, ready int32) error {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, job(1, 0))
			managedbyreactor.Prepend(r, client)
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job(1, ready))
			if err != nil {
				return err
			}
			_, err = client.Resource(batchv1.SchemeGroupVersion.WithResource("jobs")).Namespace("default").
				UpdateStatus(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.UpdateOptions{})
			return err
		},
	} {
		for _, ready := range []int32{1, 2} {
			r := recorded.New(t.Context())
			err := write(r, ready)
			r.End()
			failures := strings.Join(r.Failures, "\n")
			if ready == 1 {
				if err != nil || failures != "" {
					t.Errorf("%s, valid status: %v, failures %s", name, err, failures)
				}
				continue
			}
			if !apierrors.IsInvalid(err) || err.Error() != denial {
				t.Errorf("%s, invalid status: %v", name, err)
			}
			if len(r.Failures) != 1 || !strings.HasPrefix(failures, "managedbyreactor_test.go:") || !strings.Contains(failures, " of jobs/status default/pi:\n    Kubernetes 1.32 to 1.37: "+denial) {
				t.Errorf("%s: got failures %s", name, failures)
			}
		}
	}
}

func TestCreateAndConflict(t *testing.T) {
	r := recorded.New(t.Context())
	clientset := fake.NewClientset(job(1, 0))
	managedbyreactor.Prepend(r, clientset)
	other := job(1, 2)
	other.UID = "2"
	if _, err := clientset.BatchV1().Jobs("default").UpdateStatus(t.Context(), other, metav1.UpdateOptions{}); !apierrors.IsConflict(err) || len(r.Failures) != 0 {
		t.Errorf("another UID: %v, failures %q", err, r.Failures)
	}
	other.Name, *other.Spec.ManagedBy = "e", "runner"
	if _, err := clientset.BatchV1().Jobs("default").Create(t.Context(), other, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || len(r.Failures) != 1 {
		t.Errorf("invalid managedBy: %v, failures %q", err, r.Failures)
	}
}

func TestNoWriteIsChecked(t *testing.T) {
	r := recorded.New(t.Context())
	managedbyreactor.Prepend(r, fake.NewClientset())
	r.End()
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0], "no write reached the client") {
		t.Errorf("got failures %q", r.Failures)
	}
}

// TestOptions covers what the checkers of all clients share.
func TestOptions(t *testing.T) {
	jobs := func(r *recorded.T, options ...managedbytest.Option) typedbatchv1.JobInterface {
		clientset := fake.NewClientset(job(0, 0))
		managedbyreactor.Prepend(r, clientset, options...)
		return clientset.BatchV1().Jobs("default")
	}
	update := func(j typedbatchv1.JobInterface) error {
		_, err := j.Update(t.Context(), job(-7, 0), metav1.UpdateOptions{})
		return err
	}
	updateStatus := func(j typedbatchv1.JobInterface) error {
		_, err := j.UpdateStatus(t.Context(), job(1, 0), metav1.UpdateOptions{})
		return err
	}
	for name, test := range map[string]struct {
		write   func(typedbatchv1.JobInterface) error
		options []managedbytest.Option
		text    string
		fails   bool
	}{
		"ignored status":           {update, nil, "update of jobs default/pi: the changed status is ignored: use UpdateStatus", false},
		"FailOnIgnoredChanges":     {update, []managedbytest.Option{managedbytest.FailOnIgnoredChanges()}, "the changed status is ignored", true},
		"no resourceVersion":       {updateStatus, nil, "update of jobs/status default/pi: no resourceVersion: the write overwrites changes", false},
		"FailOnWarnings":           {updateStatus, []managedbytest.Option{managedbytest.FailOnWarnings()}, "no resourceVersion", true},
		"ForController":            {updateStatus, []managedbytest.Option{managedbytest.ForController("acme.io/runner")}, "no resourceVersion", false},
		"ForController, of others": {updateStatus, []managedbytest.Option{managedbytest.ForController("acme.io/other")}, `the object names the controller "acme.io/runner", not "acme.io/other"`, true},
		"AllowNoWrites":            {func(typedbatchv1.JobInterface) error { return nil }, []managedbytest.Option{managedbytest.AllowNoWrites()}, "checked 0 of 0 writes", false},
	} {
		r := recorded.New(t.Context())
		err := test.write(jobs(r, test.options...))
		r.End()
		found := r.Logs
		if test.fails {
			found = r.Failures
		}
		if err != nil || !strings.Contains(strings.Join(found, "\n"), test.text) || (len(r.Failures) > 0) != test.fails {
			t.Errorf("%s: %v, logs %q, failures %q", name, err, r.Logs, r.Failures)
		}
	}
}
