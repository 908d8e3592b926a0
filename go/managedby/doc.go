// Package managedby gives kube-apiserver's verdicts on Jobs and their status where you work: in a unit test.
//
// kube-apiserver judges what a controller writes into the status of a Job, differently in each release, and its validation is
// internal to k8s.io/kubernetes. This package runs the policy managed-by-policy, whose verdicts and words are those of
// kube-apiserver 1.30 to 1.37 to the byte, as the WebAssembly module that it is (without cgo).
//
//	policy, err := managedby.New(ctx)
//	findings, err := policy.CheckStatusUpdate(ctx, old, new)
//	if err := findings.Err(); err != nil {
//		// Kubernetes 1.30 to 1.37: Job.batch "pi" is invalid: status.ready: ...
//	}
//
// [Policy.CheckStatusUpdate], [Policy.CheckUpdate], [Policy.CheckCreate] and [Policy.Check] ask for many releases at once and
// give findings as data. [Policy.Review] gives the one answer that the policy would give in a cluster, with its settings.
//
// For tests see the package managedbytest, and for clients of controller-runtime the module managedbyclient.
//
// # Cost
//
// The module is compiled once in a process, by the first [New]; that takes a few tenths of a second. Its instances are pooled: at
// most as many run at a time as Go runs threads (GOMAXPROCS), further calls wait. Everything here may be used by many
// goroutines at once. A call returns when its context ends.
package managedby
