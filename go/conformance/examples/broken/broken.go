// Package broken is an example of an external controller with known faults. It runs the pods of a Job one after the other, as processes of its
// own machine. Without faults, it conforms to the profile Core. go/envtest tests that the conformance suite reports exactly its faults.
package broken

import (
	"context"
	"os/exec"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// ControllerName is the value of spec.managedBy for this controller.
const ControllerName = "acme.io/broken"

// Fault is a mistake that the controller makes.
type Fault string

const (
	// NoStartTime never sets startTime.
	NoStartTime Fault = "no-start-time"
	// NoFailureTarget fails Jobs without the condition FailureTarget.
	NoFailureTarget Fault = "no-failure-target"
	// CountsBackwards once writes that a failed pod has not failed.
	CountsBackwards Fault = "counts-backwards"
	// GivesUp stops writing the status of a Job when a pod fails.
	GivesUp Fault = "gives-up"
)

// Controller runs Jobs.
type Controller struct {
	Jobs   batchclient.JobInterface
	Faults []Fault
}

// Run runs the Jobs that are created until the context ends.
func (c *Controller) Run(ctx context.Context) error {
	watcher, err := c.Jobs.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	started := map[string]bool{}
	for event := range watcher.ResultChan() {
		job, isJob := event.Object.(*batchv1.Job)
		if isJob && job.Spec.ManagedBy != nil && *job.Spec.ManagedBy == ControllerName && !started[string(job.UID)] {
			started[string(job.UID)] = true
			go c.run(ctx, job)
		}
	}
	return ctx.Err()
}

func (c *Controller) run(ctx context.Context, job *batchv1.Job) {
	command := job.Spec.Template.Spec.Containers[0].Command
	now := metav1.Now()
	status := batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](1)}
	if c.has(NoStartTime) {
		status.StartTime = nil
	}
	c.write(ctx, job, status)
	for {
		if exec.CommandContext(ctx, command[0], command[1:]...).Run() == nil {
			status.Succeeded++
		} else {
			status.Failed++
		}
		switch {
		case status.Failed > 0 && c.has(GivesUp):
			return
		case status.Succeeded >= *job.Spec.Completions:
			status.CompletionTime = ptr(metav1.Now())
			c.finish(ctx, job, status, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
			return
		case status.Failed > *job.Spec.BackoffLimit && c.has(NoFailureTarget):
			c.finish(ctx, job, status, batchv1.JobFailed)
			return
		case status.Failed > *job.Spec.BackoffLimit:
			c.finish(ctx, job, status, batchv1.JobFailureTarget, batchv1.JobFailed)
			return
		}
		c.write(ctx, job, status)
		if status.Failed > 0 && c.has(CountsBackwards) {
			wrong := status
			wrong.Failed--
			_ = c.update(ctx, job, wrong)
		}
	}
}

func (c *Controller) has(fault Fault) bool { return slices.Contains(c.Faults, fault) }

// finish writes the last status of a Job.
func (c *Controller) finish(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus, conditions ...batchv1.JobConditionType) {
	status.Active, status.Ready = 0, ptr[int32](0)
	for _, condition := range conditions {
		now := metav1.Now()
		status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now})
	}
	c.write(ctx, job, status)
}

// write writes a status. Like many controllers, it retries forever, although the API server will never accept an invalid status.
func (c *Controller) write(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		return c.update(ctx, job, status) == nil, nil
	})
}

func (c *Controller) update(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) error {
	stored, err := c.Jobs.Get(ctx, job.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	stored.Status = status
	_, err = c.Jobs.UpdateStatus(ctx, stored, metav1.UpdateOptions{})
	return err
}

func ptr[T any](value T) *T { return &value }
