// Package mirror is an example of an external controller, similar to MultiKueue. It creates a copy of each hub Job in a worker
// cluster and copies its status back. The test shows how managedbyclient detects writes that a Kubernetes release would deny.
package mirror

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ControllerName is the value of spec.managedBy for this controller.
const ControllerName = "acme.io/mirror"

// PoolAnnotation contains the node pool for a Job. A queue sets it when it admits the Job.
const PoolAnnotation = "acme.io/pool"

// Reconciler runs the hub's Jobs in a worker cluster.
type Reconciler struct {
	Hub, Worker client.Client
	// SkipSuspended disables status updates of suspended Jobs, as in the bug
	// https://github.com/kubernetes-sigs/kueue/issues/11614.
	SkipSuspended bool
}

// Reconcile creates the Job in the worker cluster. If it exists, Reconcile copies its status, and resumes the hub's Job if it was
// admitted.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var job batchv1.Job
	if err := r.Hub.Get(ctx, request.NamespacedName, &job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if job.Spec.ManagedBy == nil || *job.Spec.ManagedBy != ControllerName {
		return reconcile.Result{}, nil
	}
	var remote batchv1.Job
	switch err := r.Worker.Get(ctx, request.NamespacedName, &remote); {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, r.Worker.Create(ctx, remoteJob(&job))
	case err != nil:
		return reconcile.Result{}, err
	}
	if err := r.copyStatus(ctx, &job, &remote); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.resumeIfAdmitted(ctx, &job)
}

// remoteJob returns the Job for the worker cluster. It has no managedBy, so that the Job controller runs it.
func remoteJob(job *batchv1.Job) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name},
		Spec: batchv1.JobSpec{
			Parallelism: job.Spec.Parallelism, Completions: job.Spec.Completions,
			Suspend: job.Spec.Suspend, Template: *job.Spec.Template.DeepCopy(),
		},
	}
}

func (r *Reconciler) copyStatus(ctx context.Context, job, remote *batchv1.Job) error {
	suspended := isSuspended(job)
	if suspended && r.SkipSuspended {
		return nil
	}
	old := job.DeepCopy()
	if suspended {
		// A Job that is suspended in the hub has no running pods, so only the condition is copied.
		job.Status.Conditions = slices.DeleteFunc(slices.Clone(remote.Status.Conditions), func(c batchv1.JobCondition) bool {
			return c.Type != batchv1.JobSuspended
		})
	} else {
		job.Status = *remote.Status.DeepCopy()
	}
	return r.Hub.Status().Patch(ctx, job, client.MergeFrom(old))
}

// resumeIfAdmitted resumes a suspended Job that the queue has admitted.
func (r *Reconciler) resumeIfAdmitted(ctx context.Context, job *batchv1.Job) error {
	pool := job.Annotations[PoolAnnotation]
	if pool == "" || !isSuspended(job) {
		return nil
	}
	suspend := false
	job.Spec.Suspend = &suspend
	job.Spec.Template.Spec.NodeSelector = map[string]string{"pool": pool}
	return r.Hub.Update(ctx, job)
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
