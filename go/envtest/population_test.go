package envtest

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// controllerName is the value of managedBy for the population.
const controllerName = "acme.io/population"

// controller runs the pods of a Job one after the other, as processes of its own machine. As it is, it conforms to the profile Core.
type controller struct {
	jobs    batchclient.JobInterface
	manager string
	// owns returns true for the Jobs to run, pod runs one and returns whether it succeeded, and put writes a status.
	owns func(*batchv1.Job) bool
	pod  func(context.Context, *batchv1.Job) bool
	put  func(context.Context, *batchv1.Job, batchv1.JobStatus)
}

// member is a controller of the population: the change that makes it good or broken, and the findings of the suite.
type member struct {
	name   string
	change func(*controller)
	// want contains a part of each finding, as TYPE RULE MESSAGE.
	want []string
}

var population = []member{
	{"conforms", func(*controller) {}, nil},
	{"never-ready", edit(func(status *batchv1.JobStatus) { status.Ready = nil }), nil},
	{"counts-once", edit(func(status *batchv1.JobStatus) {
		if len(status.Conditions) == 0 {
			status.Succeeded, status.Failed = 0, 0
		}
	}), nil},
	{"ends-in-two-writes", before(func(c *controller, ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
		if len(status.Conditions) > 1 {
			status.Conditions, status.CompletionTime = status.Conditions[:1], nil
			_ = c.update(ctx, job, status)
		}
	}), nil},

	{"does-nothing", func(c *controller) { c.owns = func(*batchv1.Job) bool { return false } }, []string{"unfinished"}},
	{"special-names", func(c *controller) {
		c.owns = func(job *batchv1.Job) bool { return strings.HasPrefix(job.Name, "conformance-") }
	}, []string{"unfinished"}},
	{"special-images", func(c *controller) {
		c.owns = func(job *batchv1.Job) bool {
			return job.Spec.Template.Spec.Containers[0].Command[0] == "true" && c.isDelegated(job)
		}
	}, []string{"unfinished"}},
	{"finishes-at-once", func(c *controller) {
		c.pod = func(context.Context, *batchv1.Job) bool { return true }
	}, []string{"must end as Failed", "its pods need", "failed is 0", "succeeded is"}},
	{"runs-no-pods", func(c *controller) {
		c.pod = func(context.Context, *batchv1.Job) bool { time.Sleep(5 * time.Second); return true }
	}, []string{"must end as Failed", "failed is 0", "succeeded is"}},
	{"swaps-outcomes", func(c *controller) {
		c.pod = func(ctx context.Context, job *batchv1.Job) bool { return !runPod(ctx, job) }
	}, []string{"must end as Failed", "must end as Complete", "failed is 0", "succeeded is", "its pods need"}},
	{"premature", func(c *controller) {
		c.pod = func(ctx context.Context, job *batchv1.Job) bool {
			job.Spec.Completions, job.Spec.BackoffLimit = ptr[int32](1), ptr[int32](0)
			return runPod(ctx, job)
		}
	}, []string{"succeeded is 1", "failed is 1", "its pods need"}},
	{"runs-one-pod", func(c *controller) {
		c.pod = func(ctx context.Context, job *batchv1.Job) bool {
			if job.Labels["result"] == "" {
				job.Labels = map[string]string{"result": map[bool]string{true: "ok", false: "no"}[runPod(ctx, job)]}
			}
			return job.Labels["result"] == "ok"
		}
	}, []string{"its pods need"}},
	{"runs-all-jobs", func(c *controller) { c.owns = func(*batchv1.Job) bool { return true } }, []string{
		"the Job names another controller", "the Job has no managedBy",
	}},
	{"built-in-manager", func(c *controller) {
		c.manager = "kube-controller-manager"
		c.owns = func(*batchv1.Job) bool { return true }
	}, []string{"the Job names another controller", "wrote the status, although the Job has no managedBy"}},
	{"removes-labels", patches(`{"metadata":{"labels":null}}`), []string{"metadata  a label or an annotation"}},
	{"labels-foreign-jobs", func(c *controller) {
		c.owns = func(job *batchv1.Job) bool {
			if !c.isDelegated(job) {
				_, _ = c.jobs.Patch(context.Background(), job.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":""}}}`), metav1.PatchOptions{})
			}
			return c.isDelegated(job)
		}
	}, []string{"the metadata changed, although the Job names another controller", "the metadata changed, although the Job has no managedBy"}},
	{"overcounts", edit(func(status *batchv1.JobStatus) { status.Active *= 7; status.Failed *= 5 }), []string{"active is 7", "failed is"}},
	{"counts-backwards", before(countBackwards), []string{"rejected job-status/failed-decreased"}},
	// The suite knows its requests by their audit ids.
	{"suite-user-agent", before(countBackwards), []string{"rejected job-status/failed-decreased"}},
	{"no-start-time", edit(func(status *batchv1.JobStatus) { status.StartTime = nil }), []string{
		"rejected job-status/finished-without-start-time", "unfinished  rejected-repeatedly",
	}},
	{"no-failure-target", edit(func(status *batchv1.JobStatus) {
		if has(status, batchv1.JobFailureTarget) {
			status.Conditions = status.Conditions[1:]
		}
	}), []string{"rejected job-status/failed-without-failure-target", "unfinished  rejected-repeatedly"}},
	{"changes-managed-by", patches(`{"spec":{"managedBy":"acme.io/other"}}`), []string{"spec.managedBy: Invalid value: \"acme.io/other\": field is immutable"}},
	{"changes-spec", patches(`{"spec":{"backoffLimit":100}}`), []string{"spec  the spec changed", "unfinished  not-finished"}},
	{"suspends", patches(`{"spec":{"suspend":true}}`), []string{"spec  the Job is suspended at the end"}},
	{"changes-back", func(c *controller) {
		patches(`{"spec":{"activeDeadlineSeconds":100}}`)(c)
		patches(`{"spec":{"activeDeadlineSeconds":null}}`)(c)
	}, []string{"spec  the spec changed"}},
	{"gives-up", func(c *controller) {
		put := c.put
		c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
			if status.Failed == 0 {
				put(ctx, job, status)
			}
		}
	}, []string{"unfinished  not-finished"}},
	{"updates-the-object", func(c *controller) {
		c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
			if stored, err := c.jobs.Get(ctx, job.Name, metav1.GetOptions{}); err == nil {
				stored.Status = status
				_, _ = c.jobs.Update(ctx, stored, metav1.UpdateOptions{})
			}
		}
	}, []string{"unfinished"}},
	{"future-times", edit(func(status *batchv1.JobStatus) {
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(time.Hour))
		}
	}), []string{"lastTransitionTime of Complete is in the future", "lastTransitionTime of Failed is", "lastTransitionTime of FailureTarget is", "lastTransitionTime of SuccessCriteriaMet is"}},
	{"past-times", edit(func(status *batchv1.JobStatus) {
		status.StartTime = ptr(metav1.NewTime(time.Unix(0, 0)))
	}), []string{"startTime is before the creation"}},
	{"no-duration", edit(func(status *batchv1.JobStatus) {
		if status.CompletionTime != nil {
			status.CompletionTime = status.StartTime
		}
	}), []string{"completionTime is 0s after startTime"}},
	{"writes-after-the-end", after(func(c *controller, ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
		status.Conditions[1].Message = "again"
		_ = c.update(ctx, job, status)
	}), []string{"late  the status changed"}},
	{"deletes", after(func(c *controller, ctx context.Context, job *batchv1.Job, _ batchv1.JobStatus) {
		_ = c.jobs.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=" + job.Name})
	}), []string{"deleted  the Job was deleted"}},
}

func newController(jobs batchclient.JobInterface) *controller {
	c := &controller{jobs: jobs, pod: runPod}
	c.owns = c.isDelegated
	// Like many controllers, it retries forever, although the API server will never accept an invalid status.
	c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
		_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
			return c.update(ctx, job, status) == nil, nil
		})
	}
	return c
}

// start runs the Jobs that are created until the context ends. A young API server ends watches.
func (c *controller) start(ctx context.Context) {
	started := map[types.UID]bool{}
	for ctx.Err() == nil {
		watcher, err := c.jobs.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for event := range watcher.ResultChan() {
			if job, isJob := event.Object.(*batchv1.Job); isJob && !started[job.UID] && c.owns(job) {
				started[job.UID] = true
				go c.run(ctx, job)
			}
		}
	}
}

func (c *controller) run(ctx context.Context, job *batchv1.Job) {
	now := metav1.Now()
	status := batchv1.JobStatus{StartTime: &now, Active: 1, Ready: ptr[int32](1)}
	for {
		c.put(ctx, job, status)
		if has(&status, batchv1.JobComplete, batchv1.JobFailed) {
			return
		}
		if c.pod(ctx, job) {
			status.Succeeded++
		} else {
			status.Failed++
		}
		var conditions []batchv1.JobConditionType
		switch {
		case status.Succeeded >= *job.Spec.Completions:
			status.CompletionTime = ptr(metav1.Now())
			conditions = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
		case status.Failed > *job.Spec.BackoffLimit:
			conditions = []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
		}
		for _, condition := range conditions {
			now := metav1.Now()
			status.Active, status.Ready = 0, ptr[int32](0)
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now})
		}
	}
}

func (c *controller) isDelegated(job *batchv1.Job) bool {
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy == controllerName
}

func (c *controller) update(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) error {
	stored, err := c.jobs.Get(ctx, job.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	stored.Status = *status.DeepCopy()
	_, err = c.jobs.UpdateStatus(ctx, stored, metav1.UpdateOptions{FieldManager: c.manager})
	return err
}

// runPod runs the command of a pod.
func runPod(ctx context.Context, job *batchv1.Job) bool {
	command := job.Spec.Template.Spec.Containers[0].Command
	return exec.CommandContext(ctx, command[0], command[1:]...).Run() == nil
}

// hook does something with a write of the controller.
type hook func(*controller, context.Context, *batchv1.Job, batchv1.JobStatus)

func before(hook hook) func(*controller) {
	return func(c *controller) {
		put := c.put
		c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
			hook(c, ctx, job, *status.DeepCopy())
			put(ctx, job, status)
		}
	}
}

// after calls the hook when the Job has finished.
func after(hook hook) func(*controller) {
	return func(c *controller) {
		put := c.put
		c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
			put(ctx, job, status)
			if has(&status, batchv1.JobComplete, batchv1.JobFailed) {
				time.Sleep(time.Second)
				hook(c, ctx, job, *status.DeepCopy())
			}
		}
	}
}

// edit changes each status.
func edit(change func(*batchv1.JobStatus)) func(*controller) {
	return func(c *controller) {
		put := c.put
		c.put = func(ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
			status = *status.DeepCopy()
			change(&status)
			put(ctx, job, status)
		}
	}
}

// patches patches the Job before its first status.
func patches(patch string) func(*controller) {
	return before(func(c *controller, ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
		if status.Succeeded+status.Failed == 0 {
			patched, err := c.jobs.Patch(ctx, job.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err == nil {
				job.Spec = patched.Spec
			}
		}
	})
}

// countBackwards writes that a failed pod has not failed.
func countBackwards(c *controller, ctx context.Context, job *batchv1.Job, status batchv1.JobStatus) {
	if status.Failed == 1 && len(status.Conditions) > 0 || status.Failed == 2 {
		status = batchv1.JobStatus{StartTime: status.StartTime, Active: 1, Failed: status.Failed}
		if c.update(ctx, job, status) == nil {
			status.Failed--
			_ = c.update(ctx, job, status)
		}
	}
}

func has(status *batchv1.JobStatus, types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Status == corev1.ConditionTrue && slices.Contains(types, condition.Type)
	})
}
