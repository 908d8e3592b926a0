// Package conformance tests a controller of Jobs in a cluster. It creates Jobs for each feature with the controller's name in
// spec.managedBy, records every write to them, and reports whether each Kubernetes release accepts the writes, and what is missing.
// The program `managed-by` evaluates the writes.
//
// [Run] is for your own tests. The command in cmd/conformance writes a report that you can publish:
// https://github.com/managed-by-policy/managed-by-policy/blob/v0.1.0/docs/reference/conformance.md#publish-a-report
package conformance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
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
	// SkipTests are tests of extended features that don't run, although the features are supported.
	SkipTests []string
	// Implementation is copied to the report.
	Implementation Implementation
	// AuditLog is the file name of the API server's audit log, with Jobs at the level RequestResponse. Without it, rejected writes are unknown.
	AuditLog string
	// RecordingOutput is the file name for the recording, which is written before it is evaluated. If empty, it is not written.
	RecordingOutput string
	// Releases are the releases to evaluate, as in `managed-by conformance --kubernetes`. The default is "1.32+".
	Releases string
	// Program is `managed-by`, by default the one on the PATH.
	Program string
	// Image is an image with /bin/sh. The default is "busybox:1.36".
	Image string
	// Timeout is the time in which each Job must finish. The default is 2 minutes.
	Timeout time.Duration
	// Seed determines the Jobs, but not their names. The default is random.
	Seed uint64
	// Log prints progress, if it is set.
	Log func(format string, arguments ...any)
}

// Features returns the names of the extended features.
func Features() []string {
	var names []string
	for _, test := range newTests(1)[1:] {
		names = append(names, test.name)
	}
	return names
}

func (o *Options) controller() string { return cmp.Or(o.Controller, batchv1.JobControllerName) }

// complete validates the options, and sets defaults.
func (o *Options) complete(ctx context.Context) error {
	if slices.Contains(o.SkipTests, Core) {
		return fmt.Errorf("%s can't be skipped, because there is no result without it", Core)
	}
	for _, name := range slices.Concat(o.SupportedFeatures, o.SkipTests) {
		if name != Core && !slices.Contains(Features(), name) {
			return fmt.Errorf("unknown test %q; tests: %s, %s", name, Core, strings.Join(Features(), ", "))
		}
	}
	if o.Config == nil || o.Namespace == "" {
		return errors.New("the options need a config and a namespace")
	}
	if o.Timeout < 0 {
		return fmt.Errorf("the timeout %s is negative", o.Timeout)
	}
	o.Releases = cmp.Or(o.Releases, "1.32+")
	o.Program = cmp.Or(o.Program, "managed-by")
	o.Image = cmp.Or(o.Image, "busybox:1.36")
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.Seed = cmp.Or(o.Seed, rand.Uint64())
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.AuditLog != "" {
		if _, err := readAuditLog(o.AuditLog, o.Namespace, &ownRequests{}); err != nil {
			return err
		}
	}
	// The program also checks the releases and the name of the controller.
	_, err := evaluate(ctx, o, nil)
	return err
}

// Run runs the tests, and returns the report and the recording. A controller that does not conform is not an error.
func Run(ctx context.Context, o Options) (*Report, []byte, error) {
	if err := o.complete(ctx); err != nil {
		return nil, nil, err
	}
	s := newSuite(&o)
	config := rest.CopyConfig(o.Config)
	// The tests run in parallel, and read their Jobs often.
	config.QPS = -1
	config.Wrap(s.own.wrap)
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
	s.jobs = clients.BatchV1().Jobs(o.Namespace)
	defer s.deleteJobs(context.WithoutCancel(ctx))
	if err := s.drive(ctx); err != nil {
		return nil, nil, err
	}
	time.Sleep(settle)
	isOtherJob := func(record record) bool { return s.byObject[record.object] == nil }
	watched, err := stopWatch()
	if err != nil {
		return nil, nil, err
	}
	watched = slices.DeleteFunc(watched, isOtherJob)
	records := watched
	if o.AuditLog != "" {
		if records, err = readAuditLog(o.AuditLog, o.Namespace, &s.own); err != nil {
			return nil, nil, err
		}
		records = slices.DeleteFunc(records, isOtherJob)
		if events, writes := countAccepted(watched), countAccepted(records); writes < events {
			return nil, nil, fmt.Errorf("%s: %d accepted writes to the Jobs, but a watch had %d: the log must contain each write at the level RequestResponse", o.AuditLog, writes, events)
		}
	}
	recording := linesOf(records, func(string) bool { return true })
	if o.RecordingOutput != "" {
		if err := os.WriteFile(o.RecordingOutput, recording, 0o600); err != nil {
			return nil, nil, err
		}
	}
	report, err := s.report(ctx, records, watched, recording)
	if err != nil {
		return nil, nil, err
	}
	report.KubernetesVersion = version.GitVersion
	return report, recording, nil
}

// suite is one run.
type suite struct {
	options *Options
	tests   []test
	jobs    batchclient.JobInterface
	own     ownRequests
	// byObject contains the Jobs that run, by the name of their object.
	byObject map[string]*job
	// errors lists requests of each test that failed.
	errors map[string][]TestFinding
	mu     sync.Mutex
}

// newSuite returns a suite with the Jobs of the tests that run. Their names are random, so that a controller can't recognize them.
func newSuite(o *Options) *suite {
	s := &suite{options: o, tests: newTests(o.Seed), byObject: map[string]*job{}, errors: map[string][]TestFinding{}}
	for _, test := range s.tests {
		if runs, _ := o.result(test.name); !runs {
			continue
		}
		for _, job := range test.jobs {
			job.test, job.object = test.name, utilrand.String(12)
			s.byObject[job.object] = job
		}
	}
	return s
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

// drive runs the Jobs of all tests in a random order. It returns an error if none could be created.
func (s *suite) drive(ctx context.Context) error {
	var running sync.WaitGroup
	slots := make(chan struct{}, parallelJobs)
	// The names are random. The Jobs of other controllers come first, so that the controller has the whole run for its mistakes.
	order := func(a, b *job) int {
		return cmp.Or(cmp.Compare(len(b.foreign), len(a.foreign)), cmp.Compare(a.object, b.object))
	}
	for _, job := range slices.SortedFunc(maps.Values(s.byObject), order) {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			s.options.Log("%s: %s is %s", job.test, job.name, job.object)
			if err := s.runJob(ctx, job); err != nil {
				s.options.Log("%s: %s: %v", job.test, job.name, err)
				s.mu.Lock()
				defer s.mu.Unlock()
				s.errors[job.test] = append(s.errors[job.test], TestFinding{Type: "error", Job: job.name, Message: err.Error()})
			}
		})
	}
	running.Wait()
	for _, job := range s.byObject {
		if job.isCreated {
			return nil
		}
	}
	return errors.New(s.errors[Core][0].Message)
}

// runJob creates a Job, changes it, and waits for its end. If a Job does not finish, the evaluation reports it, so that is not an error.
func (s *suite) runJob(ctx context.Context, job *job) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	job.createdAt = time.Now()
	created, err := s.jobs.Create(ctx, job.manifest(s.options), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("could not create the Job: %w", err)
	}
	job.isCreated = true
	switch {
	case job.foreign == unset:
		// A webhook may delegate it, as Kueue's does.
		job.isDelegated = created.Spec.ManagedBy != nil
		return nil
	case created.Spec.ManagedBy == nil && (s.options.Controller != "" || job.foreign != ""):
		return errors.New("the API server dropped spec.managedBy: its feature gate JobManagedBy is off")
	case job.foreign != "":
		return nil
	}
	for _, step := range job.steps {
		if err := s.wait(ctx, created.Name, step.after); err != nil {
			return fmt.Errorf("could not %s, because it was not ready for that: %w", step.title, err)
		}
		if _, err := s.jobs.Patch(ctx, created.Name, types.MergePatchType, []byte(`{"spec":`+step.patch+"}"), metav1.PatchOptions{}); err != nil {
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

// version returns the version of this module.
func version() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == reflect.TypeFor[Options]().PkgPath() {
			return module.Version
		}
	}
	return info.Main.Version
}

// deleteJobs deletes the Jobs of the run, as far as possible.
func (s *suite) deleteJobs(ctx context.Context) {
	for object := range s.byObject {
		_ = s.jobs.Delete(ctx, object, metav1.DeleteOptions{PropagationPolicy: ptr(metav1.DeletePropagationBackground)})
	}
}

// report evaluates the records. Each test is evaluated on its own Jobs.
func (s *suite) report(ctx context.Context, records, watched []record, recording []byte) (*Report, error) {
	o := s.options
	all, err := evaluate(ctx, o, recording)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(recording)
	report := &Report{
		TypeMeta:       metav1.TypeMeta{APIVersion: APIVersion, Kind: "ConformanceReport"},
		Implementation: o.Implementation, Date: time.Now().UTC().Format(time.RFC3339), Controller: o.controller(),
		SuiteVersion: all.Version, Releases: join(all.Releases),
		Run:       RunOptions{Version: version(), Seed: o.Seed, Image: o.Image, Timeout: o.Timeout.String(), Labels: o.Labels},
		Recording: Recording{Source: "watch", Records: len(records), SHA256: hex.EncodeToString(sum[:])},
		Writes:    all.Writes, StatusWrites: all.StatusWrites, RejectedWrites: intstr.FromString("unknown"),
	}
	if o.AuditLog != "" {
		report.Recording.Source = "audit-log"
		report.RejectedWrites = intstr.FromInt32(all.RejectedWrites)
	}
	for _, test := range s.tests {
		runs, result := o.result(test.name)
		if !runs {
			if result == Skipped {
				report.Tests = append(report.Tests, TestReport{Name: test.name, Result: Skipped})
			}
			continue
		}
		isOfTest := func(object string) bool { return s.byObject[object].test == test.name }
		evaluation, err := evaluate(ctx, o, linesOf(records, isOfTest))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", test.name, err)
		}
		testReport := evaluation.testReport(test.name, s.byObject, o.AuditLog != "")
		testReport.fail(s.errors[test.name])
		for _, job := range test.jobs {
			testReport.fail(job.check(o, watched))
			if job.foreign == unset && !job.isDelegated && o.Controller != "" {
				testReport.fail(s.checkUsers(job, records))
			}
		}
		report.Tests = append(report.Tests, testReport)
	}
	report.Profiles = []ProfileReport{profileReport(report.Tests)}
	return report, nil
}
