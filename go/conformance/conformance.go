// Package conformance tests a controller of Jobs in a cluster. It creates Jobs for each feature with the controller's name in
// spec.managedBy, records every write to them, and reports whether each Kubernetes release accepts the writes, and what is missing.
// The program `managed-by` evaluates the writes.
//
// [Run] is for your own tests. The command in cmd/conformance writes a report that you can publish:
// https://github.com/managed-by-policy/managed-by-policy/blob/main/docs/reference/conformance.md#publish-a-report
package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/rest"
)

const (
	// settle is the time for late writes to finished Jobs.
	settle = 3 * time.Second
	// parallelJobs is the number of Jobs that run at the same time.
	parallelJobs = 4
)

// Options configure a run.
type Options struct {
	// Config is the configuration of the client. Its user creates, reads, watches, patches and deletes Jobs.
	Config *rest.Config
	// Namespace is the namespace for the Jobs, which must exist.
	Namespace string
	// Controller is the value of managedBy. If empty, the Jobs have none, and the built-in Job controller is tested.
	Controller string
	// Labels are the labels of the Jobs, such as the name of a queue.
	Labels map[string]string
	// SupportedFeatures are the extended features to test. See [Features].
	SupportedFeatures []string
	// SkipTests are tests that don't run, although the features are supported.
	SkipTests []string
	// Implementation is copied to the report.
	Implementation Implementation
	// AuditLog is the file name of the API server's audit log, with Jobs at the level RequestResponse. Without it, rejected writes are unknown.
	AuditLog string
	// Releases are the releases to evaluate, as in `managed-by conformance --kubernetes`. The default is "1.32+".
	Releases string
	// Program is `managed-by`, by default the one on the PATH.
	Program string
	// Image is an image with /bin/sh. The default is "busybox:1.36".
	Image string
	// Timeout is the time in which each Job must finish. The default is 2 minutes.
	Timeout time.Duration
	// Log prints progress, if it is set.
	Log func(format string, arguments ...any)
}

// Features returns the names of the extended features.
func Features() []string {
	var names []string
	for _, test := range tests[1:] {
		names = append(names, test.name)
	}
	return names
}

func (o *Options) controller() string {
	if o.Controller == "" {
		return batchv1.JobControllerName
	}
	return o.Controller
}

// complete validates the options, and sets defaults.
func (o *Options) complete() error {
	for _, name := range slices.Concat(o.SupportedFeatures, o.SkipTests) {
		if name != Core && !slices.Contains(Features(), name) {
			return fmt.Errorf("unknown test %q; tests: %s, %s", name, Core, strings.Join(Features(), ", "))
		}
	}
	if o.Namespace == "" {
		return errors.New("no namespace")
	}
	set(&o.Releases, "1.32+")
	set(&o.Program, "managed-by")
	set(&o.Image, "busybox:1.36")
	set(&o.Timeout, 2*time.Minute)
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return nil
}

func set[T comparable](value *T, fallback T) {
	if *value == *new(T) {
		*value = fallback
	}
}

// Run runs the tests, and returns the report and the recording. A controller that does not conform is not an error.
func Run(ctx context.Context, o Options) (*Report, []byte, error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	config := rest.CopyConfig(o.Config)
	// The tests run in parallel, and read their Jobs often.
	config.QPS, config.UserAgent = -1, userAgent
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	// Typed objects would lose fields that are newer than this module.
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	version, err := clients.Discovery().ServerVersion()
	if err != nil {
		return nil, nil, err
	}
	stopWatch, err := startWatch(ctx, dynamicClient, o.Namespace)
	if err != nil {
		return nil, nil, err
	}
	s := suite{options: &o, jobs: clients.BatchV1().Jobs(o.Namespace), run: "conformance-" + rand.String(5), errors: map[string][]Finding{}}
	defer s.deleteJobs(context.WithoutCancel(ctx))
	s.drive(ctx)
	time.Sleep(settle)
	isOtherJob := func(record record) bool { return !strings.HasPrefix(record.job, s.run+"-") }
	records, err := stopWatch()
	if err != nil {
		return nil, nil, err
	}
	records = slices.DeleteFunc(records, isOtherJob)
	if len(records) == 0 {
		return nil, nil, fmt.Errorf("no Job could be created: %v", s.errors)
	}
	if o.AuditLog != "" {
		events := countAccepted(records)
		if records, err = readAuditLog(o.AuditLog, o.Namespace); err != nil {
			return nil, nil, err
		}
		records = slices.DeleteFunc(records, isOtherJob)
		if writes := countAccepted(records); writes < events {
			return nil, nil, fmt.Errorf("%s: %d accepted writes to the Jobs, but a watch had %d: the log must contain each write at the level RequestResponse", o.AuditLog, writes, events)
		}
	}
	report, recording, err := s.report(ctx, records)
	if err != nil {
		return nil, nil, err
	}
	report.KubernetesVersion = version.GitVersion
	return report, recording, nil
}

// suite is one run.
type suite struct {
	options *Options
	jobs    batchclient.JobInterface
	// run is the prefix of the Jobs' names.
	run string
	// errors lists requests of each test that failed.
	errors map[string][]Finding
	mu     sync.Mutex
}

// result returns whether a test runs, or the result of one that does not: Skipped, or nothing for an unsupported feature.
func (o *Options) result(name string) (bool, Result) {
	switch {
	case name != Core && !slices.Contains(o.SupportedFeatures, name):
		return false, ""
	case slices.Contains(o.SkipTests, name):
		return false, Skipped
	}
	return true, ""
}

// drive runs the Jobs of all tests.
func (s *suite) drive(ctx context.Context) {
	var running sync.WaitGroup
	slots := make(chan struct{}, parallelJobs)
	for _, test := range tests {
		if runs, _ := s.options.result(test.name); !runs {
			continue
		}
		for _, job := range test.jobs {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				s.options.Log("%s: %s-%s", test.name, s.run, job.name)
				if err := s.runJob(ctx, &job); err != nil {
					s.options.Log("%s: %s-%s: %v", test.name, s.run, job.name, err)
					s.mu.Lock()
					defer s.mu.Unlock()
					s.errors[test.name] = append(s.errors[test.name], Finding{Type: "error", Job: job.name, Message: err.Error()})
				}
			})
		}
	}
	running.Wait()
}

// runJob creates a Job, changes it, and waits for its end. If a Job does not finish, the evaluation reports it, so that is not an error.
func (s *suite) runJob(ctx context.Context, job *job) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	created, err := s.jobs.Create(ctx, job.manifest(s.options, s.run), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("could not create the Job: %w", err)
	}
	if s.options.Controller != "" && created.Spec.ManagedBy == nil {
		return errors.New("the API server dropped spec.managedBy: its feature gate JobManagedBy is off")
	}
	for _, step := range job.steps {
		if err := s.wait(ctx, created.Name, step.after); err != nil {
			return fmt.Errorf("could not %s, because it was not ready for that: %w", step.title, err)
		}
		if _, err := s.jobs.Patch(ctx, created.Name, types.MergePatchType, []byte(step.patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("could not %s: %w", step.title, err)
		}
	}
	if err := s.wait(ctx, created.Name, isFinished); !wait.Interrupted(err) {
		return err
	}
	return nil
}

// wait waits until a Job is as expected. A Job that finishes earlier is an error.
func (s *suite) wait(ctx context.Context, name string, isExpected func(*batchv1.Job) bool) error {
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		job, err := s.jobs.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return false, err
		case err != nil:
			// The API server may be unavailable for a while.
			return false, nil
		case isExpected(job):
			return true, nil
		case isFinished(job):
			return false, errors.New("the Job has finished")
		}
		return false, nil
	})
}

// deleteJobs deletes the Jobs of the run, as far as possible.
func (s *suite) deleteJobs(ctx context.Context) {
	for _, test := range tests {
		for _, job := range test.jobs {
			_ = s.jobs.Delete(ctx, s.run+"-"+job.name, metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)})
		}
	}
}

// report evaluates the records. Each test is evaluated on its own Jobs.
func (s *suite) report(ctx context.Context, records []record) (*Report, []byte, error) {
	o := s.options
	recording := linesOf(records, func(string) bool { return true })
	all, err := evaluate(ctx, o, recording)
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.Sum256(recording)
	report := &Report{
		TypeMeta:       metav1.TypeMeta{APIVersion: APIVersion, Kind: "ConformanceReport"},
		Implementation: o.Implementation, Date: time.Now().UTC().Format(time.RFC3339), Controller: o.controller(),
		SuiteVersion: all.Version, Releases: join(all.Releases),
		Recording: Recording{Source: "watch", Records: len(records), SHA256: hex.EncodeToString(sum[:])},
		Writes:    all.Writes, StatusWrites: all.StatusWrites, RejectedWrites: intstr.FromString("unknown"),
	}
	if o.AuditLog != "" {
		report.Recording.Source = "audit-log"
		report.RejectedWrites = intstr.FromInt32(all.RejectedWrites)
	}
	for _, test := range tests {
		runs, result := o.result(test.name)
		if !runs {
			if result == Skipped {
				report.Tests = append(report.Tests, TestReport{Name: test.name, Result: Skipped})
			}
			continue
		}
		isOfTest := func(name string) bool {
			return slices.ContainsFunc(test.jobs, func(job job) bool { return name == s.run+"-"+job.name })
		}
		evaluation, err := evaluate(ctx, o, linesOf(records, isOfTest))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", test.name, err)
		}
		testReport := evaluation.testReport(test.name, s.run, o.AuditLog != "")
		testReport.Findings = append(testReport.Findings, s.errors[test.name]...)
		report.Tests = append(report.Tests, testReport)
	}
	report.Profiles = []ProfileReport{profileReport(report.Tests)}
	return report, recording, nil
}
