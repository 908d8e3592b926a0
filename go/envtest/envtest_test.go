// Package envtest sends the same writes to a real kube-apiserver with and without managedbyclient, and compares the errors.
package envtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applybatchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/managed-by-policy/managed-by-policy/go/internal/recorded"
	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient"
	"github.com/managed-by-policy/managed-by-policy/go/managedbyclient/managedbywebhook"
)

// cluster is a running kube-apiserver with a client.
type cluster struct {
	client.WithWatch
	config  *rest.Config
	webhook envtest.WebhookInstallOptions
	release managedby.Release
}

// start starts the etcd and kube-apiserver on the PATH, after changes of the configuration.
func start(t *testing.T, configure ...func(*envtest.Environment)) cluster {
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
	for _, configure := range configure {
		configure(environment)
	}
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
	release, err := managedby.ParseRelease(version.GitVersion)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("kube-apiserver %s", version)
	return cluster{c, config, environment.WebhookInstallOptions, release}
}

// delegated returns a Job that is delegated to an external controller.
func delegated(name string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: batchv1.JobSpec{ManagedBy: ptr("acme.io/runner"), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "pi", Image: "perl"}},
		}}},
	}
}

// statusText returns the status of an error as text, with a common object name.
func statusText(t *testing.T, err error, name string) string {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("not an API status error: %v", err)
	}
	text, err := json.MarshalIndent(status.Status(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), name, "pi")
}

func TestSameAsTheAPIServer(t *testing.T) {
	server := start(t)
	plain, release := server.WithWatch, server.release
	r := recorded.New(t.Context())
	checked := managedbyclient.New(r, plain, managedby.WithReleases(release))

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
	// move suspends the Job, writes its status, and then changes its scheduling directives.
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
		{"update, valid status", update(running), false},
		{"update, invalid status", update(tooReady), true},
		{"update, first status is Complete", update(finished), false},
		{"merge patch, valid status", patch(running, client.MergeFrom), false},
		{"merge patch, invalid status", patch(tooReady, client.MergeFrom), true},
		{"strategic merge patch, invalid status", patch(tooReady, func(old client.Object) client.Patch {
			return client.StrategicMergeFrom(old)
		}), true},
		{"apply, valid status", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			status := applybatchv1.JobStatus().WithStartTime(now).WithActive(1).WithReady(1)
			return c.Status().Apply(ctx, applybatchv1.Job(job.Name, job.Namespace).WithStatus(status), client.FieldOwner("test"))
		}, false},
		{"dry run of an apply patch, invalid status", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			bad := &batchv1.Job{
				TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
				ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}, Status: tooReady,
			}
			//lint:ignore SA1019 Controllers still use client.Apply.
			return c.Status().Patch(ctx, bad, client.Apply, client.FieldOwner("test"), client.ForceOwnership, client.DryRunAll)
		}, true},
		{"two mistakes in one status", update(batchv1.JobStatus{Active: 1, Ready: ptr[int32](2), Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobComplete, Status: "True"},
		}}), true},
		{"update of managedBy", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			job.Spec.ManagedBy = ptr("acme.io/other")
			return c.Update(ctx, job)
		}, true},
		{"patch of the UID", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			return c.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"2"},"status":{"active":1}}`)))
		}, true},
		{"patch of the name", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			return c.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"name":"other"},"status":{"active":1}}`)))
		}, true},
		{"patch of the namespace", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			return c.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"namespace":"other"},"status":{"active":1}}`)))
		}, true},
		{"update of a recreated Job", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			job.UID = "2"
			return update(tooReady)(ctx, c, job)
		}, false},
		{"a stale update", func(ctx context.Context, c client.Client, job *batchv1.Job) error {
			fresh := job.DeepCopy()
			fresh.Labels = map[string]string{"touched": "yes"}
			if err := c.Update(ctx, fresh); err != nil {
				return err
			}
			return update(tooReady)(ctx, c, job)
		}, false},
		{"change of scheduling directives, Suspended is True", move(batchv1.JobStatus{
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: "True"}},
		}), false},
		{"change of scheduling directives, a pod is active", move(batchv1.JobStatus{Active: 1}), release >= managedby.V1_36},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.Failures = nil
			write := func(c client.Client, name string) error {
				job := delegated(name)
				if err := c.Create(t.Context(), job); err != nil {
					t.Fatal(err)
				}
				return test.write(t.Context(), c, job)
			}
			plainName, checkedName := fmt.Sprintf("pi-%d-plain", i), fmt.Sprintf("pi-%d-checked", i)
			plainErr, checkedErr := write(plain, plainName), write(checked, checkedName)
			isDenied := apierrors.IsInvalid(plainErr) || apierrors.IsBadRequest(plainErr)
			if isDenied != test.denied || apierrors.ReasonForError(checkedErr) != apierrors.ReasonForError(plainErr) || (len(r.Failures) != 0) != test.denied {
				t.Errorf("kube-apiserver: %v\nchecked:        %v\nfailures:       %v", plainErr, checkedErr, r.Failures)
			}
			if !test.denied || strings.Contains(plainErr.Error(), "spec.template") {
				return // kube-apiserver prints the whole template, the policy does not.
			}
			if got, want := statusText(t, checkedErr, checkedName), statusText(t, plainErr, plainName); got != want {
				t.Errorf("kube-apiserver: %s\nchecked:        %s", want, got)
			}
		})
	}
}

// TestApplyDryRun evaluates the response of a dry run for a release that denies a write which the API server's release accepts.
func TestApplyDryRun(t *testing.T) {
	server := start(t)
	r := recorded.New(t.Context())
	checked := managedbyclient.New(r, server.WithWatch, managedby.WithReleases(managedby.V1_30))
	job := delegated("pi")
	if err := server.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	applied := func(options ...client.SubResourcePatchOption) error {
		met := batchv1.JobStatus{StartTime: &now, Active: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"}}}
		obj := &batchv1.Job{
			TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi"}, Status: met,
		}
		//lint:ignore SA1019 Controllers still use client.Apply.
		return checked.Status().Patch(t.Context(), obj, client.Apply, append(options, client.FieldOwner("test"), client.ForceOwnership)...)
	}
	stored := func() int32 {
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
			t.Fatal(err)
		}
		return job.Status.Active
	}
	if err := applied(client.DryRunAll); !apierrors.IsInvalid(err) || len(r.Failures) != 1 || stored() != 0 {
		t.Errorf("dry run of an apply patch: got %v, failures %v, %d active; want Invalid, 1 failure and nothing stored", err, r.Failures, stored())
	}
	config := applybatchv1.Job("pi", "default").WithStatus(applybatchv1.JobStatus().WithStartTime(now).
		WithConditions(applybatchv1.JobCondition().WithType(batchv1.JobSuccessCriteriaMet).WithStatus("True")))
	if err := checked.Status().Apply(t.Context(), config, client.FieldOwner("test"), client.DryRunAll); !apierrors.IsInvalid(err) || len(r.Failures) != 2 || stored() != 0 {
		t.Errorf("dry run of Apply: got %v, failures %v, %d active; want Invalid, 2 failures and nothing stored", err, r.Failures, stored())
	}
	// The failure of the first dry run is not repeated.
	if err := applied(); !apierrors.IsInvalid(err) || len(r.Failures) != 2 || stored() != 1 {
		t.Errorf("apply without dry run: got %v, failures %v, %d active; want Invalid, 1 failure per dry run and the status stored", err, r.Failures, stored())
	}
}

// TestManager writes through the client of a manager, which reads from a cache.
func TestManager(t *testing.T) {
	server := start(t)
	r := recorded.New(t.Context())
	mgr, err := manager.New(server.config, manager.Options{
		NewClient: managedbyclient.ForManager(r),
		Metrics:   metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		job := &batchv1.Job{}
		if err := mgr.GetClient().Get(ctx, request.NamespacedName, job); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		now := metav1.Now()
		job.Status = batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](2)}
		wrote <- mgr.GetClient().Status().Update(ctx, job)
		return reconcile.Result{}, nil
	})
	if err := builder.ControllerManagedBy(mgr).For(&batchv1.Job{}).Complete(reconciler); err != nil {
		t.Fatal(err)
	}
	run(t, mgr)
	if err := server.Create(t.Context(), delegated("pi")); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; !apierrors.IsInvalid(err) || len(r.Failures) != 1 || !strings.HasPrefix(r.Failures[0], "envtest_test.go:") {
		t.Errorf("status update in the reconciler: got %v, failures %v; want Invalid and 1 failure with the position in this file", err, r.Failures)
	}
	// Wrap a client with New instead of ForManager.
	again := managedbyclient.New(r, mgr.GetClient(), managedbyclient.WithReader(mgr.GetAPIReader()))
	bad := delegated("other")
	bad.Spec.ManagedBy = ptr("runner")
	if err := again.Create(t.Context(), bad); !apierrors.IsInvalid(err) {
		t.Errorf("create with an invalid managedBy: got %v, want Invalid", err)
	}
}

// run starts a manager, and stops it before the API server.
func run(t *testing.T, mgr manager.Manager) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestWebhook evaluates the writes of an unwrapped client for a release other than the API server's.
func TestWebhook(t *testing.T) {
	server := start(t, func(environment *envtest.Environment) {
		environment.WebhookInstallOptions.ValidatingWebhooks = []*admissionregistrationv1.ValidatingWebhookConfiguration{managedbywebhook.Configuration()}
	})
	r := recorded.New(t.Context())
	managedbywebhook.Serve(r, webhook.Options{
		Host: server.webhook.LocalServingHost, Port: server.webhook.LocalServingPort, CertDir: server.webhook.LocalServingCertDir,
	}, managedby.WithReleases(managedby.V1_30))
	// The webhook stops before the API server.
	t.Cleanup(r.End)
	job := delegated("pi")
	if err := server.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	now := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	job.Status = batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](1)}
	if err := server.Status().Update(t.Context(), job); err != nil || len(r.Failures) != 0 {
		t.Fatalf("update to a valid status: got %v, failures %v; want neither", err, r.Failures)
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"}}
	err := server.Status().Update(t.Context(), job)
	if !apierrors.IsInvalid(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) || len(r.Failures) != 1 ||
		!strings.HasPrefix(r.Failures[0], "UPDATE of the status of Job default/pi by ") {
		t.Errorf("update to a status that 1.30 denies: got %v, failures %v; want Invalid and 1 failure with the request", err, r.Failures)
	}
}

func ptr[T any](value T) *T { return &value }
