package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// clockSkew is how far the clock of a controller may be ahead.
const clockSkew = time.Minute

// builtinManagers are the field managers of the built-in Job controller, which is a part of one process in k3s and MicroK8s.
var builtinManagers = []string{"kube-controller-manager", "k3s", "kubelite"}

// outcome is how a Job must end.
type outcome struct {
	end batchv1.JobConditionType
	// succeeded is the exact number. A failure of a node may add failed pods.
	succeeded, failed int32
	// completed and failedIndexes are the indexes, for Indexed Jobs.
	completed, failedIndexes []int
	// suspended is how often a started Job is suspended.
	suspended int
	// takes is the least time in which its pods can run.
	takes time.Duration
}

// check returns how the recorded states of a Job differ from the ones that it must have.
func (j *job) check(o *Options, watched []record) []TestFinding {
	var findings []TestFinding
	add := func(kind, format string, arguments ...any) {
		finding := TestFinding{Type: kind, Job: j.name, Message: fmt.Sprintf(format, arguments...)}
		if !slices.Contains(findings, finding) {
			findings = append(findings, finding)
		}
	}
	var specs []map[string]any
	var end time.Time
	var old batchv1.Job
	var given metav1.ObjectMeta
	suspended, parallelism := 0, int32(1)
	if j.spec.Parallelism != nil {
		parallelism = *j.spec.Parallelism
	}
	for _, record := range watched {
		if record.object != j.object {
			continue
		}
		event := struct {
			Type   watch.EventType
			Object struct{ Spec map[string]any }
		}{}
		typed := struct{ Object batchv1.Job }{}
		if err := errors.Join(json.Unmarshal(record.line, &event), json.Unmarshal(record.line, &typed)); err != nil {
			add("error", "%v", err)
			continue
		}
		job := &typed.Object
		if event.Type == watch.Deleted || job.DeletionTimestamp != nil {
			add("deleted", "the Job was deleted during the run")
			continue
		}
		if specs == nil {
			specs, given, old.ObjectMeta = j.specs(event.Object.Spec), job.ObjectMeta, job.ObjectMeta
		}
		statusChanged := !reflect.DeepEqual(job.Status, old.Status)
		switch {
		case j.foreign != "" && !j.isDelegated && !reflect.DeepEqual(metadata(job), metadata(&old)):
			add("foreign", "the metadata changed, although the Job %s", j.foreign)
		case j.foreign == another && statusChanged, j.foreign == unset && !j.isDelegated && statusChanged && o.Controller != "" && !isBuiltin(job):
			add("foreign", "the status changed, although the Job %s", j.foreign)
		case j.foreign != "":
		case isFinished(&old) && statusChanged:
			add("late", "the status changed after the end of the Job")
		}
		if j.foreign == "" && !(keeps(job.Labels, given.Labels) && keeps(job.Annotations, given.Annotations)) {
			add("metadata", "a label or an annotation of the user was changed or removed")
		}
		if !slices.ContainsFunc(specs, func(spec map[string]any) bool { return reflect.DeepEqual(spec, constant(event.Object.Spec)) }) {
			add("spec", "the spec changed, but the user did not change it")
		}
		for name, at := range times(&job.Status) {
			if at.After(record.at.Add(clockSkew)) {
				add("time", "%s is in the future", name)
			}
			if at.Before(job.CreationTimestamp.Add(-clockSkew)) {
				add("time", "%s is before the creation of the Job", name)
			}
		}
		if job.Status.Active > parallelism {
			add("outcome", "active is %d, but parallelism is %d", job.Status.Active, parallelism)
		}
		if has(job, batchv1.JobSuspended) && !has(&old, batchv1.JobSuspended) && old.Status.StartTime != nil {
			suspended++
		}
		if isFinished(job) && end.IsZero() {
			end = record.at
		}
		old = *job
	}
	if j.foreign == "" && j.steps == nil && old.Spec.Suspend != nil && *old.Spec.Suspend {
		add("spec", "the Job is suspended at the end of the run, but the user did not suspend it")
	}
	// Other unfinished Jobs have a finding of their own.
	if j.foreign != "" || end.IsZero() {
		return findings
	}
	status := &old.Status
	if !has(&old, j.want.end) {
		add("outcome", "the Job must end as %s", j.want.end)
	}
	if status.Succeeded != j.want.succeeded {
		add("outcome", "succeeded is %d, must be %d", status.Succeeded, j.want.succeeded)
	}
	if limit := j.spec.BackoffLimit; status.Failed < j.want.failed || limit != nil && status.Failed > *limit+parallelism {
		add("outcome", "failed is %d, must be %d", status.Failed, j.want.failed)
	}
	failedIndexes := ""
	if status.FailedIndexes != nil {
		failedIndexes = *status.FailedIndexes
	}
	for _, indexes := range []struct {
		field, got string
		want       []int
	}{{"completedIndexes", status.CompletedIndexes, j.want.completed}, {"failedIndexes", failedIndexes, j.want.failedIndexes}} {
		if !slices.Equal(expand(indexes.got), indexes.want) {
			add("outcome", "%s is %q, must be %v", indexes.field, indexes.got, indexes.want)
		}
	}
	if suspended != j.want.suspended {
		add("outcome", "the Job was suspended %d times, must be %d", suspended, j.want.suspended)
	}
	if took := end.Sub(j.createdAt); took < j.want.takes {
		add("outcome", "the Job ended after %s, but its pods need %s", took.Round(time.Second/10), j.want.takes)
	}
	// A controller that polls notices the start late.
	if start, end := status.StartTime, status.CompletionTime; start != nil && end != nil && end.Sub(start.Time) < j.want.takes/2 {
		add("outcome", "completionTime is %s after startTime, but its pods need %s", end.Sub(start.Time), j.want.takes)
	}
	return findings
}

// specs returns the specs that a user gives the Job: the first one, and one per step.
func (j *job) specs(spec map[string]any) []map[string]any {
	specs := []map[string]any{constant(spec)}
	for _, step := range j.steps {
		// The patch is a constant.
		patch := map[string]any{}
		_ = json.Unmarshal([]byte(step.patch), &patch)
		next := maps.Clone(specs[len(specs)-1])
		maps.Copy(next, patch)
		specs = append(specs, constant(next))
	}
	return specs
}

// constant returns the spec without the fields that a controller of queues may change.
func constant(spec map[string]any) map[string]any {
	spec = maps.Clone(spec)
	delete(spec, "suspend")
	delete(spec, "template")
	return spec
}

// metadata returns the metadata that the writer of an object chooses.
func metadata(job *batchv1.Job) []any {
	return []any{job.Labels, job.Annotations, job.Finalizers, job.OwnerReferences}
}

// keeps returns true if all given labels or annotations are the same.
func keeps(all, given map[string]string) bool {
	for key, value := range given {
		if current, found := all[key]; !found || current != value {
			return false
		}
	}
	return true
}

// checkUsers returns a finding for each user who wrote the status of a Job without managedBy, and that of a Job of the controller.
func (s *suite) checkUsers(unset *job, records []record) []TestFinding {
	var findings []TestFinding
	for _, write := range records {
		if !write.isStatus || write.object != unset.object {
			continue
		}
		ran := func(other record) bool {
			job := s.byObject[other.object]
			return other.isStatus && other.user == write.user && job != nil && job.foreign == ""
		}
		finding := TestFinding{Type: "foreign", Job: unset.name, Message: fmt.Sprintf("the controller's user %s wrote the status, although the Job %s", write.user, unset.foreign)}
		if slices.ContainsFunc(records, ran) && !slices.Contains(findings, finding) {
			findings = append(findings, finding)
		}
	}
	return findings
}

// isBuiltin returns true if only the built-in Job controller wrote the status.
func isBuiltin(job *batchv1.Job) bool {
	return !slices.ContainsFunc(job.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == "status" && !slices.Contains(builtinManagers, entry.Manager)
	})
}

// times returns the times of a status by field.
func times(status *batchv1.JobStatus) map[string]time.Time {
	times := map[string]time.Time{}
	for field, at := range map[string]*metav1.Time{"startTime": status.StartTime, "completionTime": status.CompletionTime} {
		if at != nil {
			times[field] = at.Time
		}
	}
	for _, condition := range status.Conditions {
		if !condition.LastTransitionTime.IsZero() {
			times["lastTransitionTime of "+string(condition.Type)] = condition.LastTransitionTime.Time
		}
	}
	return times
}

// expand returns the indexes of a text such as "0,2-4". The API server rejects other forms.
func expand(text string) []int {
	var indexes []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, otherErr := strconv.Atoi(high)
		for index := from; err == nil && otherErr == nil && index <= to; index++ {
			indexes = append(indexes, index)
		}
	}
	return indexes
}
