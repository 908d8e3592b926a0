package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/managed-by-policy/managed-by-policy/go/managedby"
	"github.com/managed-by-policy/managed-by-policy/go/managedbytest"
)

// finished is an example of your controller's code. It sets the status of a Job whose last pod has succeeded.
func finished(running *batchv1.Job, at metav1.Time) *batchv1.Job {
	job := running.DeepCopy()
	job.Status.Active, job.Status.Ready = 0, new(int32)
	job.Status.Succeeded++
	job.Status.CompletionTime = &at
	job.Status.Conditions = append(job.Status.Conditions,
		batchv1.JobCondition{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: at},
		batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at},
	)
	return job
}

func TestStatusOfFinishedJob(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	runner := "acme.io/runner"
	running := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pi"},
		Spec:       batchv1.JobSpec{ManagedBy: &runner},
		Status:     batchv1.JobStatus{StartTime: &start, Active: 1},
	}
	// 1.30 accepts SuccessCriteriaMet only on indexed Jobs with a success policy. For every release, use managedby.AllReleases().
	managedbytest.AssertStatusUpdate(t, running, finished(running, metav1.NewTime(start.Add(time.Hour))), managedby.Since(managedby.V1_31))
}
