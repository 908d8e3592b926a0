// Package managedby returns kube-apiserver's verdicts on Jobs and their status in a unit test.
//
// kube-apiserver validates the status that a controller writes to a Job. Its validation differs between releases and is internal to
// k8s.io/kubernetes. This package runs managed-by-policy as a WebAssembly module, without cgo. Its verdicts and messages equal those
// of kube-apiserver 1.30 to 1.37 byte for byte.
//
//	policy, err := managedby.New(ctx)
//	findings, err := policy.CheckStatusUpdate(ctx, old, new)
//	if err := findings.Err(); err != nil {
//		// Kubernetes 1.30 to 1.37: Job.batch "pi" is invalid: status.ready: ...
//	}
//
// [Policy.CheckStatusUpdate], [Policy.CheckUpdate], [Policy.CheckCreate] and [Policy.Check] evaluate several releases at once and
// return findings as data. [Policy.Review] returns the verdict of the policy in a cluster with its settings.
//
// For tests see the package managedbytest, and for clients of controller-runtime the module managedbyclient.
//
// # Cost
//
// The first [New] in a process compiles the module, which takes a few tenths of a second. Its instances are pooled. At most GOMAXPROCS
// instances run at the same time, and further calls wait. Everything in this package is safe for concurrent use. A call returns when
// its context ends.
package managedby
