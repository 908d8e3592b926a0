// Package mirror is a small external controller in the manner of MultiKueue: a Job of the hub is run by a worker cluster, and its
// status is copied back. Its test shows how managedbyclient finds what a release of Kubernetes would deny.
package mirror

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Controller is the name of this controller in the field managedBy.
const Controller = "acme.io/mirror"

// PoolAnnotation is set by a queue when it admits a Job: the nodes where it is to run.
const PoolAnnotation = "acme.io/pool"

// Reconciler runs the hub's Jobs in a worker cluster.
type Reconciler struct {
	Hub, Worker client.Client
	// SkipSuspended leaves the status of a suspended Job alone. That is the mistake of
	// https://github.com/kubernetes-sigs/kueue/issues/11614.
	SkipSuspended bool
}

// Reconcile brings one Job forward by one step.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var job batchv1.Job
	if err := r.Hub.Get(ctx, request.NamespacedName, &job); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if job.Spec.ManagedBy == nil || *job.Spec.ManagedBy != Controller {
		return reconcile.Result{}, nil
	}
	var remote batchv1.Job
	switch err := r.Worker.Get(ctx, request.NamespacedName, &remote); {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, r.Worker.Create(ctx, copyFor(&job))
	case err != nil:
		return reconcile.Result{}, err
	}
	if err := r.copyStatus(ctx, &job, &remote); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.admit(ctx, &job)
}

// copyFor is the Job that the worker's own controller runs.
func copyFor(job *batchv1.Job) *batchv1.Job {
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
		// While the hub has it suspended, nothing of it runs: only the condition is copied.
		job.Status.Conditions = slices.DeleteFunc(slices.Clone(remote.Status.Conditions), func(c batchv1.JobCondition) bool {
			return c.Type != batchv1.JobSuspended
		})
	} else {
		job.Status = *remote.Status.DeepCopy()
	}
	return r.Hub.Status().Patch(ctx, job, client.MergeFrom(old))
}

// admit resumes a Job that the queue has found a place for.
func (r *Reconciler) admit(ctx context.Context, job *batchv1.Job) error {
	pool := job.Annotations[PoolAnnotation]
	if pool == "" || !isSuspended(job) {
		return nil
	}
	resumed := false
	job.Spec.Suspend = &resumed
	job.Spec.Template.Spec.NodeSelector = map[string]string{"pool": pool}
	return r.Hub.Update(ctx, job)
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// IsFinished says whether a Job has come to its end.
func IsFinished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}
