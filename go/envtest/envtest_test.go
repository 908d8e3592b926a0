// Package envtest makes the same writes through managedbyclient and without it, to a real kube-apiserver: both must say the same.
package envtest

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
)

// start gives a client of the kube-apiserver on the PATH, and its release.
func start(t *testing.T) (client.WithWatch, managedby.Release) {
	t.Helper()
	path := func(program string) string {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	environment := &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	environment.ControlPlane.APIServer = &envtest.APIServer{Path: path("kube-apiserver")}
	environment.ControlPlane.Etcd = &envtest.Etcd{Path: path("etcd")}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	version, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	release, err := managedby.ParseRelease(version.Major + "." + version.Minor)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("kube-apiserver %s", version)
	return c, release
}

func TestSameAsTheAPIServer(t *testing.T) {
	plain, release := start(t)
	r := recorded.New(t.Context())
	judged := managedbyclient.New(r, plain, managedbyclient.Releases(release))

	now := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	end := metav1.NewTime(now.Add(time.Minute))
	running := batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](1)}
	tooReady := batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](2)}
	finished := batchv1.JobStatus{
		StartTime: &now, CompletionTime: &end, Succeeded: 1,
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"}, {Type: batchv1.JobComplete, Status: "True"}},
	}
	update := func(status batchv1.JobStatus) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			job.Status = status
			return c.Status().Update(ctx, job)
		}
	}
	patch := func(status batchv1.JobStatus, from func(client.Object) client.Patch) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			old := job.DeepCopy()
			job.Status = status
			return c.Status().Patch(ctx, job, from(old))
		}
	}
	// A Job that is suspended with a status, and whose pods are then sent elsewhere.
	move := func(status batchv1.JobStatus) func(context.Context, client.Client, *batchv1.Job) error {
		return func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			job.Spec.Suspend = ptr(true)
			if err := c.Update(ctx, job); err != nil {
				return err
			}
			job.Status = status
			if err := c.Status().Update(ctx, job); err != nil {
				return err
			}
			job.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "a"}
			return c.Update(ctx, job)
		}
	}
	for i, test := range []struct {
		name   string
		write  func(context.Context, client.Client, *batchv1.Job) error
		denied bool
	}{
		{"a status, updated", update(running), false},
		{"a status that is wrong, updated", update(tooReady), true},
		{"a success at once", update(finished), false},
		{"a status, merged", patch(running, client.MergeFrom), false},
		{"a status that is wrong, merged", patch(tooReady, client.MergeFrom), true},
		{"a status that is wrong, merged strategically", patch(tooReady, func(old client.Object) client.Patch {
			return client.StrategicMergeFrom(old)
		}), true},
		{"a status, applied", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			status := applybatchv1.JobStatus().WithStartTime(now).WithActive(1).WithReady(1)
			return c.Status().Apply(ctx, applybatchv1.Job(job.Name, job.Namespace).WithStatus(status), client.FieldOwner("test"))
		}, false},
		{"a change of the field", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			job.Spec.ManagedBy = ptr("acme.io/other")
			return c.Update(ctx, job)
		}, true},
		{"a stale update", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			fresh := job.DeepCopy()
			fresh.Labels = map[string]string{"touched": "yes"}
			if err := c.Update(ctx, fresh); err != nil {
				return err
			}
			return update(tooReady)(ctx, c, job)
		}, false},
		{"other nodes, with the condition Suspended", move(batchv1.JobStatus{
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: "True"}},
		}), false},
		{"other nodes, while a pod is active", move(batchv1.JobStatus{Active: 1}), release >= managedby.V1_36},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.Failures = nil
			write := func(c client.Client, name string) error {
				job := &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
					Spec: batchv1.JobSpec{ManagedBy: ptr("acme.io/runner"), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
						RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "pi", Image: "perl"}},
					}}},
				}
				if err := c.Create(t.Context(), job); err != nil {
					t.Fatal(err)
				}
				return test.write(t.Context(), c, job)
			}
			theirs := write(plain, fmt.Sprintf("pi-%d-theirs", i))
			ours := write(judged, fmt.Sprintf("pi-%d-ours", i))
			if apierrors.IsInvalid(theirs) != test.denied || apierrors.ReasonForError(ours) != apierrors.ReasonForError(theirs) || (len(r.Failures) != 0) != test.denied {
				t.Errorf("kube-apiserver: %v\nours:           %v\nfailures:       %v", theirs, ours, r.Failures)
			}
			if !test.denied || strings.Contains(theirs.Error(), "spec.template") {
				return // kube-apiserver prints the whole template, this policy does not.
			}
			if same := strings.ReplaceAll(theirs.Error(), "theirs", "ours"); ours.Error() != same {
				t.Errorf("kube-apiserver: %s\nours:           %v", same, ours)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }
